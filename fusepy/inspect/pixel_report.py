"""`PixelReport`: the values on the way to one element of a call's results, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class PixelValue:
    """One value on the way to an element.

    Attributes:
        name: the name of an argument, or the number of a computed value, as in ``f.ir``.
        text: the operation, as in ``f.ir``; empty for an argument.
        type: the Slang type of one element.
        line: the user's ``file:line``; empty for an argument.
        value: the element, as a NumPy array or number; all of it for a value that has no element there, such as a reduced one.
        begins: true if it is the first that is not finite: what it is computed from is finite.
    """

    name: str
    text: str
    type: str
    line: str
    value: Any
    begins: bool

    @property
    def mark(self) -> str:
        """``"NaN"`` or ``"infinite"`` if some number is; else empty."""
        return mark_of(self.value)

    def __str__(self) -> str:
        mark = f"  <- {self.mark}{' begins here' if self.begins else ''}" if self.mark else ""
        what = f"{self.name} = {self.text}" if self.text else self.name
        return f"{what}: {self.type} is {shown(self.value)}{mark}{f'  // {self.line}' if self.line else ''}"


@dataclass(frozen=True)
class PixelReport:
    """The values on the way to one element of the results, in the order of their computation; arguments come first.

    Attributes:
        values: one for each argument that has numbers, and one for each result of an operation.
    """

    at: tuple[int, ...]
    values: tuple[PixelValue, ...]

    @property
    def first_bad(self) -> PixelValue | None:
        """The first value that is NaN or infinite; ``None`` if all are finite."""
        return next((v for v in self.values if v.mark), None)

    def __getitem__(self, name: str) -> Any:
        """The value of this name: an argument, or ``"%0"`` and so on."""
        return next(v.value for v in self.values if v.name == name)

    def __str__(self) -> str:
        return "\n".join([f"at {self.at}", *(f"  {value}" for value in self.values)])


def _floats_of(value: Any) -> list[Array]:
    """Returns the floats of a value, also those of a struct."""
    array = np.asarray(value)
    if array.dtype.names:
        return [part for name in array.dtype.names for part in _floats_of(array[name])]
    return [array] if array.dtype.kind == "f" else []


def mark_of(value: Any) -> str:
    """Returns what is not finite among the numbers of a value, as a word."""
    parts = _floats_of(value)
    if any(np.isnan(part).any() for part in parts):
        return "NaN"
    return "infinite" if any(np.isinf(part).any() for part in parts) else ""


def shown(value: Any) -> str:
    """Returns an element on one line; of a long array its extents and its range."""
    array = np.asarray(value)
    if array.dtype.names:
        return "{" + ", ".join(f"{name}: {shown(array[name])}" for name in array.dtype.names) + "}"
    if array.size <= 16:
        text = " ".join(np.array2string(array, precision=7, separator=", ").split())
        return text.replace("[ ", "[").replace(" ]", "]").replace(" ,", ",")  # NumPy fills numbers up to one width
    return f"an array {array.shape}, {array.min():.7g} to {array.max():.7g}"
