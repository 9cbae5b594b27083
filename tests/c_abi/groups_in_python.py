"""The same rank as groups.c, through ctypes. Usage: groups_in_python.py LIBRARY"""
import ctypes
import os
import sys

from thalweg_in_python import Call, Monoid, Options, library_at

library = library_at(sys.argv[1])
F32, F64, I32, I64, SUM, MEAN, THRESHOLD = 0, 1, 4, 5, 0, 1, 1
ALL_REDUCE, ALL_GATHER, NEIGHBOURS = 0, 3, 10
USAGE, PEER_LOST = 1, 8
library.thalweg_gradients_tensor.restype = ctypes.c_void_p


class Tensor(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('elements', ctypes.c_uint64)]


class GradientOptions(ctypes.Structure):
    _fields_ = [('struct_bytes', ctypes.c_size_t), ('fusion', ctypes.c_int), ('bucket_bytes', ctypes.c_uint64),
                ('piece_bytes', ctypes.c_uint64), ('credit_bytes', ctypes.c_uint64),
                ('stall_seconds', ctypes.c_double), ('type', ctypes.c_int), ('reduction', ctypes.c_int),
                ('codec', ctypes.c_char_p)]


class GradientStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('buckets', 'units', 'pieces', 'in_flight_bytes_max')]


def must(code):
    if code != 0:
        sys.exit(f'code {code}: {library.thalweg_message().decode()}')


def sum_of(group, number):
    value = ctypes.c_int64(number)
    must(library.thalweg_all_reduce(group, ctypes.byref(value), ctypes.byref(value), ctypes.c_size_t(1), I64, SUM))
    return value.value


def part_of(group, count, rank):
    begin, size = ctypes.c_size_t(), ctypes.c_size_t()
    library.thalweg_part(group, ctypes.c_size_t(count), rank, ctypes.byref(begin), ctypes.byref(size))
    return range(begin.value, begin.value + size.value)


def split(group, rank):
    for _ in range(20):
        half = ctypes.c_void_p()
        must(library.thalweg_split(group, rank % 2, ctypes.c_int64(-rank), ctypes.byref(half)))
        assert library.thalweg_size(half) == 2
        assert library.thalweg_rank(half) == (1 if rank < 2 else 0)
        assert sum_of(half, rank) == (2 if rank % 2 == 0 else 4)
        library.thalweg_leave(half)
    none = ctypes.c_void_p()
    must(library.thalweg_split(group, -1, ctypes.c_int64(0), ctypes.byref(none)))
    assert not none.value


def gather_in_place(group, rank, size):
    everything = (ctypes.c_int32 * 10)()
    own = part_of(group, 10, rank)
    for i in own:
        everything[i] = rank
    start = ctypes.addressof(everything)
    call = Call(struct_bytes=ctypes.sizeof(Call), operation=ALL_GATHER, in_=start + 4 * own[0], out=start, count=10,
                type=I32, route=b'ring', piece_bytes=8, channels=2)
    must(library.thalweg_run(group, ctypes.byref(call)))
    assert list(everything) == [r for r in range(size) for _ in part_of(group, 10, r)]
    if rank > 0:
        call.in_ = start
        assert library.thalweg_run(group, ctypes.byref(call)) == USAGE
        assert b'in == out + ' in library.thalweg_message()


def exchange_with_neighbours(group, rank, size):
    beside = (ctypes.c_uint32 * 2)((rank - 1) % size, (rank + 1) % size)
    mine, theirs = (ctypes.c_float * 2)(rank, 10 * rank), (ctypes.c_float * 4)()
    must(library.thalweg_exchange_with(group, beside, ctypes.c_size_t(2), mine, theirs, ctypes.c_size_t(2), F32))
    assert list(theirs) == [beside[0], 10 * beside[0], beside[1], 10 * beside[1]]
    call = Call(struct_bytes=ctypes.sizeof(Call), operation=NEIGHBOURS, in_=ctypes.addressof(mine),
                out=ctypes.addressof(theirs), count=2, type=F32, neighbours=ctypes.addressof(beside), neighbour_count=2)
    work = ctypes.c_void_p()
    must(library.thalweg_start(group, ctypes.byref(call), ctypes.byref(work)))
    must(library.thalweg_wait(work))
    assert list(theirs) == [beside[0], 10 * beside[0], beside[1], 10 * beside[1]]


