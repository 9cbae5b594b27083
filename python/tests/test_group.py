"""Groups of threads and of processes."""

import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from ranks import on_ranks
from thalweg import Group, InputError


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("route", [None, "ring", "tree"])
def test_all_reduce_in_place(dtype, route):
    def program(group):
        data = np.arange(7, dtype=dtype).reshape(1, 7) + dtype(group.rank)
        how = {} if route is None else {"route": route}
        assert group.all_reduce(data, **how) is data
        return data

    for data in on_ranks(3, program):
        assert (data == 3 * np.arange(7) + 3).all()


@pytest.mark.parametrize("op, expected", [("sum", 6), ("mean", 2), ("min", 1), ("max", 3), ("product", 6), ("and", 1),
                                          ("or", 1), ("reproducible-sum", 6)])
def test_reductions(op, expected):
    def program(group):
        out = np.zeros(5, np.float32)
        return group.all_reduce(np.full(5, group.rank + 1, np.float32), out, op=op)

    assert all((data == expected).all() for data in on_ranks(3, program))


def test_all_collectives():
    def program(group):
        rank, size = group.rank, group.size
        whole = np.arange(10, dtype=np.float64)
        part = group.part(10)
        mine = np.zeros(part.stop - part.start)
        group.reduce_scatter(whole + rank, mine)
        assert (mine == 3 * whole[part] + 3).all()
        gathered = np.zeros(10)
        group.all_gather(mine, gathered)
        assert (gathered == 3 * whole + 3).all()
        sums = group.reduce(whole.copy(), root=1)
        assert sums is None or rank == 1 and (sums == 3 * whole).all()
        data = np.full(4, rank)
        assert (group.broadcast(data, root=2) == 2).all()
        out = np.zeros(6, np.int64) if rank == 0 else None
        group.gather(np.array([rank, rank]), out)
        assert out is None or out.tolist() == [0, 0, 1, 1, 2, 2]
        piece = np.zeros(2, np.int64)
        group.scatter(np.arange(6) if rank == 0 else None, piece)
        assert piece.tolist() == [2 * rank, 2 * rank + 1]
        sent, got = np.arange(3) + 10 * rank, np.zeros(3, np.int64)
        group.all_to_all(sent, got)
        assert got.tolist() == [rank, 10 + rank, 20 + rank]
        counts = [rank] * size
        uneven, theirs = np.full(rank * size, rank), np.zeros(0 + 1 + 2, np.int64)
        group.all_to_all(uneven, theirs, counts=counts, counts_out=[0, 1, 2])
        assert theirs.tolist() == [1, 2, 2]
        varied = np.zeros(3, np.int64)
        group.all_gather(np.full(rank, rank), varied, counts=[0, 1, 2])
        assert varied.tolist() == [1, 2, 2]
        if rank == 0:
            group.send(np.array([5.0]), to=1)
        if rank == 1:
            message = np.zeros(1)
            group.receive(message, source=0)
            assert message[0] == 5
        neighbours = [r for r in range(size) if r != rank]
        both = np.zeros(2)
        group.exchange_with(neighbours, np.array([float(rank)]), both)
        assert both.tolist() == neighbours
        group.barrier()
        mean = group.weighted_mean(np.array([float(rank)], np.float32), weight=rank)
        assert mean[0] == pytest.approx((1 + 4) / 3)
        keys, rows = group.all_reduce_sparse([rank, 7], [[1.0, 2.0], [1.0, 0.0]])
        assert keys.tolist() == [0, 1, 2, 7] and rows.tolist() == [[1, 2]] * 3 + [[3, 0]]
        return True

    assert on_ranks(3, program) == [True] * 3


def test_started_operations_run_side_by_side():
    def program(group):
        vectors = [np.full(1000, group.rank + i, np.float32) for i in range(20)]
        works = [group.all_reduce(vector, wait=False) for vector in vectors]
        for work in works[::-1]:
            work.wait()
            assert work.done
        dropped = group.all_reduce(np.ones(100000, np.float32), wait=False)
        del dropped
        group.barrier(wait=False).wait()
        return [vector[0] for vector in vectors]

    assert on_ranks(2, program) == [[2 * i + 1 for i in range(20)]] * 2


