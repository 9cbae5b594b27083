"""PyTorch by groups and by a parameter server."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="python3-torch is not installed")

from ranks import on_ranks  # noqa: E402
from thalweg import InputError, Job, Table  # noqa: E402
from thalweg.torch import KVStore, all_reduce_hook, average_gradients, broadcast_parameters  # noqa: E402


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64])
def test_tensors_are_reduced_where_they_lie(dtype):
    def program(group):
        tensor = torch.full((3, 5), group.rank + 1, dtype=dtype)
        assert group.all_reduce(tensor) is tensor
        return tensor

    assert all((tensor == 3).all() for tensor in on_ranks(2, program))


def test_modules_train_alike():
    def program(group):
        module = torch.nn.Linear(4, 2)
        broadcast_parameters(module, group)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        inputs = torch.arange(8.0).reshape(2, 4)[group.rank : group.rank + 1] / 8
        for _ in range(5):
            optimizer.zero_grad()
            module(inputs).square().sum().backward()
            average_gradients(module, group)
            optimizer.step()
        return module.weight.detach().clone()

    first, second = on_ranks(2, program)
    assert torch.equal(first, second)


def test_any_number_of_gradients_is_averaged():
    def program(group):
        module = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(50)])
        module[3].weight.requires_grad = False
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.full_like(parameter, group.rank)
        average_gradients(module, group)
        assert module[3].weight.grad is None
        return all((parameter.grad == 0.5).all() for parameter in module.parameters() if parameter.requires_grad)

    assert all(on_ranks(2, program))


def test_any_number_of_buckets_is_under_way():
    class Bucket:
        def __init__(self, rank):
            self.tensor = torch.full((1000,), float(rank))

        def buffer(self):
            return self.tensor

    def program(group):
        hook = all_reduce_hook(group)
        futures = [hook(None, Bucket(group.rank)) for _ in range(200)]
        return all((future.wait() == 0.5).all() for future in futures)

    assert all(on_ranks(2, program))


def test_what_cannot_be_exchanged_is_refused_in_words():
    def program(group):
        module = torch.nn.Embedding(5, 2, sparse=True)
        module(torch.tensor([1])).sum().backward()
        average_gradients(module, group)

    with pytest.raises(InputError, match="the gradient of weight is sparse"):
        on_ranks(2, program)
    with Job([Table("items")]) as job:
        for ids, text in (([1], "ids: a list; expected a tensor"), (torch.tensor([1.5]), "ids of torch.float32"), (torch.tensor([-1]), "key -1")):
            with pytest.raises(InputError, match=text):
                KVStore(job.store()).pull("items", ids)


def test_lazy_negatives_have_their_sign():
    def negative(group, shape):
        return torch._neg_view(torch.full(shape, -1.0 - group.rank))

    def program(group):
        with pytest.raises(InputError, match="data: PyTorch's view of the negative .*; expected .resolve_neg"):
            group.all_reduce(negative(group, (2,)), op="max")
        with pytest.raises(InputError, match="out: PyTorch's view"):
            group.all_gather(torch.ones(1), negative(group, (2,)))
        module = torch.nn.Linear(2, 2)
        module.weight.grad = negative(group, (2, 2))
        module.register_buffer("more", negative(group, (3,)))
        average_gradients(module, group)
        broadcast_parameters(module, group, root=1)
        return module.weight.grad.tolist(), module.more.tolist(), group.all_reduce(negative(group, (2,)).resolve_neg(), op="max").tolist()

    assert on_ranks(2, program) == [([[1.5, 1.5]] * 2, [2, 2, 2], [2, 2])] * 2
    with Job([Table("items", dim=2)]) as job:
        kv = KVStore(job.store())
        kv.push("items", torch.tensor([1]), torch._neg_view(torch.full((1, 2), -3.0)))
        kv.step()
        assert kv.pull("items", torch.tensor([1])).tolist() == [[3, 3]]


def test_buffers_of_any_type_are_broadcast():
    dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.complex64, torch.int64]

    def program(group):
        module = torch.nn.BatchNorm1d(3)
        for at, dtype in enumerate(dtypes):
            module.register_buffer(f"more{at}", torch.tensor([[1, 0, 1], [at, 1, 7]]).to(dtype) * (group.rank + 1))
        module.register_buffer("flag", torch.tensor(group.rank == 1))
        module.register_buffer("none", torch.zeros(0, dtype=torch.bool))
        module.register_buffer("turned", (torch.arange(6, dtype=torch.uint8).reshape(2, 3) + group.rank).t())
        broadcast_parameters(module, group, root=1)
        return module.state_dict()

    first, second = on_ranks(2, program)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert first["flag"].item() is True and first["turned"][0].tolist() == [1, 4]
    assert first["more2"].tolist() == [[2, 0, 2], [4, 2, 14]]


def test_rows_of_tables_have_gradients():
    with Job([Table("items", dim=3, rule="sgd", numbers={"rate": 0.5})]) as job:
        kv = KVStore(job.store())
        ids = torch.tensor([[7, 7], [2, 9]])
        rows = kv.lookup("items", ids)
        assert rows.shape == (2, 2, 3) and not rows.detach().any()
        more = kv.lookup("items", torch.tensor([2]))
        (rows.sum() + 3 * more.sum()).backward()
        kv.step()
        pulled = kv.pull("items", torch.tensor([7, 2, 9, 1]))
        assert pulled[:, 0].tolist() == [-1, -2, -0.5, 0]
        kv.push("items", torch.tensor([1]), torch.ones(1, 3, dtype=torch.bfloat16))
        kv.step()
        assert kv.pull("items", torch.tensor([1])).tolist() == [[-0.5] * 3]
        none = torch.zeros(0, dtype=torch.int64)
        for ids in (none,), (none, torch.tensor([1])):  # Of batches without rows, alone and beside others.
            sum(kv.lookup("items", some).sum() for some in ids).backward()
            kv.step()
        kv.push("items", none, torch.zeros(0, 3, dtype=torch.bfloat16))
        kv.step()
        assert kv.pull("items", torch.tensor([1])).tolist() == [[-1] * 3]


DDP = """
import os, sys, torch, torch.distributed, thalweg
from thalweg.torch import all_reduce_hook
rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[3], rank=rank, world_size=2)
group = thalweg.Group.join(rank, 2, master=sys.argv[2], timeout=30)
def train(hooked):
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3)), bucket_cap_mb=0.001)
    if hooked:
        model.register_comm_hook(None, all_reduce_hook(group))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.randn(8, 20, generator=torch.Generator().manual_seed(rank))
    for _ in range(10):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
    return torch.cat([p.detach().ravel() for p in model.parameters()])
own, theirs = train(True), train(False)
assert group.bytes_sent > 0 or rank == 1
assert torch.allclose(own, theirs, atol=1e-6), (own - theirs).abs().max()
print("same")
"""


def test_the_hook_of_ddp_gives_what_gloo_gives(tmp_path, free_address):
    if not torch.distributed.is_available():
        pytest.skip("this PyTorch is built without torch.distributed")
    ranks = [subprocess.Popen([sys.executable, "-c", DDP, str(rank), free_address, str(tmp_path / "meet")],
                              stdout=subprocess.PIPE, text=True) for rank in range(2)]
    assert [rank.communicate(timeout=120)[0] for rank in ranks] == ["same\n", "same\n"]
