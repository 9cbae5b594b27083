#!/usr/bin/python3
"""Writes src/table/testdata/torch_rules.txt: what PyTorch's optimizers make of a few fixed gradients.

Needs Debian's python3-torch. Each block of the file is one optimizer: a line with the rule's name and numbers, a line
with the start, then for each step a line of gradients and a line of the parameters after it. Numbers are the shortest
decimals that give back the same float32.

    tools/make_torch_fixture.py > src/table/testdata/torch_rules.txt
"""

import struct

import torch

WIDTH = 5
STEPS = 8


def single(x):
    """The float32 nearest to x, as the table's own specification holds it."""
    return struct.unpack("f", struct.pack("f", x))[0]


def line(tensor):
    return " ".join(repr(float(f"{v:.9g}")) for v in tensor.tolist())


RULES = [
    # name, optimizer, numbers as RuleSpec names them, PyTorch's names for them
    ("sgd", torch.optim.SGD, {"rate": 0.1}, {}),
    ("sgd", torch.optim.SGD, {"rate": 0.1, "l2": 0.05}, {}),
    ("momentum", torch.optim.SGD, {"rate": 0.05, "momentum": 0.9, "l2": 0.01}, {}),
    ("nesterov", torch.optim.SGD, {"rate": 0.05, "momentum": 0.8, "l2": 0.01}, {"nesterov": True}),
    ("adagrad", torch.optim.Adagrad, {"rate": 0.1, "epsilon": 1e-8}, {}),
    ("adagrad", torch.optim.Adagrad, {"rate": 0.1, "epsilon": 1e-6, "l2": 0.02, "initial_accumulator": 0.5}, {}),
    ("rmsprop", torch.optim.RMSprop, {"rate": 0.01, "beta2": 0.99, "epsilon": 1e-8, "l2": 0.01}, {}),
    ("adam", torch.optim.Adam, {"rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}, {}),
    ("adam", torch.optim.Adam, {"rate": 0.02, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "l2": 0.03}, {}),
    ("adamw", torch.optim.AdamW, {"rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "l2": 0.1}, {}),
]

TORCH_NAME = {
    "rate": "lr",
    "l2": "weight_decay",
    "momentum": "momentum",
    "epsilon": "eps",
    "initial_accumulator": "initial_accumulator_value",
}


def torch_arguments(name, numbers, extra):
    arguments = {TORCH_NAME[k]: single(v) for k, v in numbers.items() if k in TORCH_NAME}
    if name == "rmsprop":
        arguments["alpha"] = single(numbers["beta2"])
    elif "beta1" in numbers:
        arguments["betas"] = (single(numbers["beta1"]), single(numbers["beta2"]))
    if name != "adamw":
        arguments.setdefault("weight_decay", 0.0)
    return {**arguments, **extra}


def main():
    torch.manual_seed(20)
    for name, optimizer, numbers, extra in RULES:
        print("rule", name, *(f"{key} {value!r}" for key, value in numbers.items()))
        weights = torch.nn.Parameter(torch.randn(WIDTH))
        print("start", line(weights.detach()))
        stepper = optimizer([weights], **torch_arguments(name, numbers, extra))
        for _ in range(STEPS):
            weights.grad = torch.randn(WIDTH)
            print("grad", line(weights.grad))
            stepper.step()
            print("row", line(weights.detach()))


if __name__ == "__main__":
    main()
