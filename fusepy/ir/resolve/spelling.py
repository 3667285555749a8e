"""Types, functions and signatures as the user writes them in Python, for messages."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from fusepy.ir.oracle import Param
from fusepy.ir.types import Type


def show(function: str, params: Sequence[Param], result: Type | None = None) -> str:
    """Returns a signature on one line: ``tonemap(float3 color, float gain) -> float3``."""
    listed = ", ".join(f"{'' if p.direction == 'in' else p.direction + ' '}{p.type or 'generic'} {p.name}" for p in params)
    return f"{function}({listed})" + (f" -> {result}" if result else "")


def python_name(name: str) -> str:
    """Returns a function or type of a module `m` as written in Python: ``m.Ray.at``, ``m["Pair<float>"]``."""
    parts = name.split("::")
    if all(p.isidentifier() and not keyword.iskeyword(p) for p in parts):
        return f"m.{'.'.join(parts)}"
    return f'm["{name}"]'


def python_type(name: str) -> str:
    """Returns a type as written in Python for `vcast`; arrays and pointers are not types of a module."""
    return f'"{name}"' if "[" in name or name.startswith("Ptr<") else python_name(name)


def cast_call(want: Type) -> str:
    """Returns the call that casts a value to a type."""
    return f"fp.vcast(value, {python_type(want.name)})"


def numbers_of(want: Type) -> str:
    """Returns the NumPy dtype of a type's numbers, with the extents of the last axes."""
    axes = f", the last axes of {extents(want)}" if want.shape else ""
    return f"np.{want.dtype}{axes}"


def extents(want: Type) -> str:
    """Returns the extents of a vector or matrix: ``2 x 3``."""
    return " x ".join(str(n) for n in want.shape)


def array_extents(want: Type) -> str:
    """Returns the extents of nested arrays: ``4 x 3``."""
    shape: list[int] = []
    inner: Type | None = want
    while inner is not None and inner.shape:
        shape += inner.shape
        inner = inner.element
    return " x ".join(map(str, shape))


def flat_matrix_hint() -> str:
    """Returns the hint for matrices of one row or column, of which Slang makes no code."""
    return "use vectors in the place of matrices of one row or column"
