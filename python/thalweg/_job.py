"""Parameters that threads of a training loop of your own push gradients to and pull rows from."""

from __future__ import annotations

import dataclasses
import threading
from numbers import Real
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._errors import InputError
from ._keys import keys_of
from ._whole import floats, seconds, seconds_or_none, whole

_MOST = 1024  # Servers, threads, and data shards, each of which is a worker here.
Keys = Union[np.ndarray, Sequence[int], range, None]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table maps a key to a row of `dim` floats, and `rule` applies what is pushed to it.

    Without `rows` it takes any key below 2^64-1 and grows when one is first pushed; with `rows` it is dense, and its
    keys are 0 to rows - 1. Rules are "add", "sgd", "adagrad", "ftrl", "adam" and the others of docs/optimizers.md;
    `numbers` are theirs: rate, l1, l2, momentum, beta1, beta2, epsilon, initial_accumulator.
    A row begins as `init` says: "zero", "uniform" (in [-scale, scale)), "normal" or "constant".

    Keys of a call come in any order and may repeat. Of a dense table a call carries all rows between the least and the
    greatest key, so that those pushed must leave out none between them.
    """

    name: str
    dim: int = 1
    rows: int = 0
    rule: str = "add"
    numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)
    init: str = "zero"
    scale: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for word in ("name", "rule", "init"):
            if not isinstance(getattr(self, word), str):
                raise InputError(f"{word} {getattr(self, word)!r} of a table: expected a string", "USAGE")
        named = self.numbers.items() if isinstance(self.numbers, Mapping) else [("", self.numbers)]
        for name, number in [*named, ("scale", self.scale)]:
            if not isinstance(name, str) or not isinstance(number, Real):
                which = f"{name}=" if name else "numbers="
                raise InputError(f"{which}{number!r} of table {self.name}: expected a number"
                                 f"{'' if name else ' for each of some names'}", "USAGE")
        whole(self.dim, f"dim of table {self.name}", 1, 2**32)
        whole(self.rows, f"rows of table {self.name}", 0, 2**64)
        whole(self.seed, f"seed of table {self.name}", 0, 2**64)


class Store:
    """One data shard's calls. One thread at a time has a turn; threads with different shards run side by side.

    Each call returns when it is done, without the GIL meanwhile, and raises TimeoutError after `timeout` seconds, or
    the job's: a push is under way then all the same, and must not be repeated. So it is after Ctrl-C, which the call of
    the main thread sees within a tenth of a second.
    """

    def __init__(self, job: "Job", shard: int) -> None:
        self._job = job
        self._shard = job._core.shard(shard)

    @property
    def shard(self) -> int:
        return self._shard.shard

    @property
    def step(self) -> tuple[int, int]:
        """Epoch, and step within it, that the next push and pull belong to."""
        return self._shard.step

    def push(self, table: Union[str, int], keys: Keys, grads: Any, timeout: Optional[float] = None) -> None:
        """Adds a row of gradients for each key to the step; those of a repeated key add up. Once a table and step."""
        self._shard.push(self._job._table(table), _keys(keys, self._job, table), floats(grads, "gradients"),
                         seconds_or_none(timeout))

    def pull(self, table: Union[str, int], keys: Keys = None, timeout: Optional[float] = None) -> np.ndarray:
        """A row for each key, in the order of `keys`; without keys all rows of a dense table."""
        return self._shard.pull(self._job._table(table), _keys(keys, self._job, table), False, seconds_or_none(timeout))

    def read(self, table: Union[str, int], keys: Keys = None, timeout: Optional[float] = None) -> np.ndarray:
        """As pull(), for looking only: nothing that is pushed depends on it."""
        return self._shard.pull(self._job._table(table), _keys(keys, self._job, table), True, seconds_or_none(timeout))

    def push_pull(self, table: Union[str, int], keys: Keys, grads: Any,
                  timeout: Optional[float] = None) -> np.ndarray:
        """push(), advance(), then pull() of the same keys in the next step, in one round trip."""
        return self._shard.push_pull(self._job._table(table), _keys(keys, self._job, table), floats(grads, "gradients"),
                                     seconds_or_none(timeout))

    def advance(self, timeout: Optional[float] = None) -> None:
        """Ends the step."""
        self._shard.advance(seconds_or_none(timeout))

    def end_epoch(self, timeout: Optional[float] = None) -> None:
        self._shard.end_epoch(seconds_or_none(timeout))

    def end_work(self, timeout: Optional[float] = None) -> None:
        """Nothing more comes from this shard, and no step of others waits for it; their barriers do."""
        self._shard.end_work(seconds_or_none(timeout))

    def barrier(self, epoch: int, index: int = 0, timeout: Optional[float] = None) -> None:
        """Returns when every data shard has come to this barrier, also those whose work has ended."""
        whole(epoch, "epoch", 0, 2**32)
        whole(index, "index", 0, 2**32)
        self._shard.barrier(epoch, index, seconds_or_none(timeout))


class Job:
    """A parameter server inside this process: scheduler, servers and tables, used by data shards.

    With consistency "sync" the rows' bits depend on data_shards alone; "bounded:N" lets a shard lead by N steps, and
    "async" by any number (docs/consistency.md).

    >>> with Job([Table("weights", rule="sgd", numbers={"rate": 0.1})]) as job:
    ...     store = job.store(0)
    ...     store.push("weights", [7, 7, 3], [[1.0], [1.0], [5.0]])
    ...     store.advance()
    ...     store.pull("weights", [3, 7]).tolist()
    [[-0.5], [-0.20000000298023224]]
    """

    def __init__(self, tables: Sequence[Table], *, data_shards: int = 1, servers: int = 1,
                 consistency: str = "sync", threads: int = 2, timeout: float = 60.0) -> None:
        if isinstance(tables, (str, Table)) or not isinstance(tables, Iterable):
            raise InputError(f"tables {tables!r}: expected a list of thalweg.Table", "USAGE")
        self._tables = list(tables)
        for at, table in enumerate(self._tables):
            if not isinstance(table, Table):
                raise InputError(f"tables[{at}] {table!r}: expected a thalweg.Table", "USAGE")
        if not self._tables:
            raise InputError("a job without tables; expected one at least", "USAGE")
        self._names = {table.name: at for at, table in enumerate(self._tables)}
        kind, _, bound = str(consistency).partition(":")
        steps = kind == "bounded" and bound.isascii() and bound.isdigit() and int(bound) < 2**32
        if not steps and consistency not in ("sync", "async"):
            raise InputError(f"consistency '{consistency}': expected sync, bounded:N or async", "USAGE")
        for name, number in (("data_shards", data_shards), ("servers", servers)):
            whole(number, name, 1, _MOST + 1)
        whole(threads, "threads", 0, _MOST + 1)
        specs = [_core.table_spec(**dataclasses.asdict(table)) for table in self._tables]
        self._core = _core.Job.start(specs, servers, data_shards, kind, int(bound or 0), threads,
                                     seconds(timeout))
        self.data_shards = data_shards
        self._work_ended = False

    def store(self, shard: int = 0) -> Store:
        """The calls of a data shard."""
        whole(shard, "data shard", 0, self.data_shards)
        return Store(self, shard)

    def run(self, program: Callable[[Store], None]) -> None:
        """Calls `program` with each data shard's store, a thread each, and then ends the shard's work, so once a job.

        Raises what the first of them raised that did; the calls of all others raise RuntimeError from then on, and so do
        those of all after Ctrl-C, whichever each makes next. What has been applied can be scanned then.
        """
        if self._work_ended:
            raise InputError("the shards have ended their work: a Job runs once; make another", "USAGE")
        thrown: list[BaseException] = []
        stopped = threading.Event()

        # Of each program; Thread.join() forgets threads that run on when a signal ends it (python/cpython#90882).
        over = [threading.Event() for _ in range(self.data_shards)]

        def work(shard: int) -> None:
            try:
                if stopped.is_set():
                    return
                store = self.store(shard)
                program(store)
                store.end_work()
            except BaseException as error:
                thrown.append(error)
                self._core.stop_calls(True)  # Of others, which may wait for what this shard would have brought.
            finally:
                self._work_ended = True
                over[shard].set()

        workers = [threading.Thread(target=work, args=(shard,)) for shard in range(self.data_shards)]
        try:
            for worker in workers:
                worker.start()
            for event in over:
                _wait(event)
        except BaseException:
            stopped.set()
            self._core.stop_calls(True)
            for worker, event in zip(workers, over):
                if worker.ident is not None:
                    _wait(event)
            raise
        finally:
            self._core.stop_calls(False)
        if thrown:
            raise thrown[0]

    def scan(self, table: Union[str, int]) -> tuple[np.ndarray, np.ndarray]:
        """All stored keys of a table and their rows."""
        return self._core.scan(self._table(table))

    @property
    def stored(self) -> tuple[int, int]:
        """Rows of all tables, and their bytes."""
        return self._core.stored()

    def close(self) -> None:
        """Ends the job: calls under way and later ones raise RuntimeError."""
        self._core.close()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _table(self, table: Union[str, int]) -> int:
        if isinstance(table, str):
            if table not in self._names:
                raise InputError(f"no table is named '{table}'; there are {', '.join(self._names)}", "USAGE")
            return self._names[table]
        whole(table, "table", 0, len(self._tables))
        return table


def _wait(event: threading.Event) -> None:
    """A signal that comes just before a wait does not end it, so that none is long."""
    while not event.wait(0.1):
        pass


def _keys(keys: Keys, job: Job, table: Union[str, int]) -> Any:
    if keys is None:
        rows = job._tables[job._table(table)].rows
        if rows == 0:
            raise InputError(f"keys are missing: table {table} is not dense", "USAGE")
        return (0, rows)
    if isinstance(keys, range):
        if len(keys) and min(keys[0], keys[-1]) < 0:
            raise InputError(f"key {min(keys[0], keys[-1])}: expected none below 0", "USAGE")
        if keys.step == 1 and job._tables[job._table(table)].rows:
            return (keys.start if keys else 0, len(keys))
        large = len(keys) and max(keys[0], keys[-1]) >= 2**63  # For which arange has floats.
        keys = list(keys) if large else np.arange(keys.start, keys.stop, keys.step)
    return keys_of(keys)
