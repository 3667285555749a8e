"""Accumulators that other threads read: in memory, for a later kernel, and in the shared memory of a group."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.accumulators import Member
from fusepy.backend.emit.operand import BLOCK, Field, from_storage, is_split, join, parts, pointee
from fusepy.backend.emit.store import assigned
from fusepy.ir.value import declare


class Partials:
    """An array in memory for each member of an ``FzAcc``; a kernel reads them (`prefix` ``q``) or writes them (``p``)."""

    def __init__(self, prefix: str, role: str, members: Sequence[Member], cuda: bool):
        self.prefix, self.role, self.members, self.cuda = prefix, role, members, cuda

    def fields(self) -> list[Field]:
        """Returns the pointers to the arrays in the parameter block."""
        of = enumerate(self.members)
        return [Field(f"{pointee(t, self.cuda)}*", f"{self.prefix}_{name}", self.role, k) for k, (name, t) in of]

    def load(self, at: str, name: str = "found") -> list[str]:
        """Returns lines that declare an accumulator `name` and load it from index `at`."""
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
        """Returns lines that store an accumulator at index `at`."""
        pointer = f"{BLOCK}.{self.prefix}"
        return [assigned(f"{pointer}_{member}", at, f"{name}.{member}", type, self.cuda) for member, type in self.members]


class SharedMemory:
    """Shared memory of a group with an accumulator for each thread."""

    def __init__(self, members: Sequence[Member]):
        self.members = members

    def declared(self, threads: int) -> list[str]:
        return [f"groupshared {declare(t, f'fz_s_{n}')}[{threads}];" for n, t in self.members]

    def publish(self, acc: str, place: str = "fz_lane") -> list[str]:
        """Returns lines that write a thread's accumulator to its place in shared memory, or to another one."""
        return [f"fz_s_{name}[{place}] = {acc}.{name};" for name, _ in self.members]

    def read(self, lane: str, acc: str) -> list[str]:
        """Returns lines that read another thread's accumulator."""
        return [f"{acc}.{name} = fz_s_{name}[{lane}];" for name, _ in self.members]
