"""Encodings: a few coordinates become many numbers that a network can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapping import vmap
from fusepy.backend.device.device import Device
from fusepy.backend.device.open import default_device
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, RangeError, ShapeError
from fusepy.functions.fused import FusedFunction
from fusepy.language.movement.extents import ndim
from fusepy.modules.libraries import library
from fusepy.modules.module import Module
from fusepy.nn.checks import check_input, check_seed
from fusepy.nn.parameters import parameters as tensors_of
from fusepy.trace.traced import Traced

_SOURCE = "import fusepy_nn;\nimport fusepy;\n" + "".join(
    f"""
[Differentiable] float frequency{d}(float x[{d}], int k) {{ return frequency_feature<{d}>(x, k); }}
[Differentiable] float hash{d}(Tensor<float, 2> table, int log2_size, float base, float growth, int k, int features, float x[{d}])
{{
    HashGrid grid = {{ log2_size, base, growth }};
    return hash_feature<{d}>(table, grid, k / features, k % features, x);
}}
"""
    for d in (1, 2, 3, 4)
)


def _module(device: Device) -> Module:
    return library(device, "encodings", lambda d: Module.load_from_source(d, "encodings", _SOURCE))


class _Encoding(Sealed):
    """The base of encodings: points (…, dimensions) become (…, width) numbers, in one kernel with what follows.

    Attributes:
        dimensions: the number of coordinates of a point, 1 to 4.
        width: the number of numbers that it becomes.
    """

    __slots__ = ("_device", "_numbers", "_run", "dimensions", "width")

    def __init__(self, dimensions: int, width: int, device: Device | None):
        if dimensions not in (1, 2, 3, 4):
            raise RangeError(
                "an encoding takes points of 1 to 4 dimensions", saw=dimensions, hint="pass dimensions=2, for example"
            )
        self.dimensions = dimensions
        self.width = width
        self._device = device or default_device()
        self._numbers = Tensor.from_numpy(self._device, np.arange(width, dtype=np.int32))

    def _points(self, x: Any) -> tuple[Any, Any]:
        """Returns points and the numbers of the results, mapped to a grid with one more axis than the points have."""
        batch = ndim(x) - 1
        return vmap(x, tuple(range(batch))), vmap(self._numbers, batch)

    def _check(self, x: Any) -> Any:
        if isinstance(x, Traced):
            return x
        check_input(x, "an encoding")
        x = x if hasattr(x, "shape") else np.asarray(x, np.float32)
        shape = cast("tuple[int, ...]", x.shape)
        if not shape or shape[-1] != self.dimensions:
            raise ShapeError(
                "points of another number of dimensions",
                saw=shape,
                expected=f"(…, {self.dimensions})",
                hint=f"pass dimensions={shape[-1] if shape else 1} to the encoding, or other points",
            )
        return x


def _positive(what: str, **given: float) -> None:
    for name, value in given.items():
        if not isinstance(cast("object", value), (int, float, np.number)) or value <= 0:
            raise RangeError(f"{what}: {name} is positive", saw=value, hint=f"pass {name}=8, for example")


class FrequencyEncoding(_Encoding):
    """Sines and cosines of the coordinates, of doubling frequencies (Mildenhall et al., 2020).

    Args:
        octaves: the number of frequencies: ``pi``, ``2 pi``, ``4 pi``, …
        dimensions: the number of coordinates of a point.

    Example:
        >>> import fusepy as fp, numpy as np
        >>> encode = fp.nn.FrequencyEncoding(4, dimensions=2)
        >>> encode.width, encode(np.zeros((5, 2), np.float32)).shape
        (16, (5, 16))
    """

    __slots__ = ()

    def __init__(self, octaves: int, dimensions: int = 2, device: Device | None = None):
        _positive("FrequencyEncoding", octaves=octaves)
        super().__init__(dimensions, 2 * dimensions * octaves, device)
        self._run = FusedFunction(self._encoded)

    def __call__(self, x: Any) -> Any:
        """Returns, for each octave, the sines of all coordinates, then the cosines.

        Raises:
            ShapeError: for points of another number of dimensions, where extents are known: outside of fused functions.
        """
        return self._run(self._check(x))

    def _encoded(self, x: Any) -> Any:
        points, numbers = self._points(x)
        return _module(self._device)[f"frequency{self.dimensions}"](points, numbers)


class HashGrid(_Encoding):
    """A trainable table that is read at the corners of grids of several resolutions (Müller et al., 2022), over the unit cube.

    Args:
        levels: the number of grids.
        features: the numbers that each of them gives.
        log2_size: the table has ``2**log2_size`` rows for each level. Corners of finer levels share rows, by a hash.
        base: the number of cells along an axis of the coarsest level.
        growth: the factor from level to level.
        dimensions: the number of coordinates of a point; each is clamped to 0 to 1.
        seed: for the first table.

    Example:
        >>> import fusepy as fp, numpy as np
        >>> encode = fp.nn.HashGrid(levels=2, features=2, log2_size=10, base=4, growth=2)
        >>> encode(encode.parameters(), np.zeros((5, 2), np.float32)).shape
        (5, 4)
    """

    __slots__ = ("base", "features", "growth", "levels", "log2_size", "seed")

    def __init__(
        self,
        levels: int = 8,
        features: int = 2,
        log2_size: int = 14,
        base: float = 8,
        growth: float = 1.6,
        dimensions: int = 2,
        seed: int = 0,
        device: Device | None = None,
    ):
        _positive("HashGrid", levels=levels, features=features, log2_size=log2_size, base=base, growth=growth)
        check_seed(seed, "HashGrid")
        super().__init__(dimensions, levels * features, device)
        self._run = FusedFunction(self._encoded)
        self.levels, self.features, self.log2_size = levels, features, log2_size
        self.base, self.growth, self.seed = float(base), float(growth), seed

    def parameters(self, device: Device | None = None) -> dict[str, Tensor]:
        """Returns a fresh ``"table"`` of (levels * 2**log2_size, features) numbers, uniform from -1e-4 to 1e-4."""
        shape = (self.levels << self.log2_size, self.features)
        table = np.random.default_rng(self.seed).uniform(-1e-4, 1e-4, shape).astype(np.float32)
        return {"table": tensors_of(table, device or self._device)}

    def __call__(self, parameters: Mapping[str, Any], x: Any = None) -> Any:
        """Returns the numbers of all levels, from the coarsest on.

        Raises:
            ArgumentError: for parameters without a table.
            ShapeError: for points of another number of dimensions, or another table, where extents are known.
        """
        table = parameters.get("table") if isinstance(cast("object", parameters), Mapping) else None
        if table is None or len(parameters) != 1:
            raise ArgumentError(
                "these are not the parameters of a hash grid",
                saw=type(parameters).__name__,
                expected="table",
                hint="params = grid.parameters(), and grid(params, x)",
            )
        shape = (self.levels << self.log2_size, self.features)
        if not isinstance(table, Traced) and np.shape(table) != shape:
            raise ShapeError(
                "the table of a hash grid has another shape",
                saw=np.shape(table),
                expected=shape,
                hint="make the grid with the settings with which its parameters were made",
            )
        return self._run(table, self._check(x))

    def _encoded(self, table: Any, x: Any) -> Any:
        points, numbers = self._points(x)
        read = _module(self._device)[f"hash{self.dimensions}"]
        return read(table, self.log2_size, self.base, self.growth, numbers, self.features, points)
