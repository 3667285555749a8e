"""What a sampler reads of a texture, in float64: Vulkan's rules for filters, address modes, borders and mip levels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Sampling:
    """The settings of a sampler.

    Attributes:
        modes: the address mode of each axis, x first.
        linear: whether it interpolates where it magnifies, where it minifies, and between levels.
        border: the colour outside.
    """

    modes: Sequence[str]
    linear: tuple[bool, bool, bool] = (True, True, True)
    border: Sequence[float] = (0.0, 0.0, 0.0, 0.0)

    def read(self, levels: Sequence[Array], at: Array, level: Array) -> Array:
        """Returns the values at coordinates (points, axes), x first, and levels (points,): (points, channels)."""
        return np.stack([self._one(levels, p, float(d)) for p, d in zip(np.asarray(at, float), np.asarray(level, float))])

    def _one(self, levels: Sequence[Array], at: Array, level: float) -> Array:
        last, smooth = len(levels) - 1, self.linear[0 if level <= 0 else 1]
        place = min(max(level, 0.0), float(last))
        if not self.linear[2]:
            return self._of_level(levels[round(place)], at, smooth)
        first = int(place)
        values = [self._of_level(levels[min(first + k, last)], at, smooth) for k in range(2)]
        return values[0] + (place - first) * (values[1] - values[0])

    def _of_level(self, texels: Array, at: Array, smooth: bool) -> Array:
        extents = texels.shape[-2::-1]
        axes = [self._texels(x, n, mode, smooth) for x, n, mode in zip(at, extents, self.modes)]
        total = np.zeros(texels.shape[-1])
        for corner in itertools.product(*axes):
            index = tuple(i for i, _ in reversed(corner))
            value = np.asarray(self.border[: texels.shape[-1]], float) if None in index else texels[index]
            total = total + np.prod([weight for _, weight in corner]) * value
        return total

    @staticmethod
    def _texels(x: float, n: int, mode: str, smooth: bool) -> list[tuple[int | None, float]]:
        """Returns the texels of an axis with their weights; ``None`` is the border."""
        place = x * n - 0.5 * smooth
        first, part = int(np.floor(place)), place - np.floor(place)
        found = [(first, 1 - part), (first + 1, part)] if smooth else [(first, 1.0)]
        return [(_addressed(i, n, mode), weight) for i, weight in found]


def _addressed(i: int, n: int, mode: str) -> int | None:
    if mode == "wrap":
        return i % n
    if mode == "mirror_repeat":
        return min(i % (2 * n), 2 * n - 1 - i % (2 * n))
    if mode == "mirror_once":
        return min(i if i >= 0 else -1 - i, n - 1)
    if mode == "clamp_to_border":
        return i if 0 <= i < n else None
    return min(max(i, 0), n - 1)