@Monoid.COMBINE
def compose(into, other, count, _context):
    first = ctypes.cast(into, ctypes.POINTER(ctypes.c_int64))
    then = ctypes.cast(other, ctypes.POINTER(ctypes.c_int64))
    for i in range(count):
        first[2 * i] *= then[2 * i]
        first[2 * i + 1] = then[2 * i] * first[2 * i + 1] + then[2 * i + 1]


def sums(group, rank):
    mean = ctypes.c_double(10 * rank)
    must(library.thalweg_weighted_mean(group, ctypes.byref(mean), ctypes.byref(mean), ctypes.c_size_t(1), F64,
                                       ctypes.c_double(rank)))
    assert abs(mean.value - 140 / 6) < 1e-12

    four = ctypes.c_float * 4
    one, other = four(*[rank] * 4), four(*[rank + 0.5] * 4)
    vectors = (ctypes.c_void_p * 2)(ctypes.addressof(one), ctypes.addressof(other))
    total = four()
    must(library.thalweg_reproducible_sum(group, vectors, ctypes.c_size_t(2), total, ctypes.c_size_t(4), F32))
    assert list(total) == [14] * 4

    mapping = (ctypes.c_int64 * 2)(rank + 2, rank)
    address = ctypes.addressof(mapping)
    monoid = Monoid(b'composition', 16, compose, None, 1)
    call = Call(struct_bytes=ctypes.sizeof(Call), operation=ALL_REDUCE, in_=address, out=address, count=1,
                monoid=ctypes.pointer(monoid))
    must(library.thalweg_run(group, ctypes.byref(call)))
    assert list(mapping) == [2 * 3 * 4 * 5, ((0 * 3 + 1) * 4 + 2) * 5 + 3]


def prepare(group, rank):
    data, prepared, work = (ctypes.c_float * 3)(), ctypes.c_void_p(), ctypes.c_void_p()
    address = ctypes.addressof(data)
    call = Call(struct_bytes=ctypes.sizeof(Call), operation=ALL_REDUCE, in_=address, out=address, count=3, type=F32)
    must(library.thalweg_prepare(group, ctypes.byref(call), ctypes.byref(prepared)))
    for turn in range(3):
        data[2] = rank + turn
        if turn < 2:
            must(library.thalweg_run_prepared(prepared))
        else:
            must(library.thalweg_start_prepared(prepared, ctypes.byref(work)))
            must(library.thalweg_wait(work))
        assert data[2] == 6 + 4 * turn
    library.thalweg_free_prepared(prepared)


def sparse(group, rank, size):
    rows, total = (ctypes.c_float * 4)(1, rank, 0.5, 0.25), ctypes.c_void_p()
    keys = (ctypes.c_uint64 * 2)(5 + rank, 1 << 40)
    library.thalweg_sparse_keys.restype = ctypes.POINTER(ctypes.c_uint64)
    library.thalweg_sparse_values.restype = ctypes.POINTER(ctypes.c_float)
    library.thalweg_sparse_count.restype = ctypes.c_size_t
    for reduction, share in ((SUM, 1), (MEAN, 1 / size)):
        must(library.thalweg_all_reduce_sparse(group, keys, rows, ctypes.c_size_t(2), ctypes.c_size_t(2), reduction,
                                               ctypes.byref(total)))
        count = library.thalweg_sparse_count(total)
        assert library.thalweg_sparse_keys(total)[:count] == [5 + r for r in range(size)] + [1 << 40]
        expected = [x for r in range(size) for x in (share, share * r)] + [0.5 * share * size, 0.25 * share * size]
        assert library.thalweg_sparse_values(total)[:2 * count] == expected
    library.thalweg_sparse_free(total)