def test_splits_and_shared_memory():
    def program(group):
        half = group.split(group.rank % 2)
        data = half.allocate((2, 3), np.float64)
        assert data.shape == (2, 3) and not data.any()
        data += group.rank
        half.all_reduce(data)
        assert group.split(-1) is None
        return half.size, data[0, 0]

    assert on_ranks(4, program) == [(2, 2), (2, 4), (2, 2), (2, 4)]


def test_a_rank_that_differs_is_found_out():
    def program(group):
        return group.all_reduce(np.zeros(5 + group.rank, np.float32))

    with pytest.raises(RuntimeError, match="all-reduce"):
        on_ranks(2, program, timeout=5)


@pytest.mark.parametrize("call, text", [
    (lambda g: g.all_reduce(np.zeros(4)[::2]), "one behind the other"),
    (lambda g: g.all_reduce(np.zeros(4, np.int8)), "expected float16"),
    (lambda g: g.all_reduce(np.zeros(4), np.zeros(5)), "5 elements for the result, expected 4"),
    (lambda g: g.all_reduce(np.zeros(4), np.zeros(4, np.float32)), "elements of one type"),
    (lambda g: g.all_reduce(np.zeros(4), op="median"), "'median'; expected one of sum, mean"),
    (lambda g: g.all_reduce(np.zeros(4), route="teleport"), "teleport"),
    (lambda g: Group.join(transport="pigeon"), "pigeon"),
])
def test_wrong_calls(call, text):
    with pytest.raises(ValueError, match=text):
        call(Group.in_process(1)[0])


def test_read_only_arrays_are_not_written():
    data = np.zeros(4)
    data.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        Group.in_process(1)[0].all_reduce(data)


FORKED = """
import os, sys, numpy, thalweg
group = thalweg.Group.join(int(sys.argv[1]), 2, master=sys.argv[2], timeout=30)
work = group.all_reduce(numpy.ones(1_000_000), wait=False)
job = thalweg.Job([thalweg.Table("a")])
child = os.fork()
if child == 0:
    try:
        group.barrier()
    except thalweg.InputError as error:
        print("refused", flush=True)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
work.wait()
assert group.all_reduce(numpy.ones(1))[0] == 2
job.store().advance()
"""


def test_a_forked_child_leaves_groups_and_jobs_to_its_parent(free_address):
    ranks = [subprocess.Popen([sys.executable, "-c", FORKED, str(rank), free_address], stdout=subprocess.PIPE, text=True)
             for rank in range(2)]
    assert [(rank.communicate(timeout=60)[0], rank.returncode) for rank in ranks] == [("refused\n", 0)] * 2


RANK = """
import sys, numpy, thalweg
group = thalweg.Group.join(int(sys.argv[1]), 3, master=sys.argv[2], timeout=30, transport=sys.argv[3])
data = numpy.full(100_000, group.rank, numpy.float32)
assert (group.all_reduce(data) == 3).all()
print(group.rank, group.size)
"""


