"""How exact a device must be, by the specifications: Vulkan's "Precision and Operation of SPIR-V Instructions", and CUDA's guide.

lavapipe computes on a CPU, and is held to what that does. Bounds are in units in the last place of half, float and double.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import fusepy as fp

Array = np.ndarray[Any, Any]
NONE = (0.0, 0.0, 0.0)

# Division is good to 2.5 units, sqrt is 1 / inversesqrt, of 2; doubles are IEEE's on every GPU that has them. Half a unit is for
# the results that a reference rounds to the other side of a power of 2.
ULPS: dict[str, dict[str, tuple[float, float, float]]] = {
    "lavapipe": {},
    "vulkan": {"div": (3, 3, 1), "sqrt": (5, 5, 1), "rsqrt": (2.5, 2.5, 2), "floordiv": (3, 3, 1), "mod": (3, 3, 1)},
    "cuda": {"div": (1, 1, 1), "sqrt": (1, 1, 1), "rsqrt": (2.5, 2.5, 2)},  # compiled without --use_fast_math
}


@functools.cache
def kind() -> str:
    """Whose promises count on the device under test: ``"lavapipe"`` (also the cpu device), ``"vulkan"`` or ``"cuda"``."""
    device = fp.default_device()
    if device.transfer.host_addressable:
        return "lavapipe"
    return "cuda" if device.raw.info.type.name == "cuda" else "vulkan"


def ulps(operation: str, dtype: np.dtype[Any], where: str | None = None) -> float:
    """The bound of an operation that the specification gives; 0 where it must be exact or says nothing."""
    return ULPS[where or kind()].get(operation, NONE)[(2, 4, 8).index(dtype.itemsize)]


def left_open(operation: str, operands: Sequence[Array], result: Array, where: str | None = None) -> Any:
    """Where Vulkan promises nothing: denormals may be flushed, divisors end at 2 ** 126 (half: 2 ** 14)."""
    if (where or kind()) != "vulkan":
        return np.zeros(np.shape(result), bool)
    values = [v for v in (*operands, result) if v.dtype.kind == "f"]
    open = np.zeros(np.shape(result), bool)
    for v in values:
        open |= np.broadcast_to((v != 0) & (np.abs(v) < np.finfo(v.dtype).tiny), open.shape)
    if operation in ("div", "floordiv", "mod") and operands[-1].dtype.itemsize < 8 and operands[-1].dtype.kind == "f":
        divisor = operands[-1]
        most = 2.0 ** (14 if divisor.dtype.itemsize == 2 else 126)
        open |= np.broadcast_to(np.isfinite(divisor) & (np.abs(divisor) > most), open.shape)
    return open


def power_ulps(x: Array, y: Array, where: str | None = None) -> Any:
    """Of `pow` of float, which Vulkan has as exp2(y * log2(x)); 0 elsewhere, where the library's own bounds are smaller."""
    if (where or kind()) != "vulkan":
        return np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)))
    with np.errstate(all="ignore"):
        a, y = np.abs(np.asarray(x, np.float64)), np.asarray(y, np.float64)
        z = np.abs(y * np.log2(a))
        z = np.where(np.isfinite(z), z, 0)
        near_one = np.where(
            (a >= 0.5) & (a <= 2) & np.isfinite(y), 4 * np.abs(y), 0
        )  # log2 is off by 2 ** -21 there, else 3 units
    return 3.5 + 2 * z + np.log(2) * (3.5 * z + near_one)


def agree(found: Any, wanted: Any, operation: str) -> None:
    """Results of an operation on float or integers: bit for bit, but for what the specification gives to it."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    bound = ulps(operation, wanted.dtype) if wanted.dtype.kind == "f" else 0
    if not bound:
        np.testing.assert_array_equal(found, wanted)
        return
    off = np.abs(found.astype(np.float64) - wanted) / np.spacing(np.abs(wanted)).astype(np.float64)
    assert np.all((off <= bound) | (found == wanted)), f"{operation}: off by {off.max()} units, allowed are {bound}"