def start_sums(group, rank, size):
    mean, total = ctypes.c_double(10 * rank), (ctypes.c_float * 2)()
    one = (ctypes.c_float * 2)(rank, rank)
    vectors = (ctypes.c_void_p * 1)(ctypes.addressof(one))
    keys, rows, sparse_sum = (ctypes.c_uint64 * 2)(rank, 100), (ctypes.c_float * 2)(0.5, 2), ctypes.c_void_p()
    works = [ctypes.c_void_p() for _ in range(3)]
    must(library.thalweg_start_weighted_mean(group, ctypes.byref(mean), ctypes.byref(mean), ctypes.c_size_t(1), F64,
                                             ctypes.c_double(rank), ctypes.byref(works[0])))
    must(library.thalweg_start_reproducible_sum(group, vectors, ctypes.c_size_t(1), total, ctypes.c_size_t(2), F32,
                                                ctypes.byref(works[1])))
    must(library.thalweg_start_all_reduce_sparse(group, keys, rows, ctypes.c_size_t(2), ctypes.c_size_t(1), SUM,
                                                 ctypes.byref(sparse_sum), ctypes.byref(works[2])))
    for work in works:
        must(library.thalweg_wait(work))
    assert abs(mean.value - 140 / 6) < 1e-12
    assert list(total) == [6, 6]
    assert library.thalweg_sparse_count(sparse_sum) == size + 1
    assert library.thalweg_sparse_values(sparse_sum)[size] == 2 * size
    library.thalweg_sparse_free(sparse_sum)


def gradients(group, rank):
    tensors = (Tensor * 3)((b'embedding', 5), (b'hidden', 7), (b'out', 3))
    options, everything, stats = GradientOptions(), ctypes.c_void_p(), GradientStats()
    must(library.thalweg_gradient_defaults(THRESHOLD, ctypes.byref(options)))
    options.reduction = SUM
    must(library.thalweg_gradients_create(group, tensors, ctypes.c_size_t(3), ctypes.byref(options),
                                          ctypes.byref(everything)))

    def tensor(number):
        address = library.thalweg_gradients_tensor(everything, ctypes.c_size_t(number))
        return ctypes.cast(address, ctypes.POINTER(ctypes.c_float * tensors[number].elements)).contents

    for number in range(3):
        tensor(number)[:] = [rank + number] * tensors[number].elements
    must(library.thalweg_gradients_announce_all(everything))
    must(library.thalweg_gradients_wait_all(everything))
    for number in range(3):
        assert set(tensor(number)) == {6 + 4 * number}
    library.thalweg_gradients_stats(everything, ctypes.byref(stats))
    assert stats.pieces > 0
    library.thalweg_gradients_destroy(everything)


def go_on(group, rank, size):
    assert library.thalweg_barrier(group) == PEER_LOST
    assert library.thalweg_status(group) == PEER_LOST
    anew = ctypes.c_void_p()
    must(library.thalweg_regroup(group, ctypes.byref(anew)))
    assert (library.thalweg_size(anew), library.thalweg_rank(anew)) == (size - 1, rank)
    assert sum_of(anew, 1) == size - 1
    library.thalweg_leave(anew)


def main():
    group = ctypes.c_void_p()
    must(library.thalweg_join(ctypes.byref(Options.from_environment(os.environ)), ctypes.byref(group)))
    rank, size = library.thalweg_rank(group), library.thalweg_size(group)
    split(group, rank)
    gather_in_place(group, rank, size)
    exchange_with_neighbours(group, rank, size)
    sums(group, rank)
    prepare(group, rank)
    sparse(group, rank, size)
    start_sums(group, rank, size)
    gradients(group, rank)
    if rank + 1 < size:
        go_on(group, rank, size)
    library.thalweg_leave(group)
    print(f'rank {rank} of {size}: fine')


main()
