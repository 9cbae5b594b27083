"""The same rank as all_reduce.c, through ctypes. Usage: rank_in_python.py LIBRARY"""
import ctypes
import os
import sys

from thalweg_in_python import Call, Monoid, Options, library_at

library = library_at(sys.argv[1])
F32, F64, SUM, MEAN = 0, 1, 0, 1


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
    options = Options.from_environment(os.environ)
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
    monoid = Monoid(b'longest word', 8, longest, None, 0)
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
