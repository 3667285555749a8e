"""What every argument kind provides.

A *marshal* is one Python argument kind: its cache key, what it is to the tracer, and how it is placed on the device. How kernels
reach what it has placed is the matter of an `Access` (`backend.emit.operand`). Lists and NumPy arrays differ in Python only; on
the device both are memory.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fusepy.ir.types import Type
from fusepy.ir.value import Dims

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device


@dataclass(frozen=True)
class Description:
    """An argument as the tracer sees it; see `ir.graph.Value`. What is `copied` is placed in memory of its own by every call."""

    type: Type
    dims: Dims
    container: str
    weak: bool = False
    origin: object = None  # the module of a struct
    copied: bool = False


class Marshal(Protocol):
    """One Python argument kind. Register an instance with `register` for each Python type that it serves.

    Attributes:
        returns: what results become when this kind leads: ``"tensor"``, ``"numpy"``, ``"list"`` or ``"scalar"``.
    """

    returns: str

    def key(self, value: Any) -> Hashable:
        """All of `value` that decides about code: type, element, rank, telling extents. Called on every call, so cheap."""
        ...

    def describe(self, value: Any) -> Description:
        """What the tracer may know; trailing extents of 2 to 4 are told, since they could be consumed by a vector."""
        ...

    def place(self, value: Any, type: Type, device: Device) -> Any:
        """The device form of `value` with elements of `type`: a `Tensor`, a Python number, a `Grid`, or a `Bound` resource.

        Raises:
            FusepyError: if the value cannot be brought to the device.
        """
        ...
