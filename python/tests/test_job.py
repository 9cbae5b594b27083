"""Jobs whose shards are threads of Python."""

import doctest
import os
import re
import signal
import threading

import numpy as np
import pytest
import thalweg
from thalweg import Job, Table, _job


def test_the_page_s_example():
    assert doctest.testmod(_job).failed == 0


def test_keys_of_a_range_are_as_great_as_any():
    with Job([Table("a")]) as job:
        store = job.store()
        store.push("a", range(2**63, 2**63 + 3), [[1], [2], [3]])
        store.advance()
        assert store.pull("a", [2**63 + 2, 2**63]).tolist() == [[3], [1]]


def test_keys_of_a_list_may_lie_on_both_sides_of_2_to_the_63rd():
    with Job([Table("a")]) as job:
        store = job.store()
        store.push("a", [1, 2**64 - 2], [[1], [2]])
        store.advance()
        assert store.pull("a", [2**63, 2**64 - 2, 1]).tolist() == [[0], [2], [1]]
        for key, text in ((2**64, "expected one below 2^64"), (-1, "expected none below 0")):
            with pytest.raises(thalweg.InputError, match=re.escape(f"key {key}: {text}")):
                store.pull("a", [2**63, key])
        with pytest.raises(thalweg.InputError, match="key 0.5: expected a whole number"):
            store.pull("a", [1, 0.5])


def test_repeated_keys_add_up_and_rows_come_in_order():
    with Job([Table("a", dim=2), Table("b", rows=4, init="constant", scale=1.5)]) as job:
        store = job.store()
        store.push("a", np.array([9, 2, 9]), np.array([[1, 2], [3, 4], [10, 20]]))
        store.push("b", range(1, 3), [[1], [2]])
        assert store.step == (0, 0)
        store.advance()
        assert store.step == (0, 1)
        assert store.pull("a", [2, 5, 9, 2]).tolist() == [[3, 4], [0, 0], [11, 22], [3, 4]]
        assert store.pull("b").tolist() == [[1.5], [2.5], [3.5], [1.5]]
        assert store.push_pull("a", [2], [[1, 1]]).tolist() == [[4, 5]]
        assert store.read(1, range(2, 3)).tolist() == [[3.5]]
        keys, rows = job.scan("a")
        assert dict(zip(keys.tolist(), rows.tolist())) == {2: [4, 5], 9: [11, 22]}
        assert job.stored[0] >= 2


def test_keys_of_dense_tables_come_in_any_order():
    with Job([Table("d", rows=6), Table("w")]) as job:
        store = job.store()
        store.push("d", np.array([3, 1, 2, 3]), [[3], [1], [2], [30]])
        store.push("w", range(4, 0, -2), [[4], [2]])
        store.advance()
        assert store.pull("d", np.arange(5)).ravel().tolist() == [0, 1, 2, 33, 0]
        assert store.pull("d", [5, 1, 1, 3]).ravel().tolist() == [0, 1, 1, 33]
        assert store.read("d", range(3, 0, -2)).ravel().tolist() == [33, 1]
        assert store.pull("d", []).shape == store.pull("d", range(0)).shape == (0, 1)
        assert store.pull("w", range(2, 5)).ravel().tolist() == [2, 0, 4]
        assert store.push_pull("d", (1, 0), [[1], [5]]).ravel().tolist() == [2, 5]


def train(shards, threads, servers):
    """Least squares by two shards' halves of the rows."""
    random = np.random.default_rng(0)
    matrix = random.normal(size=(400, 5)).astype(np.float32)
    target = matrix @ np.arange(5, dtype=np.float32)
    with Job([Table("w", rule="sgd", numbers={"rate": 0.001})], data_shards=shards, threads=threads,
             servers=servers) as job:

        def program(store):
            mine = slice(store.shard, None, shards)
            x, y = matrix[mine], target[mine]
            for _ in range(200):
                weights = store.pull("w", range_keys)[:, 0]
                grads = x.T @ (x @ weights - y)
                store.push("w", range_keys, grads[:, None])
                store.advance()

        range_keys = np.arange(5)
        job.run(program)
        keys, rows = job.scan("w")
    return rows[np.argsort(keys), 0]


