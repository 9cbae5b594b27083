"""The same rank as all_reduce.c, through ctypes. Usage: rank_in_python.py LIBRARY"""
import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])
library.thalweg_message.restype = ctypes.c_char_p
library.thalweg_allocate.restype = ctypes.c_void_p
F32, F64, SUM, MEAN = 0, 1, 0, 1


class Options(ctypes.Structure):
    _fields_ = [('struct_bytes', ctypes.c_size_t), ('rank', ctypes.c_uint32), ('size', ctypes.c_uint32),
                ('master_host', ctypes.c_char_p), ('master_port', ctypes.c_uint16), ('group', ctypes.c_char_p),
                ('timeout_seconds', ctypes.c_double), ('transport', ctypes.c_char_p)]


class Monoid(ctypes.Structure):
    COMBINE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    _fields_ = [('name', ctypes.c_char_p), ('element_bytes', ctypes.c_size_t), ('combine', COMBINE),
                ('context', ctypes.c_void_p)]


class Call(ctypes.Structure):
    _fields_ = [('struct_bytes', ctypes.c_size_t), ('operation', ctypes.c_int), ('in_', ctypes.c_void_p),
                ('out', ctypes.c_void_p), ('count', ctypes.c_size_t), ('type', ctypes.c_int),
                ('reduction', ctypes.c_int), ('monoid', ctypes.POINTER(Monoid)), ('root', ctypes.c_uint32),
                ('peer', ctypes.c_uint32), ('counts', ctypes.c_void_p), ('counts_out', ctypes.c_void_p),
                ('route', ctypes.c_char_p), ('timeout_seconds', ctypes.c_double)]


def must(code):
    if code != 0:
        sys.exit(f'code {code}: {library.thalweg_message().decode()}')


@Monoid.COMBINE
def longest(into, other, count, _context):
    for i in range(count):
        mine, theirs = into + 8 * i, other + 8 * i
        if len(ctypes.string_at(theirs)) > len(ctypes.string_at(mine)):
            ctypes.memmove(mine, theirs, 8)


def main():
    environment = os.environ
    options = Options(ctypes.sizeof(Options), int(environment['RANK']), int(environment['WORLD_SIZE']),
                      environment['MASTER_ADDR'].encode(), int(environment['MASTER_PORT']))
    group = ctypes.c_void_p()
    must(library.thalweg_join(ctypes.byref(options), ctypes.byref(group)))
    rank, size = library.thalweg_rank(group), library.thalweg_size(group)

    memory = library.thalweg_allocate(group, ctypes.c_size_t(400000))
    numbers = ctypes.cast(memory, ctypes.POINTER(ctypes.c_float * 100000)).contents
    numbers[:] = [rank + 1.0] * 100000
    must(library.thalweg_all_reduce(group, numbers, numbers, ctypes.c_size_t(100000), F32, SUM))
    assert set(numbers) == {size * (size + 1) / 2}

    mean = ctypes.c_double(rank)
    must(library.thalweg_all_reduce(group, ctypes.byref(mean), ctypes.byref(mean), ctypes.c_size_t(1), F64, MEAN))
    assert mean.value == (size - 1) / 2

    word = ctypes.create_string_buffer(bytes([ord('a') + rank]) * (rank + 1), 8)
    monoid = Monoid(b'longest word', 8, longest, None)
    address = ctypes.cast(word, ctypes.c_void_p)
    call = Call(struct_bytes=ctypes.sizeof(Call), in_=address, out=address, count=1,
                monoid=ctypes.pointer(monoid), route=b'ring')
    work = ctypes.c_void_p()
    must(library.thalweg_start(group, ctypes.byref(call), ctypes.byref(work)))
    must(library.thalweg_wait(work))
    assert len(word.value) == size, word.value

    must(library.thalweg_barrier(group))
    library.thalweg_free(group, ctypes.c_void_p(memory))
    library.thalweg_leave(group)
    print(f'rank {rank} of {size}: fine')


main()
