"""Random numbers of a key: without memory in fused functions, tensors elsewhere."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.marshals.generators import Grid
from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.views import as_shape
from fusepy.errors import ArgumentError, RangeError, ShapeError
from fusepy.functions.fused import FusedFunction
from fusepy.ir.ranges import check_range
from fusepy.ir.types import Kind, Type
from fusepy.language.constructors import CONSTRUCTORS
from fusepy.language.generators import grid
from fusepy.language.math import cos, sqrt, where
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.random.keys import module_on
from fusepy.trace.trace import current_trace
from fusepy.vocabulary.arithmetic import typed
from fusepy.vocabulary.names import log1p

Extents = int | Sequence[int]
_INT4: Any = CONSTRUCTORS["int4"]


def _slang(name: str) -> Any:
    trace = current_trace()
    assert trace is not None
    return getattr(module_on(trace.device), f"random_{name}")


def _place(at: Any, rank: int) -> Any:
    """Returns the index of an element as four integers, the slowest axis first."""
    axes = [] if not rank else [at] if rank == 1 else [at[rank - 1 - axis] for axis in range(rank)]
    return _INT4(*axes, *[0] * (4 - rank))


@functools.lru_cache(maxsize=256)
def _eager(draw: Callable[..., Any], rank: int, type: Type, device: Any) -> FusedFunction:
    """Returns the fused function of a draw; it has the name that users call."""

    def run(key: Any, at: Any, low: Any, high: Any) -> Any:
        return draw(key, _place(at, rank), type, low, high)

    run.__name__ = draw.__name__.lstrip("_")
    return FusedFunction(run, device=device)


def _drawn(draw: Callable[..., Any], key: Any, shape: Extents, type: Type, low: Any, high: Any, device: Any) -> Any:
    """Draws an array of these extents: in a trace as a part of it, else as a call."""
    if isinstance(key, (tuple, list)):  # most likely the extents
        raise _no_key(key, draw.__name__.lstrip("_").replace("unit", "uniform"))
    extents = as_shape(shape)
    if len(extents) > 4:
        raise ShapeError("random numbers over more than 4 axes", saw=extents, hint="draw fewer, and reshape")
    if current_trace() is not None:
        if device is not None:
            hint = "leave out device: the call has one"
            raise ArgumentError("random numbers for a device in a fused function", hint=hint)
        return draw(key, _place(grid(extents) if extents else 0, len(extents)), type, low, high)
    at = Grid(extents, (0,) * len(extents), (1,) * len(extents)) if extents else 0
    return _eager(draw, len(extents), type, device)(key, at, low, high, _result="tensor")


def _no_key(given: Any, name: str) -> ArgumentError:
    """Returns the error for the arguments of NumPy's functions, which have no key."""
    hint = f"write fp.random.{name}(fp.random.key(0), (2, 3))"
    return ArgumentError("a key comes first", saw=repr(given)[:60], hint=hint)


def _type(dtype: Any, name: str, wanted: str) -> Type:
    if isinstance(dtype, tuple):  # most likely NumPy's order: two numbers and the extents
        raise _no_key(dtype, name)
    type = element_of(dtype).type
    kinds = "f" if wanted == "floats" else "iu"
    if type.kind is not Kind.SCALAR or type.dtype is None or type.dtype.kind not in kinds:
        raise ArgumentError(f"{name}() of {type}", expected=wanted, hint="leave out dtype, or name another one")
    return type


def _bits(key: Any, at: Any, type: Type, low: Any, high: Any) -> Any:
    return _slang("bits")(key, at)


@node_of_values
def bits(key: Any, shape: Extents = (), device: Any = None) -> Any:
    """Returns 32 random bits for each element, as ``uint``; see `uniform`."""
    return _drawn(_bits, key, shape, element_of("uint").type, 0, 0, device)


def _uniform(key: Any, at: Any, type: Type, low: Any, high: Any) -> Any:
    found = _unit(key, at, type, low, high)
    low, high = typed(low, type), typed(high, type)
    scaled = low + (high - low) * found
    return where(scaled < high, scaled, low)  # which rounding may reach