def test_threads_train_together_to_the_same_bits():
    weights = train(2, threads=2, servers=1)
    np.testing.assert_allclose(weights, np.arange(5), atol=1e-3)
    np.testing.assert_array_equal(weights, train(2, threads=1, servers=3))


def test_shards_wait_for_each_other_and_name_who_is_late():
    with Job([Table("w")], data_shards=2) as job:
        fast = job.store(0)
        fast.push("w", [1], [[1]])
        fast.advance()
        with pytest.raises(TimeoutError, match="shard 1"):
            fast.pull("w", [1], timeout=0.05)
        slow = threading.Thread(target=lambda: job.store(1).end_work())
        slow.start()
        assert fast.pull("w", [1]).tolist() == [[1]]
        slow.join()


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_call_that_waits_and_the_shard_goes_on():
    with Job([Table("w")], data_shards=2) as job:
        fast = job.store(0)
        fast.push("w", [1], [[1]])
        fast.advance()
        threading.Timer(0.2, press_ctrl_c).start()
        came = []
        slow = threading.Timer(20, lambda: (came.append(1), job.store(1).end_work()))
        slow.start()
        with pytest.raises(KeyboardInterrupt):
            fast.pull("w", [1])
        slow.cancel()
        assert not came
        job.store(1).end_work()
        assert fast.pull("w", [1]).tolist() == [[1]]


@pytest.mark.parametrize("again", range(20))  # At whatever moment the caller begins to wait.
def test_ctrl_c_ends_programs_with_their_next_call(again):
    seen = []
    at_work = threading.Barrier(2)

    def program(store):
        store.push("w", [1], [[1]])
        store.advance()
        at_work.wait()
        if store.shard == 0:
            press_ctrl_c()
        try:
            store.barrier(store.shard)
        except RuntimeError as error:
            seen.append(str(error))
            raise

    with Job([Table("w")], data_shards=2) as job:
        with pytest.raises(KeyboardInterrupt):
            job.run(program)
        assert seen == ["the programs were interrupted"] * 2
        assert job.scan("w")[1].tolist() == [[2]]


def test_close_ends_a_call_that_waits():
    seen = []
    job = Job([Table("w")], data_shards=2)
    waiting = threading.Event()

    def wait():
        waiting.set()
        try:
            job.store(1).barrier(0)
        except RuntimeError as error:
            seen.append(str(error))

    waiter = threading.Thread(target=wait)
    waiter.start()
    waiting.wait()
    job.close()
    waiter.join()
    assert seen == ["the job is closed"]


def test_a_job_runs_once():
    ran = []
    with Job([Table("w")], data_shards=2) as job:
        job.run(lambda store: store.push("w", [1], [[1]]))
        with pytest.raises(thalweg.InputError, match="a Job runs once; make another"):
            job.run(ran.append)
        assert not ran and job.scan("w")[1].tolist() == [[2]]


def test_a_program_s_error_is_raised():
    with Job([Table("w")], data_shards=3) as job, pytest.raises(ZeroDivisionError):
        job.run(lambda store: 1 / (store.shard - 1))


