"""Holding results to their meaning, and launches to their order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.fuzz.values import UNIT, Val, is_float


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Kernels that may run beside one that fills what they read, which no number shows on a device that runs them in order."""
    from fusepy.backend.kernels.kernel import Kernel

    written: set[int] = set()
    seen: list[str] = []
    launch = Kernel.launch

    def watching(
        self: Any,
        sink: Any,
        bindings: Any,
        values: Any,
        count: int,
        by_axis: Any = None,
        beside: bool = False,
        more: bool = False,
        objects: Any = (),
    ) -> None:
        if not beside:
            written.clear()
        for value, one in zip(values, self.fields):
            if one.role == "pointer" and value in written:
                seen.append("a kernel reads what the one before it fills, and no barrier is between them")
        launch(self, sink, bindings, values, count, by_axis, beside, more, objects)
        written.update(value for value, one in zip(values, self.fields) if one.role == "out")

    Kernel.launch = watching  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Kernel.launch = launch  # type: ignore[method-assign]


KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "f"}


def wrong_numbers(array: Any, want: Val) -> tuple[str, str] | None:
    """Whether some number is further off than rounding explains."""
    if not want.v.size:
        return None
    if not is_float(want.scalar):
        bad = (array != want.v) & ~(want.e > 0)
    else:
        with np.errstate(all="ignore"):
            wide = array.astype(np.longdouble)
            slack = np.where(want.e > 0, UNIT[want.scalar] * np.abs(want.v).astype(np.float64), 0)
            same = (wide == want.v) | (np.isnan(wide) & np.isnan(want.v))
            bad = ~((np.abs(wide - want.v) <= want.e + slack) | same) & np.isfinite(want.e)
    if not np.any(bad):
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    bound = f" within {float(want.e[at]):.3g}" if is_float(want.scalar) else ""
    return "values", f"{array[at]!r} at {at}, not {want.v[at]!r}{bound}; {int(bad.sum())} of {bad.size} are wrong"


def from_slangpy(value: Any) -> Any:
    """One of slangpy's vectors or matrices as nested lists; other values as they are."""
    if type(value).__module__.partition(".")[0] != "slangpy":
        return value
    if hasattr(value, "to_numpy"):
        return value.to_numpy().tolist()
    return [one if isinstance(one := value[i], (bool, int)) else float(one) for i in range(len(value))]


def kind_of(value: Any) -> str:
    """The container of a result."""
    name = type(value).__module__.partition(".")[0]
    if name == "fusepy":
        return "tensor"
    if name == "torch":
        return "torch"
    if isinstance(value, np.ndarray):
        return "numpy"
    return "list" if isinstance(value, list) else "number"
