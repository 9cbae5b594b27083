"""Numbers and rows of them as arguments."""

from numbers import Integral, Real
from typing import Any, Optional

import numpy as np

from ._errors import InputError


def whole(number: Any, name: str, least: int, end: int) -> None:
    """Raises an InputError unless it is one from `least` to `end` - 1."""
    if isinstance(number, (bool, np.bool_)) or not isinstance(number, Integral):
        raise InputError(f"{name} {number!r}: expected a whole number", "USAGE")
    if not least <= int(number) < end:
        expected = f"{least} at least" if int(number) < least else f"one below {end}"
        raise InputError(f"{name} {number}: expected {expected}", "USAGE")


def seconds(timeout: Any, name: str = "timeout") -> float:
    """Raises an InputError unless it is a number, whose range the core looks at."""
    if isinstance(timeout, (bool, np.bool_)) or not isinstance(timeout, Real):
        raise InputError(f"{name} {timeout!r}: expected a number of seconds", "USAGE")
    return float(timeout)


def seconds_or_none(timeout: Any) -> Optional[float]:
    return None if timeout is None else seconds(timeout)


def refuse_masked(array: Any, name: str) -> None:
    """Of an array or a list of arrays: numpy.asarray(), and whoever reads its memory, gets what a mask hides."""
    masked = np.ma.count_masked(array) if np.ma.is_masked(array) else 0
    if isinstance(array, (list, tuple)):
        masked = sum(np.ma.count_masked(one) for one in array if np.ma.is_masked(one))
    if masked:
        raise InputError(f"{name}: {masked} masked cells, expected none: .filled(0) gives them a value", "USAGE")


def floats(numbers: Any, name: str) -> np.ndarray:
    """As they lie if they are contiguous floats; else a copy, of which no number is made up."""
    refuse_masked(numbers, name)
    try:
        array = np.asarray(numbers)
    except ValueError:
        raise InputError(f"{name}: rows of different lengths; expected a float for each column of each row", "USAGE") from None
    if array.dtype.kind in "cOSUmM":
        raise InputError(f"{name} of {array.dtype}; expected numbers", "USAGE")
    with np.errstate(over="ignore"):  # What is too great is infinite, and refused as such.
        return np.ascontiguousarray(array, dtype=np.float32)