def test_a_program_whose_threads_hold_groups_ends_quietly():
    program = """
import threading, time, thalweg
groups = thalweg.Group.in_process(2)
threading.Thread(target=lambda: (time.sleep(1000), groups), daemon=True).start()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_processes_join(transport, free_address):
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, str(rank), free_address, transport],
                              stdout=subprocess.PIPE, text=True) for rank in range(3)]
    assert [rank.communicate(timeout=60)[0] for rank in ranks] == ["0 3\n", "1 3\n", "2 3\n"]


@pytest.mark.parametrize("call, text", [
    (lambda group: group.all_gather(np.zeros(1), np.zeros(6), counts=[2, 2, 2]), "1 elements of data, expected 2"),
    (lambda group: group.all_gather(np.zeros(2), np.zeros(6), counts=[2, 2]), "2 counts; expected one for each of 3"),
    (lambda group: group.all_to_all(np.zeros(3), np.zeros(1), counts=[1] * 3, counts_out=[1] * 3),
     "1 elements for the result, expected 3"),
    (lambda group: group.reduce_scatter(np.zeros(6), np.zeros(2), counts=[6, 0, 0]),
     "2 elements for the result, expected 6"),
    (lambda group: group.gather(np.zeros(1), np.zeros(6), counts=[4, 1, 1]), "1 elements of data, expected 4"),
    (lambda group: group.all_gather(np.zeros(2), np.zeros(6), counts=[-1, 4, 3]), "one of counts -1: expected 0"),
])
def test_counts_that_arrays_do_not_have_are_refused(call, text):
    with pytest.raises(InputError, match=text):
        call(Group.in_process(3)[0])


def test_parts_are_as_large_as_counts_say():
    def program(group):
        counts, mine = [3, 0, 1], [3, 0, 1][group.rank]
        whole = np.arange(4.0)
        part = np.zeros(mine)
        group.reduce_scatter(whole, part, counts=counts)
        assert part.tolist() == (3 * whole[[slice(0, 3), slice(3, 3), slice(3, 4)][group.rank]]).tolist()
        group.scatter(whole if group.rank == 1 else None, part, root=1, counts=counts)
        gathered = np.zeros(4) if group.rank == 2 else None
        group.gather(part, gathered, root=2, counts=counts)
        return gathered is None or (gathered == whole).all()

    assert all(on_ranks(3, program))


@pytest.mark.parametrize("odd, text", [
    (lambda group: group.all_gather(np.zeros(2), np.zeros(4), counts=[1, 1, 2]), "with other counts"),
    (lambda group: group.all_gather(np.zeros(1, np.float32), np.zeros(4, np.float32), counts=[2, 1, 1]), "f32"),
])
def test_ranks_whose_counts_differ_are_found_out(odd, text):
    def program(group):
        if group.rank == 2:
            odd(group)
        else:
            group.all_gather(np.zeros(2 - group.rank), np.zeros(4), counts=[2, 1, 1])
        group.barrier()

    with pytest.raises(RuntimeError, match=text):
        on_ranks(3, program, timeout=5)


@pytest.mark.parametrize("call, text", [
    (lambda group: group.all_reduce(None), "data: None; expected an array"),
    (lambda group: group.broadcast(None), "data: None"),
    (lambda group: group.gather(np.zeros(1)), "out: None; expected an array for the result"),
    (lambda group: group.scatter(None, np.zeros(1)), "data: None"),
    (lambda group: group.send(None, to=1), "data: None"),
    (lambda group: group.send(np.zeros(1), to=0), "must be either its sender or its receiver"),
    (lambda group: group.all_reduce(np.zeros(1), timeout=-1), "timeout -1: expected seconds, from 0"),
    (lambda group: group.all_reduce(np.zeros(1), timeout=float("inf")), "timeout inf: expected seconds"),
    (lambda group: group.all_reduce(np.zeros(1), timeout=float("nan")), "timeout nan: expected seconds"),
    (lambda group: group.all_reduce(np.zeros(1), rout="ring"), "'rout' is no argument; expected route, piece_bytes"),
    (lambda group: group.all_reduce(np.zeros(1), piece_bytes=64), "tune a route; expected route="),
    (lambda group: group.reduce(np.zeros(1), root=-1), "root -1: expected 0 at least"),
    (lambda group: group.all_reduce(np.zeros(1), op=3), "op 3: expected a name"),
    (lambda group: group.weighted_mean(np.zeros(1), "a"), "weight 'a': expected a number"),
    (lambda group: group.part(10, 3), "rank 3: expected one below 3"),
    (lambda group: group.all_reduce_sparse([-1], [[1.0]]), "key -1: expected none below 0"),
    (lambda group: group.all_reduce_sparse([1.5], [[1.0]]), "key 1.5: expected a whole number"),
    (lambda group: group.all_reduce_sparse([1], [None]), "rows of object; expected numbers"),
    (lambda group: group.split("a"), "colour 'a': expected a whole number"),
    (lambda group: group.split(2**31), "colour 2147483648: expected one below 2147483648"),
    (lambda group: group.split(1, 0.5), "key 0.5: expected a whole number"),
    (lambda group: group.allocate((2**40, 2**40)), "expected numbers that fit memory"),
    (lambda group: group.allocate(2.5), "a size of shape 2.5: expected a whole number"),
    (lambda group: group.allocate(3, "O"), "shape 3 of object: expected numbers that fit memory"),
    (lambda group: group.all_reduce_sparse([], []), "expected \\(0, floats of a row\\)"),
    (lambda group: group.all_reduce_sparse([1, 2], [1.0, 2.0, 3.0]), "expected one for each of 2 keys"),
    (lambda group: Group.in_process(0), "size 0: expected 1 at least"),
    (lambda group: Group.in_process(2000), "2000 ranks; expected 1 to 1024"),
    (lambda group: Group.in_process(2, timeout=-1), "timeout -1"),
    (lambda group: Group.join(master="nohost"), "master 'nohost': expected HOST:PORT"),
    (lambda group: Group.join(master="localhost:99999"), "master 'localhost:99999': expected HOST:PORT"),
    (lambda group: Group.join(rank=-1), "rank -1: expected 0 at least"),
    (lambda group: Group.join(timeout=-1), "timeout -1"),
    (lambda group: Group.join(timeout="x"), "timeout 'x': expected a number of seconds"),
    (lambda group: Group.join(transport=3), "transport 3: expected a string"),
    (lambda group: Group.join(master=3), "master '3': expected HOST:PORT"),
])
def test_arguments_that_cannot_be_right_are_refused_in_words(call, text):
    with pytest.raises(InputError, match=text):
        call(Group.in_process(3)[0])


def test_a_result_for_the_root_alone_is_not_written_elsewhere():
    def program(group):
        small = np.zeros(1)
        group.reduce(np.ones(1000), np.zeros(1000) if group.rank == 0 else small, route="binomial-tree")
        group.gather(np.ones(1000), np.zeros(4000) if group.rank == 0 else small, route="binomial-tree")
        return small[0]

    assert on_ranks(4, program) == [0] * 4


def test_a_place_that_is_given_goes_before_what_a_launcher_holds(free_address, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as held:
        monkeypatch.setenv("THALWEG_LISTENER", str(held.fileno()))
        monkeypatch.setenv("THALWEG_MASTER_PORT", str(held.getsockname()[1]))
        answers = [None, None]

        def work(rank):
            answers[rank] = Group.join(rank, 2, master=free_address, timeout=30).size

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [2, 2]


@pytest.mark.parametrize("call, text", [
    (lambda group: group.all_reduce_sparse([1], [[1.0]], op="max"), "op 'max' of sparse rows; expected sum or mean"),
    (lambda group: group.scatter(np.arange(7.0), np.zeros(2)), "7 elements to scatter, expected as many for each of 3"),
    (lambda group: group.all_reduce([1.0, 2.0]), "data: a list; expected an array"),
    (lambda group: group.reduce_scatter(np.zeros(3), [0.0]), "out: a list; expected an array"),
    (lambda group: group.broadcast(read_only(np.zeros(3)), wait=False), "read-only"),
    (lambda group: group.weighted_mean([1.0], 1), "data: a list"),
    (lambda group: group.all_reduce(masked()), "data: 1 masked cells, expected none: .filled"),
    (lambda group: group.broadcast(masked(), wait=False), "data: 1 masked cells"),
    (lambda group: group.all_gather(np.zeros(1), masked()), "out: 1 masked cells"),
    (lambda group: group.weighted_mean(masked(), 1), "data: 1 masked cells"),
    (lambda group: group.all_reduce_sparse([1, 2, 3], masked()), "rows: 1 masked cells"),
    (lambda group: group.all_reduce_sparse(masked().astype(int), np.zeros(3)), "keys: 1 masked cells"),
    (lambda group: group.allocate((-1,)), "a size of shape -1: expected 0 at least"),
])
def test_what_is_no_array_is_refused_in_words(call, text):
    with pytest.raises(InputError, match=text):
        call(Group.in_process(3)[0])


def masked():
    return np.ma.masked_equal([0.0, 1.0, 2.0], 1)


def read_only(array):
    array.flags.writeable = False
    return array


def test_an_empty_array_is_allocated():
    group = Group.in_process(1)[0]
    assert group.allocate((0,)).shape == (0,) and group.allocate((3, 0), np.float64).shape == (3, 0)
    assert group.allocate(2, np.int64).tolist() == [0, 0]
