"""Ranks that combine and move arrays together: all-reduce and its kin."""

from __future__ import annotations

import contextlib
import math
from numbers import Real
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from . import _core
from ._errors import InputError
from ._keys import keys_of
from ._whole import floats, refuse_masked, seconds, seconds_or_none, whole

Work = _core.Work


class Group:
    """This rank's membership in a group of ranks, among threads, processes or machines.

    All ranks call the same operations in the same order. Arrays are numpy's, or of any library that speaks DLPack, such
    as tensors of PyTorch in main memory, and are worked on where they lie: contiguous, of float16, bfloat16, float32,
    float64, int32, int64 or uint64. With `wait=False` an operation is started, and `Work.wait()` ends it; started ones
    match started ones. `op` is "sum", "mean", "min", "max", "product", "and", "or" or "reproducible-sum"; `route` a name
    of docs/exchange.md, by default the group chooses.

    After an error that is no ValueError, nor of code "RETRY", a group can only regroup().
    """

    def __init__(self, core: _core.Group) -> None:
        self._core = core

    @classmethod
    def join(cls, rank: Optional[int] = None, size: Optional[int] = None, *, master: Optional[str] = None,
             transport: str = "", timeout: Optional[float] = None, name: Optional[str] = None) -> "Group":
        """Blocks until all ranks have joined. What is None is as `thalweg run`, torchrun, mpirun or srun say in the
        environment; without any of them the group is one of one. master: "host:port", where rank 0 listens."""
        for word, number in (("rank", rank), ("size", size)):
            if number is not None:
                whole(number, word, 0, 2**32)
        for word, text in (("transport", transport), ("name", name)):
            if text is not None and not isinstance(text, str):
                raise InputError(f"{word} {text!r}: expected a string", "USAGE")
        host, port = (None, None) if master is None else _address(master)
        return cls(_core.Group.join(rank, size, host, port, transport or "", seconds_or_none(timeout), name))

    @classmethod
    def in_process(cls, size: int, timeout: float = 60.0) -> list["Group"]:
        """Ranks 0 to size - 1 for as many threads of this process."""
        whole(size, "size", 1, 2**32)
        return [cls(core) for core in _core.Group.in_process(size, seconds(timeout))]

    @property
    def rank(self) -> int:
        return self._core.rank

    @property
    def size(self) -> int:
        return self._core.size

    @property
    def bytes_sent(self) -> int:
        """By this rank's operations so far, without headers."""
        return self._core.bytes_sent

    def part(self, count: int, rank: Optional[int] = None) -> slice:
        """The part of `count` elements that belongs to a rank, by default to this one."""
        whole(count, "count", 0, 2**63)
        if rank is not None:
            whole(rank, "rank", 0, self.size)
        begin, size = self._core.part(count, self.rank if rank is None else rank)
        return slice(begin, begin + size)

    def all_reduce(self, data: Any, out: Any = None, *, op: str = "sum", wait: bool = True, **how: Any) -> Any:
        """On every rank the combination of all ranks' data, in `out` or in place; returns it, or a Work."""
        out = data if out is None else out
        return self._call("all_reduce", data, out, out, wait, reduction=op, **how)

    def weighted_mean(self, data: Any, weight: float) -> Any:
        """In place the mean of all ranks' data by their weights."""
        if not isinstance(weight, Real):
            raise InputError(f"weight {weight!r}: expected a number", "USAGE")
        with _clear_errors(data, data):
            self._core.weighted_mean(data, weight)
        return data

    def reduce(self, data: Any, out: Any = None, *, root: int = 0, op: str = "sum", wait: bool = True,
               **how: Any) -> Any:
        """At `root` the combination of all ranks' data, in `out` or in place; other ranks need no `out`."""
        if self.rank == root and out is None:
            out = data
        return self._call("reduce", data, out, out, wait, reduction=op, root=root, **how)

    def reduce_scatter(self, data: Any, out: Any, *, op: str = "sum", counts: Sequence[int] = (), wait: bool = True,
                       **how: Any) -> Any:
        """In `out` this rank's part of the combination, or as many elements as `counts` says;
        data[group.part(len(data))] makes it in place."""
        return self._call("reduce_scatter", data, out, out, wait, reduction=op, counts=list(counts), **how)

    def all_gather(self, data: Any, out: Any, *, counts: Sequence[int] = (), wait: bool = True, **how: Any) -> Any:
        """In `out` all ranks' data, in their order; each has its part of `out`, or as many elements as `counts` says."""
        return self._call("all_gather", data, out, out, wait, counts=list(counts), **how)

    def broadcast(self, data: Any, *, root: int = 0, wait: bool = True, **how: Any) -> Any:
        """Everywhere what `root` has in `data`."""
        return self._call("broadcast", data, data, data, wait, root=root, **how)

    def gather(self, data: Any, out: Any = None, *, root: int = 0, counts: Sequence[int] = (), wait: bool = True,
               **how: Any) -> Any:
        """At `root` all ranks' data, of equal sizes or those of `counts`, in `out`."""
        return self._call("gather", data, out, out, wait, root=root, counts=list(counts), **how)

    def scatter(self, data: Any, out: Any, *, root: int = 0, counts: Sequence[int] = (), wait: bool = True,
                **how: Any) -> Any:
        """In `out` this rank's part, equal ones or those of `counts`, of the root's data, which is None elsewhere."""
        return self._call("scatter", data, out, out, wait, root=root, counts=list(counts), **how)

    def all_to_all(self, data: Any, out: Any, *, counts: Sequence[int] = (), counts_out: Sequence[int] = (),
                   wait: bool = True, **how: Any) -> Any:
        """Sends the r-th part of `data` to rank r; `out` is what all ranks sent here. Parts are equal, or `counts[r]`
        elements for rank r and `counts_out[r]` from it."""
        return self._call("all_to_all", data, out, out, wait, counts=list(counts), counts_out=list(counts_out), **how)

    def barrier(self, *, wait: bool = True, **how: Any) -> Any:
        """Nobody leaves before all have come."""
        return self._call("barrier", None, None, None, wait, **how)

    def send(self, data: Any, to: int, *, wait: bool = True, **how: Any) -> Any:
        """To a rank that calls receive()."""
        return self._call("point_to_point", data, None, None, wait, root=self.rank, peer=to, **how)

    def receive(self, out: Any, source: int, *, wait: bool = True, **how: Any) -> Any:
        """From a rank that calls send() with as many elements."""
        return self._call("point_to_point", None, out, out, wait, root=source, peer=self.rank, **how)

    def exchange_with(self, neighbours: Sequence[int], data: Any, out: Any, *, wait: bool = True, **how: Any) -> Any:
        """Sends `data` to each of `neighbours`, which name this rank too: `out` is theirs, one behind the other."""
        return self._call("exchange_with", data, out, out, wait, neighbours=list(neighbours), **how)

    def all_reduce_sparse(self, keys: Any, rows: Any, *, op: str = "sum") -> tuple[np.ndarray, np.ndarray]:
        """The union of all ranks' keys, which ascend, and the sum, or mean, of the rows that each rank has of them."""
        if op not in ("sum", "mean"):
            raise InputError(f"op '{op}' of sparse rows; expected sum or mean", "USAGE")
        keys = keys_of(keys)
        rows = floats(rows, "rows")
        if len(keys) == 0 and rows.ndim != 2:
            raise InputError(f"rows of shape {rows.shape} for no keys: expected (0, floats of a row)", "USAGE")
        if rows.ndim == 0 or len(rows) != len(keys):
            raise InputError(f"rows of shape {rows.shape}: expected one for each of {len(keys)} keys", "USAGE")
        return self._core.all_reduce_sparse(keys, rows.reshape(len(keys), -1) if len(keys) else rows, op == "mean")

    def split(self, colour: int, key: int = 0) -> Optional["Group"]:
        """Groups of the ranks that give the same colour, by `key` and rank; None for a negative colour."""
        whole(colour, "colour", -2**31, 2**31)
        whole(key, "key", -2**63, 2**63)
        core = self._core.split(colour, key)
        return None if core is None else Group(core)

    def regroup(self) -> "Group":
        """After a failure: the group anew, without the ranks that are lost."""
        return Group(self._core.regroup())

    def allocate(self, shape: Any, dtype: Any = np.float32) -> np.ndarray:
        """Zeros in memory that ranks of one machine share, so that large operations on it copy less."""
        dtype, sizes = np.dtype(dtype), shape if isinstance(shape, (tuple, list)) else (shape,)
        for size in sizes:
            whole(size, "a size of shape", 0, 2**63)
        count = math.prod(sizes)
        if dtype.hasobject or count * dtype.itemsize >= 2**63:
            raise InputError(f"shape {shape} of {dtype}: expected numbers that fit memory", "USAGE")
        return self._core.allocate(max(1, count) * dtype.itemsize).view(dtype)[:count].reshape(shape)

    def _call(self, operation: str, data: Any, out: Any, result: Any, wait: bool, **words: Any) -> Any:
        call = _call_words(words)
        with _clear_errors(data, out):
            if not wait:
                return self._core.start(operation, data, out, call)
            self._core.run(operation, data, out, call)
        return result


