"""Trains Thalweg's deepfm (rank 8, layers 64,32) by PyTorch on rows of `thalweg data synth --format libffm`, ids hashed to 20 bits;
prints rows a second of all ranks together.

deepfm.py RANK RANKS THREADS BATCH STEPS STORE   STORE: a file that does not exist, where the ranks meet
"""
import os
import sys
import time

rank, ranks, threads, batch, steps = map(int, sys.argv[1:6])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
os.environ["OMP_WAIT_POLICY"] = "passive"
import numpy  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

FIELDS, RANK, IDS = 39, 8, 1 << 20
WARM_UP_STEPS = 5


def read():
    """Labels, and the id of each field."""
    labels, ids = [], []
    with open(os.environ["ROWS"], encoding="ascii") as rows:
        for number, line in enumerate(rows):
            if number % ranks != rank:
                continue
            words = line.split()
            labels.append(float(words[0]) > 0)
            ids.append([int(word.split(":")[1]) for word in words[1:]])
            if len(ids) == (WARM_UP_STEPS + steps) * batch:
                break
    hashed = numpy.array(ids, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15) >> numpy.uint64(44)
    return torch.tensor(labels, dtype=torch.float32), torch.from_numpy(hashed.astype(numpy.int64))


class DeepFm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights, self.factors = nn.Embedding(IDS, 1, sparse=True), nn.Embedding(IDS, RANK, sparse=True)
        nn.init.zeros_(self.weights.weight), nn.init.normal_(self.factors.weight, std=0.02)
        self.bias = nn.Parameter(torch.zeros(1))
        inputs = FIELDS * RANK
        self.layers = nn.Sequential(nn.LayerNorm(inputs, elementwise_affine=False), nn.Linear(inputs, 64), nn.ReLU(),
                                    nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids):
        factors = self.factors(ids)
        pairs = (factors.sum(1).square() - factors.square().sum(1)).sum(1) / 2
        return self.bias + self.weights(ids).sum((1, 2)) + pairs + self.layers(factors.flatten(1)).squeeze(1)


torch.set_num_threads(threads)
torch.manual_seed(1)
labels, ids = read()
model = DeepFm()
if ranks > 1:
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[6]}", rank=rank, world_size=ranks)
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
loss_of = nn.BCEWithLogitsLoss()
begin = 0.0
for step in range(WARM_UP_STEPS + steps):
    if step == WARM_UP_STEPS:
        begin = time.perf_counter()
    rows = slice(step * batch, (step + 1) * batch)
    optimizer.zero_grad()
    loss_of(model(ids[rows]), labels[rows]).backward()
    optimizer.step()
if rank == 0:
    print(ranks * steps * batch / (time.perf_counter() - begin))
