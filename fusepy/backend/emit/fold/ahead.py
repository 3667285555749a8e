"""Loads ahead of their use: the operands of several elements, in arrays, so that all loads are in flight together."""

from __future__ import annotations

from fusepy.backend.emit.operand import Operand, addressing
from fusepy.backend.emit.text import KernelText
from fusepy.ir.types import Kind
from fusepy.ir.value import declare


class Ahead:
    """The operands of the body that are loaded ahead: those in memory. An array of arrays cannot be declared."""

    def __init__(self, text: KernelText):
        self.text = text
        self.operands: list[Operand] = []
        for o in text.loaded:
            if o.want.kind is not Kind.ARRAY and addressing(text.given.accesses, o) == "memory":
                self.operands.append(o)

    def arrays(self, count: int) -> list[str]:
        """Returns declarations of the arrays for `count` elements."""
        return [f"{declare(o.want, f'l_{o.name}[{count}]')};" for o in self.operands]

    def load(self, at: str) -> list[str]:
        """Returns lines that load the operands of an element into place `at`; they read its coordinates or index."""
        return [f"l_{o.name}[{at}] = {self.text.load(o)};" for o in self.operands]

    def held(self, at: str) -> dict[str, str]:
        """Returns expressions for the operands in place `at`, by name."""
        return {o.name: f"l_{o.name}[{at}]" for o in self.operands}