@pytest.mark.parametrize("fails, error", [
    (lambda store: 1 / 0, ZeroDivisionError),
    (lambda store: store.push("w", [1], [[np.nan]]) or store.advance(), thalweg.JobError),
])
@pytest.mark.parametrize("waits", [
    lambda store: store.barrier(0),
    lambda store: (store.push("w", [1], [[1]]), store.advance(), store.pull("w", [1])),
])
def test_others_do_not_wait_for_a_program_that_fails(fails, error, waits):
    seen = []
    failed = threading.Event()

    def program(store):
        if store.shard == 1:
            try:
                fails(store)
            except Exception as thrown:
                seen.append(thrown)
                failed.set()
                raise
        failed.wait()
        try:
            while True:
                waits(store)
        except Exception as thrown:
            seen.append(thrown)
            raise

    with Job([Table("w")], data_shards=2, timeout=1000) as job:
        with pytest.raises(error) as raised:
            job.run(program)
        assert raised.value is seen[0] and isinstance(seen[1], RuntimeError)
        job.scan("w")


@pytest.mark.parametrize("call, error, text", [
    (lambda s: s.pull("v", [1]), ValueError, "no table is named 'v'; there are w, d, m"),
    (lambda s: s.pull("w"), ValueError, "keys are missing"),
    (lambda s: s.pull("w", [0.5]), ValueError, "key 0.5: expected a whole number"),
    (lambda s: s.pull("w", np.array([2**64 - 1], np.uint64)), ValueError, "reserved"),
    (lambda s: s.pull("d", range(3, 9)), ValueError, "expected a range of a dense table"),
    (lambda s: s.pull("d", range(-2, 3)), thalweg.InputError, "key -2: expected none below 0"),
    (lambda s: s.pull("w", [3, -1]), thalweg.InputError, "key -1: expected none below 0"),
    (lambda s: s.pull("d", [5]), thalweg.InputError, "row 5 of dense table d: expected one below 5"),
    (lambda s: s.push("d", [4, 0, 2, 1], np.ones(4)), thalweg.InputError, "leave out row 3; expected all .*, 4"),
    (lambda s: s.pull(7), thalweg.InputError, "table 7: expected one below 3"),
    (lambda s: s.pull(0.5, [1]), thalweg.InputError, "table 0.5: expected a whole number"),
    (lambda s: s.pull("w", [1], timeout=-1), thalweg.InputError, "timeout -1: expected seconds"),
    (lambda s: s.advance(timeout=float("nan")), thalweg.InputError, "timeout nan: expected seconds"),
    (lambda s: s.barrier(0, timeout=float("inf")), thalweg.InputError, "timeout inf: expected seconds"),
    (lambda s: s.push("w", [1], [[1, 2]]), ValueError, "2 floats pushed to table w"),
    (lambda s: s.push("m", [1, 2, 3], np.ones((2, 3))), thalweg.InputError, "rows of 3 floats pushed to table m, expected rows of 2"),
    (lambda s: s.push("w", [1], None), thalweg.InputError, "gradients of object; expected numbers"),
    (lambda s: s.push("w", [1], [[None]]), thalweg.InputError, "gradients of object; expected numbers"),
    (lambda s: s.push("w", [1], [["x"]]), thalweg.InputError, "gradients of <U1; expected numbers"),
    (lambda s: s.push("w", [1], [[1j]]), thalweg.InputError, "gradients of complex128; expected numbers"),
    (lambda s: s.push("w", [1, 2], [[1], [1, 2]]), thalweg.InputError, "gradients: rows of different lengths"),
    (lambda s: s.push("w", [1, 2], np.ma.masked_greater([[1.0], [5.0]], 2)), thalweg.InputError,
     "gradients: 1 masked cells, expected none: .filled"),
    (lambda s: s.push_pull("w", [1, 2], [np.ma.masked_equal([1.0], 1), [5.0]]), thalweg.InputError, "gradients: 1 masked"),
    (lambda s: s.pull("w", np.ma.masked_equal([1, 2], 2)), thalweg.InputError, "keys: 1 masked cells"),
    (lambda s: s.pull("w", [1], timeout="x"), thalweg.InputError, "timeout 'x': expected a number of seconds"),
    (lambda s: s.barrier(1.5), thalweg.InputError, "epoch 1.5: expected a whole number"),
    (lambda s: s.barrier(1, -1), thalweg.InputError, "index -1: expected 0 at least"),
    (lambda s: s.push("w", [1], [[np.nan]]) or s.advance(), RuntimeError, "."),
])
def test_errors(call, error, text):
    with Job([Table("w"), Table("d", rows=5), Table("m", dim=2)]) as job, pytest.raises(error, match=text):
        call(job.store())


