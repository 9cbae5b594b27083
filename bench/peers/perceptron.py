"""Trains a perceptron 784-512-512-10 by PyTorch; prints samples a second of all ranks together.

perceptron.py RANK RANKS THREADS BATCH EPOCHS STORE   STORE: a file that does not exist, where the ranks meet
"""
import gzip
import os
import sys
import time

rank, ranks, threads, batch, epochs = map(int, sys.argv[1:6])
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
os.environ["OMP_WAIT_POLICY"] = "passive"  # Else the two libraries' threads spin in each other's way.
import numpy  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def read(name, head, shape):
    with gzip.open(os.path.join(os.environ["IMAGES"], name)) as file:
        return numpy.frombuffer(file.read(), numpy.uint8)[head:].reshape(shape)


torch.set_num_threads(threads)
images = torch.tensor(read("train-images-idx3-ubyte.gz", 16, (-1, 784)), dtype=torch.float32)[rank::ranks] / 255
labels = torch.tensor(read("train-labels-idx1-ubyte.gz", 8, (-1,)), dtype=torch.int64)[rank::ranks]
model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                            torch.nn.Linear(512, 10))
if ranks > 1:
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[6]}", rank=rank, world_size=ranks)
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
loss_of = torch.nn.CrossEntropyLoss()
steps = len(images) // batch
begin = 0.0
for epoch in range(epochs + 1):
    if epoch == 1:  # The first pass is for warming up.
        begin = time.perf_counter()
    for step in range(steps):
        rows = slice(step * batch, (step + 1) * batch)
        optimizer.zero_grad()
        loss = loss_of(model(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
if rank == 0:
    print(ranks * epochs * steps * batch / (time.perf_counter() - begin))
