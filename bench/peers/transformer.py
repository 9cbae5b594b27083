"""Trains Thalweg's gpt (4 layers, width 128, 4 heads, 128 bytes) by PyTorch; prints tokens a second of all ranks together.

transformer.py RANK RANKS THREADS BATCH STEPS STORE   STORE: a file that does not exist, where the ranks meet
"""
import os
import sys
import time

rank, ranks, threads, batch, steps = map(int, sys.argv[1:6])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
os.environ["OMP_WAIT_POLICY"] = "passive"
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

LAYERS, WIDTH, HEADS, CONTEXT, BYTES = 4, 128, 4, 128, 256
WARM_UP_STEPS = 3
torch.set_num_threads(threads)
torch.manual_seed(1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.all, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1))

    def forward(self, x):
        rows = len(x)
        q, k, v = (part.view(rows, CONTEXT, HEADS, -1).transpose(1, 2) for part in self.all(x).split(WIDTH, 2))
        scores = q @ k.transpose(2, 3) * (WIDTH // HEADS) ** -0.5 + self.mask
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, CONTEXT, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_inner = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.inner = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.inner(self.before_inner(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes, self.places = nn.Embedding(BYTES, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.last = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

    def forward(self, text):
        x = self.blocks(self.bytes(text) + self.places.weight)
        return functional.linear(self.last(x), self.bytes.weight)


with open(os.environ["TEXT"], "rb") as file:
    text = torch.tensor(list(file.read()), dtype=torch.int64)
windows = text[:len(text) // (CONTEXT + 1) * (CONTEXT + 1)].view(-1, CONTEXT + 1)[rank::ranks]
model = Transformer()
if ranks > 1:
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[6]}", rank=rank, world_size=ranks)
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
begin = 0.0
for step in range(WARM_UP_STEPS + steps):
    if step == WARM_UP_STEPS:
        begin = time.perf_counter()
    at = step * batch % (len(windows) - batch)
    rows = windows[at:at + batch]
    optimizer.zero_grad()
    functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()).backward()
    optimizer.step()
if rank == 0:
    print(ranks * steps * batch * CONTEXT / (time.perf_counter() - begin))
