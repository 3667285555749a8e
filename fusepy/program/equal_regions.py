"""`EqualRegions`: the kernels of a program's regions; equal ones, as of the steps of a loop, are written as text only once."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

from fusepy.backend.emit.variant import Variant
from fusepy.backend.kernels.kernel import Kernel
from fusepy.ir.graph import Graph, Node


def identity(region: Node, variant: Variant) -> object:
    """Returns a key that is equal for regions that print alike, and so have one text."""
    return Graph("", region.operands, [region], region.results).canonical(), variant


class EqualRegions:
    """Builds kernels by `build`, one for all regions that print alike; it keeps none alive."""

    def __init__(self, build: Callable[[Node, Variant], Kernel]):
        self._build = build
        self._kernels: WeakValueDictionary[object, Kernel] = WeakValueDictionary()

    def __call__(self, region: Node, variant: Variant) -> Kernel:
        key = identity(region, variant)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._build(region, variant)
        return kernel
