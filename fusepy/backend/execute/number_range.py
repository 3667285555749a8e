"""The error for a Python number that does not fit its parameter."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from fusepy.backend.execute.launch import LaunchedRegion
from fusepy.backend.marshals.constant import Components
from fusepy.errors import CompileError, FusepyError, RangeError

_CODES = {
    ("b", 1): "<I", ("i", 1): "<b", ("u", 1): "<B", ("i", 2): "<h", ("u", 2): "<H", ("i", 4): "<i", ("u", 4): "<I",
    ("i", 8): "<q", ("u", 8): "<Q", ("f", 2): "<e", ("f", 4): "<f", ("f", 8): "<d",
}  # fmt: skip


def bad_number(region: LaunchedRegion, args: Sequence[Any], error: Exception) -> FusepyError:
    """Returns the error for a parameter block that could not be packed: it names the number that did not fit."""
    for operand, position in zip(region.operands, region.positions):
        if (operand.arrival.plain or operand.arrival.uniform) and operand.have.dtype is not None:
            given = args[position]
            try:
                for number in given if isinstance(given, Components) else (given,):
                    struct.pack(_CODES[operand.have.dtype.kind, operand.have.dtype.itemsize], number)
            except (struct.error, OverflowError):
                return RangeError(
                    f"{region.name}: argument {operand.label!r} does not fit {operand.have}",
                    saw=given,
                    expected=operand.have,
                    hint="use a wider type in the Slang function, or a number in range",
                )
    return CompileError(f"{region.name}: the parameter block cannot be packed", saw=error, hint="this is a bug of fusepy")