@pytest.mark.parametrize("tables, options, text", [
    (["a"], {}, "tables[0] 'a': expected a thalweg.Table"),
    ("a", {}, "tables 'a': expected a list of thalweg.Table"),
    (None, {}, "tables None: expected a list of thalweg.Table"),
    ([], {}, "a job without tables; expected one at least"),
    ([Table("w", rule="sgd", numbers={"speed": 1})], {}, "number 'speed' of the rule of table w; expected rate, l1, "),
    ([Table("w", init="ones")], {}, "init 'ones' of table w; expected zero, uniform, normal or constant"),
    ([Table("w")], {"threads": 1025}, "threads 1025: expected one below 1025"),
    ([Table("w")], {"servers": 1025}, "servers 1025: expected one below 1025"),
    ([Table("w")], {"data_shards": 2**31}, "data_shards 2147483648: expected one below 1025"),
    ([Table("w")], {"timeout": None}, "timeout None: expected a number of seconds"),
    ([Table("w")], {"consistency": None}, "consistency 'None': expected sync, bounded:N or async"),
])
def test_jobs_that_cannot_be_are_refused_in_words(tables, options, text):
    with pytest.raises(thalweg.InputError, match=re.escape(text)):
        Job(tables, **options)


@pytest.mark.parametrize("words, text", [
    ({"name": 3}, "name 3 of a table: expected a string"),
    ({"rule": None}, "rule None of a table: expected a string"),
    ({"scale": "x"}, "scale='x' of table w: expected a number"),
    ({"numbers": {"rate": "1"}}, "rate='1' of table w: expected a number"),
    ({"numbers": [1]}, "numbers=[1] of table w: expected a number for each of some names"),
])
def test_tables_that_cannot_be_are_refused_in_words(words, text):
    with pytest.raises(thalweg.InputError, match=re.escape(text)):
        Table(**{"name": "w", **words})


def test_wrong_jobs_and_closed_ones():
    for tables, options in (([Table("w", rule="best")], {}), ([Table("w", numbers={"speed": 1})], {}),
                            ([Table("w", init="ones")], {}), ([Table("w")], {"consistency": "often"}),
                            ([Table("w")], {"consistency": "bounded:x"}), ([Table("w")], {"data_shards": 0}), ([Table("w")], {"servers": 1.5})):
        with pytest.raises(thalweg.InputError):
            Job(tables, **options)
    for numbers in {"dim": 0}, {"dim": -1}, {"dim": 1.5}, {"rows": -1}, {"seed": "x"}:
        with pytest.raises(thalweg.InputError, match=f"{next(iter(numbers))} of table w .*: expected"):
            Table("w", **numbers)
    for consistency in "sync:3", "async:1", "bounded", "bounded:", "bounded:-1", "bounded:4294967296":
        with pytest.raises(thalweg.InputError, match=f"consistency '{consistency}': expected sync, bounded:N or async"):
            Job([Table("w")], consistency=consistency)
    with pytest.raises(thalweg.InputError, match="rule 'best' of table w; expected add, .* or "):
        Job([Table("w", rule="best")])
    with Job([Table("w")]) as job:
        store = job.store()
        with pytest.raises(ValueError, match="data shard 1: expected one below 1"):
            job.store(1)
        with pytest.raises(thalweg.InputError, match="data shard -1: expected 0 at least"):
            job.store(-1)
    with pytest.raises(RuntimeError, match="closed"):
        store.pull("w", [1])
    assert issubclass(thalweg.JobError, RuntimeError)
