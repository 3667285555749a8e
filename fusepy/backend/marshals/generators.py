"""Arguments that are computed on the device instead of read from memory. `fusepy.language.generators` creates them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from copy import copy
from numbers import Integral
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.texture import is_texture, kind_of
from fusepy.backend.memory.views import integers
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, RangeError, ShapeError
from fusepy.ir.argmap import check_rank
from fusepy.ir.strides import TensorShape
from fusepy.symbolic import Symbolic, static_hint


class Grid(Sealed):
    """Integer coordinates of a grid; created by `grid`.

    Attributes:
        shape: extents; 1 for an open axis.
        step: increment of the coordinate along each axis; 0 along an axis of extent 1 that is only broadcast.
    """

    __slots__ = ("offset", "open", "shape", "step", "stride")

    def __init__(self, shape: tuple[int, ...], offset: tuple[int, ...], stride: tuple[int, ...]):
        self.open = tuple(n == -1 for n in shape)
        self.shape = tuple(abs(n) for n in shape)
        self.offset = offset
        self.stride = stride
        self.step = tuple(s if o or n != 1 else 0 for s, o, n in zip(stride, self.open, self.shape))

    def over(self, shape: tuple[int, ...]) -> Grid:
        """Returns the same grid with its open extents taken from `shape`, which is aligned on the right."""
        given = (1,) * (len(self.shape) - len(shape)) + shape[max(len(shape) - len(self.shape), 0) :]
        return Grid(tuple(g if o else n for g, o, n in zip(given, self.open, self.shape)), self.offset, self.stride)

    def __repr__(self) -> str:
        shape = tuple(-1 if o else n for o, n in zip(self.open, self.shape))
        return f"grid({shape}, offset={self.offset}, stride={self.stride})"


class Shape(TensorShape):
    """TensorShape, slowest dimension first. As an argument, it supplies the coordinates of every point, like ``grid(shape)``.

    Write ``Shape(4, 6)``, ``Shape((4, 6))``, or ``Shape(image)`` for the extents of a texture or tensor. An extent of -1 is not
    known yet: what needs it raises.

    Example:
        >>> Shape(4, 6), Shape((4, 6))[0]
        (Shape(4, 6), 4)
    """

    __slots__ = ()

    def __new__(cls, *extents: Any) -> Shape:
        given = extents[0] if len(extents) == 1 and not isinstance(extents[0], Integral) else extents
        return super().__new__(cls, check_extents(given, "Shape", open=True, empty=True))

    def __repr__(self) -> str:
        return f"Shape({', '.join(map(str, self))})"


class Linspace(Sealed):
    """Evenly spaced floats; created by `linspace`."""

    __slots__ = ("last", "shape", "start", "step", "stop")

    def __init__(self, start: float, stop: float, count: int, endpoint: bool):
        gaps = count - 1 if endpoint else count
        self.shape = (count,)
        self.start = start
        self.stop = stop
        self.step = (stop - start) / gaps if gaps > 0 else 0.0
        self.last = count - 1 if endpoint and count > 1 else -1  # the index of the number that is exactly `stop`

    def __repr__(self) -> str:
        return f"linspace({self.start}, {self.stop}, {self.shape[0]})"


class Generator(Sealed):
    """A value for each thread, computed from its index in the grid. It has the extents of the call's grid, unless `shape` is set.

    Attributes:
        dims: the number of components; 0 is that of the Slang parameter.
        shape: its own extents; ``()`` for those of the other arguments.
    """

    __slots__ = ("dims", "shape")
    container = ""

    def __init__(self, dims: int, shape: tuple[int, ...]):
        self.dims = dims
        self.shape = shape

    def over(self, shape: tuple[int, ...]) -> Generator:
        """Returns the same generator with its own extents."""
        made = copy(self)
        made.shape = shape
        return made

    def __repr__(self) -> str:
        names = [n for cls in reversed(type(self).__mro__) for n in getattr(cls, "__slots__", ())]
        return f"{self.container}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


class CallId(Generator):
    """Coordinates in the grid of the call; created by `call_id`."""

    __slots__ = ()
    container = "CallId"


class ThreadId(Generator):
    """The linear index in the grid, in C order; created by `thread_id`."""

    __slots__ = ()
    container = "ThreadId"


class WangHash(Generator):
    """Random 32-bit integers; created by `wang_hash`."""

    __slots__ = ("seed", "warmup")
    container = "WangHash"

    def __init__(self, dims: int, shape: tuple[int, ...], seed: int, warmup: int):
        super().__init__(dims, shape)
        self.seed = seed
        self.warmup = warmup


class RandFloat(WangHash):
    """Random floats; created by `rand_float`."""

    __slots__ = ("high", "low")
    container = "RandFloat"

    def __init__(self, dims: int, shape: tuple[int, ...], seed: int, warmup: int, low: float, high: float):
        super().__init__(dims, shape, seed, warmup)
        self.low = low
        self.high = high


COMPUTED = (Grid, Shape, Linspace, Generator, range)  # the classes of what a kernel computes; their objects never change


def check_extents(shape: Any, what: str, open: bool = False, empty: bool = False) -> tuple[int, ...]:
    """Returns `shape` as extents. With `open`, -1 is an extent that follows the other arguments.

    A texture or tensor gives its own extents. A NumPy array is a sequence of extents, like a list.

    Raises:
        ShapeError: for anything else.
    """
    parts: Sequence[Any] = cast("Sequence[Any]", shape) if isinstance(shape, (tuple, list)) else (shape,)
    if any(isinstance(part, Symbolic) for part in parts):
        raise ShapeError(
            f"{what}: the extents of a traced value are not known while it is traced",
            saw=cast("Any", shape),
            hint=static_hint(parts, f"pass {what}(…) as an argument, or write grid(1) for coordinates in the grid of others"),
        )
    extents = integers(_given(shape), f"{what}: a shape")
    if not extents and not empty:
        raise ShapeError(f"{what}: 0 dimensions", expected="1 or more", hint="write (1,)")
    check_rank(len(extents), what)
    if min(extents, default=0) < (-1 if open else 0):
        raise ShapeError(f"{what}: a negative extent", saw=extents, hint="extents are 0 or more")
    return extents


def _given(shape: Any) -> Iterable[Any]:
    if is_texture(shape):
        return kind_of(shape).shape(shape)
    array: Any = shape
    return array if isinstance(shape, np.ndarray) else getattr(array, "shape", array)


def check_dims(dims: Any, what: str) -> int:
    """Returns a number of components from 1 to 4; -1, slangpy's value for "same as the parameter", becomes 0.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(dims, bool) or not isinstance(dims, int) or dims not in (-1, 1, 2, 3, 4):
        raise ArgumentError(
            f"{what}: {dims!r} components", expected="1 to 4, or -1 for the size of the parameter", hint="omit dims"
        )
    return max(dims, 0)


def check_hashing(seed: Any, hash_seed: bool, warmup: Any, what: str) -> tuple[int, int]:
    """Returns a seed of 32 bits, hashed so that consecutive seeds give unrelated numbers, and a number of warm-up rounds.

    Raises:
        RangeError: if the seed does not fit in 32 bits, or for less than 0 or more than 1024 rounds.
    """
    number, rounds = operator.index(seed), operator.index(warmup)
    if not 0 <= number <= 0xFFFFFFFF:
        raise RangeError(f"{what}: a seed has 32 bits", saw=number, expected="0 to 4294967295", hint="take it modulo 2**32")
    if not 0 <= rounds <= 1024:
        raise RangeError(f"{what}: {rounds} warm-up rounds", expected="0 to 1024", hint="a few rounds are plenty")
    return hashed(number) if hash_seed else number, rounds


def hashed(seed: int) -> int:
    """Returns Wang's 32-bit integer hash, the same as on the device."""
    seed = (seed ^ 61) ^ (seed >> 16)
    seed = seed * 9 & 0xFFFFFFFF
    seed ^= seed >> 4
    seed = seed * 0x27D4EB2D & 0xFFFFFFFF
    return seed ^ (seed >> 15)
