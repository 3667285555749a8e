"""Accumulators where other threads find them: in memory, for a later kernel, and in the memory that a group shares."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.accumulators import Member
from fusepy.backend.emit.operand import BLOCK, Field, from_storage, is_split, join, parts, pointee
from fusepy.backend.emit.stores import assigned
from fusepy.ir.graph import declare


class Partials:
    """An array in memory for each member of an ``FzAcc``: those that a kernel reads (`prefix` ``q``) or leaves there (``p``)."""

    def __init__(self, prefix: str, role: str, members: Sequence[Member], cuda: bool):
        self.prefix, self.role, self.members, self.cuda = prefix, role, members, cuda

    def fields(self) -> list[Field]:
        """The arrays in the parameter block."""
        of = enumerate(self.members)
        return [Field(f"{pointee(t, self.cuda)}*", f"{self.prefix}_{name}", self.role, k) for k, (name, t) in of]

    def load(self, at: str, name: str = "found") -> list[str]:
        """A new accumulator `name` with what lies at a place."""
        lines = [f"FzAcc {name};"]
        for member, type in self.members:
            pointer = f"{BLOCK}.{self.prefix}_{member}"
            if is_split(type, self.cuda) and type.scalar is not None:
                value = join(type, type.scalar, iter(parts(pointer, at, type)))
            else:
                value = from_storage(f"{pointer}[{at}]", type)
            lines.append(f"{name}.{member} = {value};")
        return lines

    def store(self, at: str, name: str) -> list[str]:
        """Leaves an accumulator at a place."""
        pointer = f"{BLOCK}.{self.prefix}"
        return [assigned(f"{pointer}_{member}", at, f"{name}.{member}", type, self.cuda) for member, type in self.members]


class SharedMemory:
    """An accumulator for each thread of a group, for the others of the group to see."""

    def __init__(self, members: Sequence[Member]):
        self.members = members

    def declared(self, threads: int) -> list[str]:
        return [f"groupshared {declare(t, f'fz_s_{n}')}[{threads}];" for n, t in self.members]

    def publish(self, acc: str) -> list[str]:
        """Shows what a thread has."""
        return [f"fz_s_{name}[fz_lane] = {acc}.{name};" for name, _ in self.members]

    def read(self, lane: str, acc: str) -> list[str]:
        """Takes what another thread has."""
        return [f"{acc}.{name} = fz_s_{name}[{lane}];" for name, _ in self.members]
