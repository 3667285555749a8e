"""``None``: an ``Optional`` parameter without a value."""

from __future__ import annotations

from collections.abc import Hashable

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Field, Operand
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.base import Description
from fusepy.ir.types import VOID, Type


class NoneMarshal:
    """``None``, for ``Optional`` parameters only."""

    returns = "scalar"

    def key(self, value: None) -> Hashable:
        return None

    def describe(self, value: None) -> Description:
        return Description(VOID, (), "None")

    def place(self, value: None, type: Type, device: Device) -> None:
        return None


class NoneAccess:
    """Slang's ``none``; nothing is passed."""

    addressing = "uniform"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        return []

    def load(self, operand: Operand, variant: Variant) -> str:
        return "none"
