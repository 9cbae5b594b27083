"""Reads a model without Thalweg's code and prints its arrays, for comparison by a test.

usage: read_model.py directory|safetensors|npz PATH

One line a row: table, key, and the floats as hexadecimal bits, state included; sorted.
"""
import json
import pathlib
import struct
import sys

import numpy

DTYPES = {"U64": numpy.dtype("<u8"), "F32": numpy.dtype("<f4")}


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        flat = numpy.frombuffer(raw[8 + length + begin : 8 + length + end], DTYPES[tensor["dtype"]])
        arrays[name] = flat.reshape(tensor["shape"])
    return arrays, metadata


def read_directory(path):
    manifest = json.loads((pathlib.Path(path) / "model.json").read_text())
    arrays = {}
    for table in manifest["tables"]:
        found, _ = read_safetensors(pathlib.Path(path) / table["file"])
        arrays.update({f"{table['name']}.{name}": array for name, array in found.items()})
    return arrays


def lines(arrays):
    for name in sorted(arrays):
        if not name.endswith(".rows"):
            continue
        table = name[: -len(".rows")]
        parts = [arrays[name]]
        while f"{table}.state.{len(parts) - 1}" in arrays:
            parts.append(arrays[f"{table}.state.{len(parts) - 1}"])
        rows = numpy.concatenate(parts, axis=1)
        keys = arrays.get(f"{table}.keys", numpy.arange(len(rows), dtype=numpy.uint64))
        assert rows.dtype == numpy.float32 and keys.dtype == numpy.uint64 and keys.shape == (len(rows),)
        for key, row in zip(keys, rows):
            yield f"{table} {key} " + " ".join(f"{bits:08x}" for bits in row.view(numpy.uint32))


def main():
    kind, path = sys.argv[1:]
    if kind == "directory":
        arrays = read_directory(path)
    elif kind == "safetensors":
        arrays, metadata = read_safetensors(path)
        assert json.loads(metadata["thalweg"])["format"] == "thalweg-model"
    else:
        with numpy.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
    print("\n".join(sorted(lines(arrays))))


main()