@node_of_values
def uniform(key: Any, shape: Extents = (), dtype: Any = "float", lo: Any = 0.0, hi: Any = 1.0, device: Any = None) -> Any:
    """Returns numbers that are evenly distributed from `lo` to below `hi`.

    Args:
        key: a key, or an array of keys, which broadcasts with the result.
        shape: the extents of the result, at most four; ``()`` for one number per key.
        dtype: ``"float"``, ``"double"`` or ``"half"``; numbers from 0 to 1 have 24, 53 or 11 random bits.
        device: by default that of the keys, else the default device.

    Raises:
        ArgumentError: for a type that is not a float.
        ShapeError: for more than four axes.

    Example:
        >>> import fusepy as fp
        >>> key = fp.random.key(1)
        >>> at_once = fp.random.uniform(key, (2, 3))
        >>> fused = fp.fuse(lambda k: fp.random.uniform(k, (2, 3)) + 1)(key)
        >>> at_once.shape, bool(fp.all(fused == at_once + 1))
        ((2, 3), True)
    """
    type = _type(dtype, "uniform", "floats")
    plain = (lo, hi) == (0.0, 1.0) if isinstance(lo, (int, float)) and isinstance(hi, (int, float)) else False
    draw = _unit if plain else _uniform
    return _drawn(draw, key, shape, type, lo, hi, device)


def _unit(key: Any, at: Any, type: Type, low: Any, high: Any) -> Any:
    return _slang(type.name)(key, at)


def _normal(key: Any, at: Any, type: Type, mean: Any, deviation: Any) -> Any:
    wide = "double" if type.name == "double" else "float"
    pair = _slang(f"{wide}2")(key, at)
    found = sqrt(-2 * log1p(-pair.x)) * cos((2 * math.pi) * pair.y)
    return typed(found * deviation + mean, type)


@node_of_values
def normal(key: Any, shape: Extents = (), dtype: Any = "float", mean: float = 0.0, std: float = 1.0, device: Any = None) -> Any:
    """Returns numbers of the normal distribution, by Box and Muller's method; see `uniform`.

    The random bits are the same on every device; the cosine is the device's, so the last digits may differ.
    """
    return _drawn(_normal, key, shape, _type(dtype, "normal", "floats"), mean, std, device)


def _integers(key: Any, at: Any, type: Type, low: Any, span: Any) -> Any:
    return typed(_slang("below")(key, at, span), type) + typed(low, type)


@node_of_values
def integers(key: Any, lo: Any, hi: Any, shape: Extents = (), dtype: Any = "int", device: Any = None) -> Any:
    """Returns integers that are evenly distributed from `lo` to below `hi`; see `uniform`.

    Raises:
        RangeError: for an empty range, one of more than 2 ** 32 numbers, or one that `dtype` does not hold.

    Example:
        >>> import fusepy as fp
        >>> sorted({*fp.random.integers(fp.random.key(0), 1, 7, 100).tolist()})
        [1, 2, 3, 4, 5, 6]
    """
    type = _type(dtype, "integers", "integers")
    if not all(isinstance(n, (int, np.integer)) for n in (lo, hi)):
        raise ArgumentError("integers: the range is numbers", saw=(lo, hi), hint="pass integers of Python")
    if not 0 < hi - lo <= 1 << 32:
        hint = "give two integers, the first below the second"
        raise RangeError("integers: the range has 1 to 2 ** 32 numbers", saw=f"{lo} to {hi}", hint=hint)
    for number in (lo, hi - 1):
        check_range(int(number), type, "integers", hint="widen dtype")
    low = lo if -(1 << 31) <= lo < 1 << 31 else np.int64(lo)
    return _drawn(_integers, key, shape, type, low, np.uint32((hi - lo) & 0xFFFFFFFF), device)


def _bernoulli(key: Any, at: Any, type: Type, p: Any, _: Any) -> Any:
    return _slang("float")(key, at) < p


@node_of_values
def bernoulli(key: Any, p: Any = 0.5, shape: Extents = (), device: Any = None) -> Any:
    """Returns bools that are true with the probability `p`; see `uniform`."""
    return _drawn(_bernoulli, key, shape, element_of("bool").type, p, 0, device)


def _permutation(key: Any, at: Any, type: Type, n: Any, _: Any) -> Any:
    return _slang("permuted")(key, at.x, n)


@node_of_values
def permutation(key: Any, n: Any, device: Any = None) -> Any:
    """Returns the numbers from 0 to below `n` in a random order, as ``int``; see `uniform`.

    For up to 256 numbers all orders are equally likely. For more, a Feistel network of 12 rounds computes each number by itself,
    without memory or a sort.

    Raises:
        ArgumentError: for anything but a number.

    Example:
        >>> import fusepy as fp
        >>> sorted(fp.random.permutation(fp.random.key(0), 5).tolist())
        [0, 1, 2, 3, 4]
    """
    count: Any = cast("Any", n).item() if isinstance(n, np.integer) else n
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        hint = "pass the number of elements, and index the array by the result"
        raise ArgumentError("permutation: `n` is no number", saw=repr(cast("Any", n))[:60], hint=hint)
    return _drawn(_permutation, key, (count,), element_of("int").type, count, 0, device)
