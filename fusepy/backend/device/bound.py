"""`Bound`: the device form of a resource, which is bound to a kernel by name."""

from __future__ import annotations

from typing import Any


class Bound:
    """What is bound under the name of a resource, and the extents that it has as an array.

    Attributes:
        sampler: what its texels are read with, where that takes one.
    """

    __slots__ = ("sampler", "shape", "value")

    def __init__(self, value: Any, shape: tuple[int, ...], sampler: Any = None):
        self.value = value
        self.shape = shape
        self.sampler = sampler
