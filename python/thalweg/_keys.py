"""Keys of rows, as the library takes them."""

from typing import Any

import numpy as np

from ._errors import InputError


def keys_of(keys: Any) -> np.ndarray:
    """In a row, contiguous and without a sign."""
    array = np.asarray(keys)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"keys of {array.dtype}, expected whole numbers", "USAGE")
    if array.size and array.dtype.kind == "i" and array.min() < 0:
        raise InputError(f"key {array.min()}: expected none below 0", "USAGE")
    return np.ascontiguousarray(array.ravel(), dtype=np.uint64)
