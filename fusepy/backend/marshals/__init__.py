"""Argument kinds by Python type, and the ways that kernels reach them.

`fusepy.register` adds a kind: an object with the methods of `Marshal` for a Python type. What it places on the device is one of
the containers below, so most kinds need no Slang of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.backend.marshals.array import ListMarshal, NumPyMarshal, TensorMarshal
from fusepy.backend.marshals.base import Access, Marshal
from fusepy.backend.marshals.grid import GridAccess, GridMarshal
from fusepy.backend.marshals.memory import MemoryAccess
from fusepy.backend.marshals.number import IntMarshal, NumberAccess, NumberMarshal, NumPyScalarMarshal
from fusepy.errors import UnsupportedArgumentError
from fusepy.generators import Grid
from fusepy.ir.types import BOOL, FLOAT, INT
from fusepy.tensor import Tensor

MARSHALS: dict[type, Marshal] = {
    Tensor: TensorMarshal(),
    np.ndarray: NumPyMarshal(),
    list: ListMarshal(),
    tuple: ListMarshal(),
    Grid: GridMarshal(),
    float: NumberMarshal(FLOAT),
    int: IntMarshal(INT),
    bool: NumberMarshal(BOOL),
    **{t: NumPyScalarMarshal(t) for t in (np.bool_, np.float16, np.float32, np.float64)},
    **{getattr(np, f"{u}int{n}"): NumPyScalarMarshal(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
}

_memory = MemoryAccess()
ACCESSES: dict[str, Access] = {"Tensor": _memory, "List": _memory, "Grid": GridAccess(), "": NumberAccess()}


def marshal_of(value: Any) -> Marshal:
    """The marshal of a value's class, or of the first of its bases that has one.

    Raises:
        UnsupportedArgumentError: if there is none.
    """
    for cls in type(value).__mro__:
        found = MARSHALS.get(cls)
        if found is not None:
            MARSHALS[type(value)] = found
            return found
    raise UnsupportedArgumentError(
        f"a {type(value).__name__} cannot be passed to Slang",
        saw=repr(value)[:60],
        expected="numbers, lists of numbers, NumPy arrays, Tensors, grid()",
        hint="convert it, or register a marshal for its class",
    )
