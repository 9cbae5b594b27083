"""PyTorch: gradients by a group's routes, and rows of large tables by a parameter server.

All goes through DLPack, so that any version of PyTorch will do; tensors are in main memory.
"""

from __future__ import annotations

import collections
import queue
import threading
from typing import Any, Callable, Optional

import numpy as np
import torch

from ._errors import InputError
from ._group import Group, Work
from ._job import Store

# Gradients that are exchanged at a time: as many as a group has channels for, and half of what it takes.
_UNDER_WAY = 32
_MOVED = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64)

__all__ = ["KVStore", "all_reduce_hook", "average_gradients", "broadcast_parameters"]


def broadcast_parameters(module: torch.nn.Module, group: Group, root: int = 0) -> None:
    """Everywhere the parameters and buffers that `root` has."""
    for tensor in list(module.parameters()) + list(module.buffers()):
        _in_place(tensor.data, lambda data: _broadcast(data, group, root))


def _broadcast(whole: torch.Tensor, group: Group, root: int) -> None:
    if whole.numel() == 0:
        return
    if whole.dtype in _MOVED:
        group.broadcast(whole, root=root)
        return
    bytes_ = whole.reshape(-1).view(torch.uint8)  # Groups have no type of their own for these.
    wide = bytes_.to(torch.int32)
    group.broadcast(wide, root=root)
    bytes_.copy_(wide)


def average_gradients(module: torch.nn.Module, group: Group, **how: Any) -> None:
    """Everywhere the mean of all ranks' gradients: between backward() and the optimizer's step, without DDP.

    Of parameters that require none nothing is exchanged."""
    works: collections.deque[Work] = collections.deque()
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if parameter.grad.is_sparse:
            raise InputError(f"the gradient of {name} is sparse; expected a dense one", "USAGE")
        parameter.grad = parameter.grad.contiguous().resolve_neg()
        if len(works) == _UNDER_WAY:
            works.popleft().wait()
        works.append(group.all_reduce(parameter.grad, op="mean", wait=False, **how))
    for work in works:
        work.wait()


def _in_place(tensor: torch.Tensor, call: Callable[[torch.Tensor], Any]) -> None:
    whole = tensor.contiguous().resolve_neg()
    call(whole)
    if whole is not tensor:
        tensor.copy_(whole)


class _Waiter:
    """Ends started operations in their order and tells futures; a thread that lives as long as its hook."""

    def __init__(self) -> None:
        self._begun: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._room = threading.Semaphore(_UNDER_WAY)
        threading.Thread(target=self._run, args=(self._begun, self._room), daemon=True).start()

    def start(self, call: Callable[[], Work], tensor: torch.Tensor) -> torch.futures.Future:
        """Waits while too many are under way."""
        future: torch.futures.Future = torch.futures.Future()
        self._room.acquire()
        try:
            self._begun.put((call(), tensor, future))
        except BaseException:
            self._room.release()
            raise
        return future

    def __del__(self) -> None:
        self._begun.put(None)

    @staticmethod
    def _run(begun: Any, room: threading.Semaphore) -> None:
        for work, tensor, future in iter(begun.get, None):
            try:
                work.wait()
            except Exception as error:
                room.release()
                future.set_exception(error)
            else:
                room.release()
                future.set_result(tensor)
            del work, tensor, future


def all_reduce_hook(group: Group, **how: Any) -> Callable[[Any, Any], torch.futures.Future]:
    """A communication hook for DistributedDataParallel: buckets of gradients become their mean by the group's routes,
    while backward() goes on.

    model.register_comm_hook(None, all_reduce_hook(group)); `how` may name a route, as Group.all_reduce.
    """
    waiter = _Waiter()

    def hook(state: Any, bucket: Any) -> torch.futures.Future:
        tensor = bucket.buffer()
        return waiter.start(lambda: group.all_reduce(tensor, op="mean", wait=False, **how), tensor)

    # DDP looks at these, and does not resolve the names that annotations of this file are.
    hook.__annotations__ = {"bucket": torch.distributed.GradBucket, "return": torch.futures.Future[torch.Tensor]}
    return hook


class KVStore:
    """Rows of a job's tables as tensors, with gradients: embeddings larger than a module should hold.

    rows = kv.lookup("items", ids)     # A row for each id, which may repeat; requires grad.
    loss(rows, ...).backward()
    kv.step()                          # Pushes the gradients; the tables' rules apply them.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._looked_up: dict[str, list[tuple[np.ndarray, torch.Tensor]]] = {}

    def pull(self, table: str, ids: torch.Tensor) -> torch.Tensor:
        """A row for each id, of shape (*ids.shape, dim)."""
        rows = self.store.pull(table, _ids(ids))
        return torch.from_dlpack(rows).reshape(*ids.shape, rows.shape[1])

    def push(self, table: str, ids: torch.Tensor, grads: torch.Tensor) -> None:
        """Adds gradients to the step, once a table and step."""
        keys = _ids(ids)
        self.store.push(table, keys, _rows(grads, len(keys)))

    def lookup(self, table: str, ids: torch.Tensor) -> torch.Tensor:
        """pull(), and step() pushes what backward() leaves in the tensor's grad."""
        rows = self.pull(table, ids).requires_grad_()
        self._looked_up.setdefault(table, []).append((_ids(ids), rows))
        return rows

    def step(self, timeout: Optional[float] = None) -> None:
        """Pushes the gradients of all that was looked up since the last step, and ends the step."""
        looked_up, self._looked_up = self._looked_up, {}
        for table, lookups in looked_up.items():
            used = [(keys, _rows(rows.grad, len(keys))) for keys, rows in lookups if rows.grad is not None and len(keys)]
            if used:
                keys, grads = zip(*used)
                self.store.push(table, np.concatenate(keys), np.concatenate(grads), timeout)
        self.store.advance(timeout)


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:  # Which numpy has not.
        tensor = tensor.to(torch.float32)
    return np.from_dlpack(tensor.detach().contiguous().resolve_neg())


def _rows(tensor: torch.Tensor, count: int) -> np.ndarray:
    rows = _numpy(tensor)
    width = rows.shape[-1] if rows.ndim > 1 and rows.size != count else -1
    if width > 0 and rows.size != count * width:
        raise InputError(f"gradients of shape {tuple(rows.shape)} for {count} ids; expected a row for each id", "USAGE")
    return rows.reshape(count, width) if count else rows


def _ids(ids: torch.Tensor) -> np.ndarray:
    if not isinstance(ids, torch.Tensor):
        raise InputError(f"ids: a {type(ids).__name__}; expected a tensor", "USAGE")
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise InputError(f"ids of {ids.dtype}; expected whole numbers", "USAGE")
    return _numpy(ids.to(torch.int64)).ravel()
