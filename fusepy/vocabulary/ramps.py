"""`arange`, and `linspace` as in NumPy: ends that are traced, types, and the members that its generator shares with arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fusepy.backend.marshals.generators import Linspace, check_extents
from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.elsewhere import no_attribute
from fusepy.errors import ArgumentError
from fusepy.ir.ranges import check_range
from fusepy.language import generators
from fusepy.language.math import exp2, log2, where
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.methods import METHODS
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced
from fusepy.vocabulary.arithmetic import typed
from fusepy.vocabulary.creation import coordinates, device_of

__all__ = ["arange", "geomspace", "linspace", "logspace"]

_OF_TENSORS = METHODS | {"T", "dtype", "ndim", "numpy", "reshape", "size", "to_numpy", "tolist", "transpose"}


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None, device: Any = None) -> Any:
    """Returns ``start``, ``start + step``, … below `stop`: integers, or floats if one of the three is a float; see `zeros`.

    Args:
        start: the first number; alone it is `stop`, and the first number is 0.

    Raises:
        ArgumentError: for a step of 0, and for traced values: extents are numbers of the program.
        RangeError: if `dtype` cannot hold a number.

    Example:
        >>> import fusepy as fp
        >>> fp.arange(3).tolist(), fp.arange(1, 2, 0.5).tolist(), fp.fuse(lambda x: x * fp.arange(4))(2.0).tolist()
        ([0, 1, 2], [1.0, 1.5], [0.0, 2.0, 4.0, 6.0])
    """
    start, stop = (0, start) if stop is None else (start, stop)
    ends: list[Any] = [start, stop, step]
    if any(not isinstance(n, (int, float, np.integer, np.floating)) for n in ends) or not step:
        hint = "pass numbers; for a row as long as an array, write fp.grid(x)" if step else "take another step than 0"
        raise ArgumentError("arange() takes numbers, and a step that is not 0", saw=tuple(ends), hint=hint)
    device = device_of(device, "arange")
    count = max(math.ceil((stop - start) / step), 0)
    whole = all(isinstance(n, (int, np.integer)) for n in ends)
    type = element_of((int if whole else float) if dtype is None else dtype).type
    for number in (start, start + (count - 1) * step) if count and whole else ():
        check_range(int(number), type, "arange", hint="widen dtype")
    if device:
        return Tensor.from_numpy(device, (start + np.arange(count) * step).astype(type.dtype), type)
    index = typed(coordinates((count,))[0], type)
    return (index if step == 1 else index * typed(step, type)) + typed(start, type)


@node_of_values
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
