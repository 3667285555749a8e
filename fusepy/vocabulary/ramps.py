"""`linspace` as in NumPy: ends that are traced, types, and the members that its generator shares with arrays."""

from __future__ import annotations

import math
from typing import Any

from fusepy.backend.marshals.generators import Linspace, check_extents
from fusepy.elsewhere import no_attribute
from fusepy.language import generators
from fusepy.language.math import exp2, log2, where
from fusepy.methods import METHODS
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced
from fusepy.vocabulary.arithmetic import typed
from fusepy.vocabulary.creation import arange

__all__ = ["geomspace", "linspace", "logspace"]

_OF_TENSORS = METHODS | {"T", "dtype", "ndim", "numpy", "reshape", "size", "to_numpy", "tolist", "transpose"}


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    """Returns evenly spaced numbers, which are computed where they are used, without memory.

    Args:
        start, stop: the first and the last number; in a fused function also traced numbers.
        num: how many.
        endpoint: `stop` is the last number, as in NumPy.
        dtype: the type; by default a parameter of ``half`` or ``double`` gets them in its own, and all others as ``float``.

    Raises:
        ShapeError: for a negative count.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_line", "float f(float x) { return x * x; }")
        >>> m.f(fp.linspace(0, 2, 5), _result="list"), fp.linspace(0, 1, 3)[1:].tolist()
        ([0.0, 0.25, 1.0, 2.25, 4.0], [0.5, 1.0])
    """
    if isinstance(start, Traced) or isinstance(stop, Traced):
        (count,) = check_extents((num,), "linspace")
        first: Any = start
        at: Any = arange(count)
        made: Any = first + at * ((stop - first) / max(count - endpoint, 1))
        made = where(at == count - 1, stop, made) if endpoint and count > 1 else made
    else:
        made = generators.linspace(start, stop, num, endpoint=endpoint)
    return made if dtype is None else typed(made, dtype)


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None) -> Any:
    """Returns the powers of `base` with evenly spaced exponents; see `linspace` for the arguments.

    Example:
        >>> import fusepy as fp
        >>> fp.logspace(0, 3, 4, base=2).tolist()
        [1.0, 2.0, 4.0, 8.0]
    """
    made: Any = exp2(linspace(start, stop, num, endpoint) * math.log2(base))
    return made if dtype is None else typed(made, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    """Returns numbers each of which is the one before times the same factor; both ends have the same sign.

    Example:
        >>> import fusepy as fp
        >>> fp.geomspace(1, 16, 5).tolist()
        [1.0, 2.0, 4.0, 8.0, 16.0]
    """
    (count,) = check_extents((num,), "geomspace")
    at = arange(count)
    made: Any = start * exp2(at * (log2(stop / start) / max(count - endpoint, 1)))
    made = where(at == count - 1, stop, made) if endpoint and count > 1 else made
    return made if dtype is None else typed(made, dtype)


def _numbers(self: Linspace) -> Any:
    """Returns the numbers of a generator as a tensor."""
    return typed(self, "float")


def _attribute(self: Linspace, name: str) -> Any:
    if name in _OF_TENSORS and current_trace() is None:
        return getattr(_numbers(self), name)
    raise no_attribute(name)


def _item(self: Linspace, index: Any) -> Any:
    return _numbers(self)[index]


def _length(self: Linspace) -> int:
    return self.shape[0]


setattr(Linspace, "__getattr__", _attribute)  # noqa: B010
setattr(Linspace, "__getitem__", _item)  # noqa: B010
setattr(Linspace, "__len__", _length)  # noqa: B010