def _address(master: str) -> tuple[Optional[str], int]:
    host, colon, port = str(master).rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise InputError(f"master '{master}': expected HOST:PORT", "USAGE")
    return host.strip("[]") or None, int(port)


_TUNING = ("route", "piece_bytes", "channels", "timeout")
_OWN = ("reduction", "root", "peer", "counts", "counts_out", "neighbours")


def _call_words(words: dict[str, Any]) -> _core.CallWords:
    words = {name: value for name, value in words.items() if value is not None}
    for name, value in words.items():
        if name not in _OWN + _TUNING:
            raise InputError(f"'{name}' is no argument; expected {', '.join(_TUNING)}", "USAGE")
        if name in ("root", "peer", "channels", "piece_bytes"):
            whole(value, name, 0, 2**63 if name == "piece_bytes" else 2**32)
        elif name in ("counts", "counts_out", "neighbours"):
            for number in value:
                whole(number, f"one of {name}", 0, 2**32 if name == "neighbours" else 2**63)
        elif not isinstance(value, Real if name == "timeout" else str):
            shown = "op" if name == "reduction" else name
            raise InputError(f"{shown} {value!r}: expected a {'number' if name == 'timeout' else 'name'}", "USAGE")
    return _core.CallWords(**words)


@contextlib.contextmanager
def _clear_errors(data: Any, out: Any) -> Iterator[None]:
    """Says what is wrong with arrays that the core does not take, or would not take as they are."""
    for name, array in (("data", data), ("out", out)):
        refuse_masked(array, name)
        if getattr(array, "is_neg", bool)():  # DLPack would give what it is the negative of.
            raise InputError(f"{name}: PyTorch's view of the negative of other memory; expected .resolve_neg() of it", "USAGE")
    try:
        yield
    except TypeError:
        raise InputError(_why_refused(data, out), "USAGE") from None


def _why_refused(data: Any, out: Any) -> str:
    for name, array in (("data", data), ("out", out)):
        known = hasattr(array, "__dlpack__") or hasattr(array, "__array_interface__")
        if array is not None and not known:
            return f"{name}: a {type(array).__name__}; expected an array of numpy's, or one that speaks DLPack"
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        return "the array for the result is read-only; expected one that may be written to"
    kinds = " and ".join(str(getattr(array, "dtype", type(array).__name__)) for array in (data, out) if array is not None)
    return f"arrays of {kinds}: expected such in main memory, of numbers, which may be written to where results go"
