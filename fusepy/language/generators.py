"""Functions that make generators: `grid`, `call_id`, `thread_id`, `wang_hash`, `rand_float`, `linspace`."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Taken
from fusepy.backend.marshals.generators import (
    CallId,
    Grid,
    Linspace,
    RandFloat,
    ThreadId,
    WangHash,
    check_dims,
    check_extents,
    check_hashing,
)
from fusepy.backend.memory.views import integers
from fusepy.errors import ArgumentError, ShapeError
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

SEED = 2640457667  # the default of slangpy


@functools.lru_cache(maxsize=64)
def _made(kind: Any, *given: Any) -> Any:
    """Returns a generator; equal calls get the same object, so that a program has one argument for all of them."""
    return kind(*given)


def _handed(generator: Any, name: str) -> Any:
    """Returns `generator`; inside a fused function as a traced value, which has operators and members."""
    trace = current_trace()
    return generator if trace is None else trace.captured(generator, name)


def grid(shape: Any, *, offset: Sequence[int] | None = None, stride: Sequence[int] | None = None) -> Any:
    """Returns the coordinates of every point of a grid, for an ``int``, ``int2``, ``int3`` or ``int4`` parameter.

    Args:
        shape: extents, slowest dimension first, as in NumPy: ``(height, width)`` for an image. An extent of -1 follows the
            other arguments, and a plain number is that many such extents. A texture or tensor may be passed for its extents.
        offset: added to the index of each dimension; 0 by default.
        stride: factor of the index of each dimension; 1 by default.

    Inside a fused function, pass a traced value to get the grid of its elements: ``m.blur(grid(image), image)``.

    A vector parameter gets the last dimension as ``.x``, so ``grid((height, width))`` gives pixel coordinates ``int2(x, y)``.
    An array parameter (``int[2]``) gets them in the order of the dimensions; only arrays take more than four.

    Raises:
        ShapeError: for negative extents, or lengths that differ.

    Example:
        >>> grid((4, 6))
        grid((4, 6), offset=(0, 0), stride=(1, 1))
    """
    if isinstance(shape, Taken):
        shape = shape.value
    if isinstance(shape, Traced):
        return _along(shape, offset is None and stride is None)
    rank = isinstance(shape, (int, np.integer)) and not isinstance(shape, bool)
    extents = check_extents((-1,) * int(cast("Any", shape)) if rank else shape, "grid", open=True)
    offsets = integers(offset, "grid: offset") if offset is not None else (0,) * len(extents)
    strides = integers(stride, "grid: stride") if stride is not None else (1,) * len(extents)
    for name, given in (("offset", offsets), ("stride", strides)):
        if len(given) != len(extents):
            raise ShapeError(
                f"grid: {name} has another length than shape", saw=given, expected=extents, hint="one number per dimension"
            )
    return _handed(_made(Grid, extents, offsets, strides), "grid")


def _along(value: Traced, plain: bool) -> Traced:
    """Records the coordinates of the elements of a traced value."""
    trace = current_trace()
    rank = value.rank
    if trace is not None and not rank:
        trace.refuse_part(trace.own(value), "grid()")
    if trace is None or not plain or not 1 <= rank <= 4:
        raise ShapeError(
            "grid of a traced value",
            saw=f"{rank} axes" if plain else "an offset or stride",
            expected="a value over one to four axes of the function that is traced, and nothing else",
            hint="compute with the coordinates instead: grid(x) * 2 + 1" if not plain else "pass an array of one to four axes",
        )
    value.check(trace)
    return trace.record("along", [trace.captured(_made(CallId, rank, ()), "grid"), value])


def call_id(dims: int | Sequence[int] = -1) -> Any:
    """Returns the coordinates of each thread in the grid of the call, for integer scalars, vectors and arrays.

    It adds no dimension of its own: in ``f(call_id(), image)`` the image gives the grid. If no argument has extents,
    ``_result=`` gives the grid. A vector gets the last dimension as ``.x``; if it has one component more than the grid,
    that is 0.

    Args:
        dims: the number of coordinates; by default that of the parameter. A shape is short for ``grid(shape)``.

    Raises:
        ArgumentError: for another number than 1 to 4.
        ResolveError: in the call, if the grid has another number of dimensions.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_id", "int f(int i, int x) { return 100 * i + x; }")
        >>> m.f(call_id(), [7, 8, 9])
        [7, 108, 209]
    """
    if isinstance(dims, (tuple, list)):
        return grid(dims)
    return _handed(CallId(check_dims(dims, "call_id"), ()), "call_id")


def thread_id(dims: int = -1) -> Any:
    """Returns the index of each thread in the grid of the call, in C order, as ``.x`` of a ``uint``, ``uint2`` or ``uint3``.

    Args:
        dims: the number of components; by default that of the parameter. All but the first are 0.

    Raises:
        ArgumentError: for another number than 1 to 4.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_thread", "uint f(uint i, uint x) { return 100 * i + x; }")
        >>> m.f(thread_id(), [[7, 8], [9, 7]])
        [[7, 108], [209, 307]]
    """
    return _handed(ThreadId(check_dims(dims, "thread_id"), ()), "thread_id")


def wang_hash(dim: int = -1, seed: int = SEED, warmup: int = 0, hash_seed: bool = True) -> Any:
    """Returns a random ``uint`` or vector per thread; the same seed gives the same numbers.

    Args:
        dim: the number of components; by default that of the parameter.
        seed: 32 bits.
        warmup: rounds of hashing before the seed is mixed in.
        hash_seed: hash the seed first, so that consecutive seeds (frame numbers) give unrelated numbers.

    Raises:
        ArgumentError, RangeError: for a number out of range.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_hash", "uint f(uint r) { return r % 100; }")
        >>> m.f(wang_hash(seed=1), _result=np.empty(4, np.uint32))
        array([90, 84, 31, 61], dtype=uint32)
    """
    number, rounds = check_hashing(seed, hash_seed, warmup, "wang_hash")
    return _handed(WangHash(check_dims(dim, "wang_hash"), (), number, rounds), "wang_hash")


def rand_float(
    min: float = 0.0, max: float = 1.0, dim: int = -1, seed: int = SEED, warmup: int = 0, hash_seed: bool = True
) -> Any:
    """Returns a random ``float`` or vector per thread, evenly distributed from `min` to below `max`.

    The numbers have 23 random bits. The same seed gives the same numbers: use another one for each argument and each frame.
    For ``half`` and ``double`` parameters they are converted.

    Args:
        min, max: the range.
        dim: the number of components; by default that of the parameter.
        seed: 32 bits.
        warmup: rounds of hashing before the seed is mixed in.
        hash_seed: hash the seed first, so that consecutive seeds (frame numbers) give unrelated numbers.

    Raises:
        ArgumentError, RangeError: for a number out of range.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_rand", "float f(float a, float r) { return a + r; }")
        >>> [int(x) for x in m.f([10, 20, 30], rand_float(seed=7))]
        [10, 20, 30]
    """
    low, high = float(min), float(max)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ArgumentError("rand_float: the range is not finite", saw=f"{low} to {high}", hint="give two finite numbers")
    number, rounds = check_hashing(seed, hash_seed, warmup, "rand_float")
    return _handed(RandFloat(check_dims(dim, "rand_float"), (), number, rounds, low, high), "rand_float")


def linspace(start: float, stop: float, num: int = 50, *, endpoint: bool = True) -> Any:
    """Returns evenly spaced numbers for a ``float``, ``half`` or ``double`` parameter, one per thread, without memory.

    Args:
        start, stop: the first and the last number.
        num: the number of values.
        endpoint: `stop` is the last value, as in NumPy.

    Raises:
        ShapeError: for a negative count.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_line", "float f(float x) { return x * x; }")
        >>> m.f(linspace(0, 2, 5), _result="list")
        [0.0, 0.25, 1.0, 2.25, 4.0]
    """
    (count,) = check_extents((num,), "linspace")
    return _handed(Linspace(float(start), float(stop), count, endpoint), "linspace")
