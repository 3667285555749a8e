"""Checks of what networks and encodings are given."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import unmapped
from fusepy.errors import ArgumentError
from fusepy.symbolic import Symbolic


def check_input(x: Any, of: str) -> None:
    """Raises `ArgumentError` for an input that is no array: None, text, a dict."""
    given = unmapped(x)
    if not hasattr(given, "shape") and not isinstance(given, (int, float, list, tuple, Symbolic)):
        raise ArgumentError(
            f"the input of {of} is no array",
            saw=type(given).__name__,
            expected="rows of numbers",
            hint="give an array of one row for each point, and the parameters before it: net(params, x)",
        )


def check_seed(seed: Any, of: str) -> None:
    """Raises `ArgumentError` for a seed that is no integer from 0."""
    if not (isinstance(seed, (int, np.integer)) and int(cast("int", seed)) >= 0):
        raise ArgumentError(f"{of}: a seed is an integer from 0", saw=repr(cast("object", seed))[:60], hint="write seed=0")
