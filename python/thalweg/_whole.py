"""Whole numbers as arguments."""

from numbers import Integral
from typing import Any

import numpy as np

from ._errors import InputError


def whole(number: Any, name: str, least: int, end: int) -> None:
    """Raises an InputError unless it is one from `least` to `end` - 1."""
    if isinstance(number, (bool, np.bool_)) or not isinstance(number, Integral):
        raise InputError(f"{name} {number!r}: expected a whole number", "USAGE")
    if not least <= number < end:
        expected = f"{least} at least" if number < least else f"one below {end}"
        raise InputError(f"{name} {number}: expected {expected}", "USAGE")
