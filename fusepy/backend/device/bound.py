"""`Bound`: the device form of a resource that is bound to a kernel by name."""

from __future__ import annotations

from typing import Any


class Bound:
    """The resource bound to a name, and its extents as an array.

    Attributes:
        sampler: the sampler that reads its texels, or None.
    """

    __slots__ = ("__weakref__", "sampler", "shape", "value")

    def __init__(self, value: Any, shape: tuple[int, ...], sampler: Any = None):
        self.value = value
        self.shape = shape
        self.sampler = sampler
