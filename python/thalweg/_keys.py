"""Keys of rows, as the library takes them."""

from numbers import Integral
from typing import Any

import numpy as np

from ._errors import InputError
from ._whole import refuse_masked


def keys_of(keys: Any) -> np.ndarray:
    """In a row, contiguous and without a sign."""
    refuse_masked(keys, "keys")
    array = np.asarray(keys)
    if array.dtype.kind in "fO" and not isinstance(keys, np.ndarray):
        array = np.asarray(keys, dtype=object)  # numpy has floats for whole numbers on both sides of 2^63.
    if array.size and array.dtype == object:
        return np.fromiter(map(_key, array.ravel()), np.uint64, array.size)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"keys of {array.dtype}, expected whole numbers", "USAGE")
    if array.size and array.dtype.kind == "i" and array.min() < 0:
        raise InputError(f"key {array.min()}: expected none below 0", "USAGE")
    return np.ascontiguousarray(array.ravel(), dtype=np.uint64)


def _key(key: Any) -> int:
    if isinstance(key, (bool, np.bool_)) or not isinstance(key, Integral):
        raise InputError(f"key {key!r}: expected a whole number", "USAGE")
    number = int(key)
    if not 0 <= number < 2**64:
        raise InputError(f"key {number}: expected {'none below 0' if number < 0 else 'one below 2^64'}", "USAGE")
    return number
