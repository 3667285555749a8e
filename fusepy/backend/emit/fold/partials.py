"""Accumulators that other threads read: in memory, for a later kernel, and in the shared memory of a group."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.accumulators import Member
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.operand import BARRIER, BLOCK, Field, from_storage, is_split, join, parts, pointee
from fusepy.backend.emit.store import assigned
from fusepy.ir.ops.control import block
from fusepy.ir.types import BOOL, Kind
from fusepy.ir.value import declare

WAVE_BARRIER = "GroupMemoryBarrierWithWaveSync();"
# A flag is raised behind an accumulator, in memory that holds anything before. It is a number of 64 bits that is not there by
# chance, and whoever has seen it takes it away, so that memory that is used again has none. So nothing must be set to zero before
# a launch, and recorded launches can run again. It has two parts, since not all devices have atomics of 64 bits; the first is set
# to zero, and without it there is no flag.
FLAG = (0xA3C59AC3, 0x1D8E4E27)
FLAG_BYTES = 8
_FLAGS = f"""
void fz_raise(uint* flag)
{{
    uint before;
    DeviceMemoryBarrier();
    InterlockedExchange(flag[0], {FLAG[0]:#x}u, before);
    InterlockedExchange(flag[1], {FLAG[1]:#x}u, before);
}}

bool fz_raised(uint* flag)
{{
    uint low, high;
    InterlockedOr(flag[0], 0u, low);
    InterlockedOr(flag[1], 0u, high);
    return low == {FLAG[0]:#x}u && high == {FLAG[1]:#x}u;
}}
"""


class Partials:
    """An array in memory for each member of an ``FzAcc``; a kernel reads them (`prefix` ``q``) or writes them (``p``)."""

    def __init__(self, prefix: str, role: str, members: Sequence[Member], cuda: bool):
        self.prefix, self.role, self.members, self.cuda = prefix, role, members, cuda

    def fields(self) -> list[Field]:
        """Returns the pointers to the arrays in the parameter block."""
        of = enumerate(self.members)
        return [Field(f"{pointee(t, self.cuda)}*", f"{self.prefix}_{name}", self.role, k) for k, (name, t) in of]

    @property
    def flags(self) -> Field:
        """The pointer to the flags of the accumulators, each of two numbers."""
        return Field("uint*", "flags", self.role, len(self.members))

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


def of_lane(members: Sequence[Member], lane: str, name: str, acc: str, cuda: bool) -> list[str]:
    """Returns lines that declare an accumulator and set it to that of a lane of the wave; all lanes must run them.

    CUDA's instruction waits for the lanes in its mask; elsewhere lanes that have left a loop early are not sure to wait for the
    others, unless they are told to.
    """
    return [*([] if cuda else [WAVE_BARRIER]), f"FzAcc {name};", *read_lane(members, lane, name, acc)]


def read_lane(members: Sequence[Member], lane: str, name: str, acc: str) -> list[str]:
    """Returns lines that set an accumulator to that of a lane: SPIR-V passes no matrices, Slang's CUDA no vectors of bools."""
    lines: list[str] = []
    for member, type in members:
        rows = [f"[{row}]" for row in range(type.shape[0])] if type.kind is Kind.MATRIX else [""]
        for row in rows:
            given = f"{acc}.{member}{row}"
            bools = type.shape and type.scalar is BOOL
            sent = f"int{type.shape[-1]}({given})" if bools else given
            read = f"WaveMaskReadLaneAt(~0u, {sent}, {lane})"
            lines.append(f"{name}.{member}{row} = {f'bool{type.shape[-1]}({read})' if bools else read};")
    return lines


class SharedMemory:
    """Shared memory of a group with an accumulator for each thread; the names of its arrays begin with `name`."""

    def __init__(self, members: Sequence[Member], name: str = "fz_s"):
        self.members, self.name = members, name

    def declared(self, threads: int) -> list[str]:
        return [f"groupshared {declare(t, f'{self.name}_{n}')}[{threads}];" for n, t in self.members]

    def publish(self, acc: str, place: str = "fz_lane") -> list[str]:
        """Returns lines that write a thread's accumulator to its place in shared memory, or to another one."""
        return [f"{self.name}_{n}[{place}] = {acc}.{n};" for n, _ in self.members]

    def read(self, lane: str, acc: str) -> list[str]:
        """Returns lines that read another thread's accumulator."""
        return [f"{acc}.{n} = {self.name}_{n}[{lane}];" for n, _ in self.members]


def merged_by_waves(shared: SharedMemory, shape: FoldShape) -> list[str]:
    """Returns lines that merge the accumulators of neighbouring threads into that of the first of them, on CUDA.

    They are merged in a tree down to one wave, whose threads read each other without a barrier.
    """
    other = of_lane(shared.members, "WaveGetLaneIndex() ^ n", "other", "fz_acc", cuda=True)
    merge = ["for (uint n = fz_near / 2; n > 0; n >>= 1)", *block([*other, f"fz_merge(fz_acc, other, {BLOCK}.zero);"])]
    return [
        "uint fz_near = fz_lanes < WaveGetLaneCount() ? fz_lanes : WaveGetLaneCount();",
        "if (fz_lanes > fz_near)",
        *block(merged_by_tree(shared, shape, "fz_near - 1")),
        "if (fz_in < fz_near)",
        *block(merge),
    ]


def merged_by_tree(shared: SharedMemory, shape: FoldShape, end: str = "0") -> list[str]:
    """Returns lines that merge the accumulators of a group's threads in a tree, as long as they are more than `end` apart."""
    first, lane, distance = str(shape.threads // 2), "fz_lane", "n"
    if shape.shared:
        first, lane, distance = "fz_lanes / 2", "fz_in", "n" if shape.inner else "n * fz_beside"
    return [
        *shared.publish("fz_acc"),
        BARRIER,
        f"for (uint n = {first}; n > {end}; n >>= 1)",
        "{",
        f"    if ({lane} < n)",
        "    {",
        "        FzAcc other;",
        *(f"        {line}" for line in shared.read(f"fz_lane + {distance}", "other")),
        f"        fz_merge(fz_acc, other, {BLOCK}.zero);",
        *(f"        {line}" for line in shared.publish("fz_acc")),
        "    }",
        f"    {BARRIER}",
        "}",
    ]


def flag_functions() -> list[str]:
    """Returns the functions that raise a flag, after all earlier stores of a thread, and that ask for one."""
    return _FLAGS.splitlines()[1:]


def merged_chunks(partials: Partials, threads: int, index: str, within: Sequence[str]) -> list[str]:
    """Returns lines that merge the accumulators of all chunks of a result in the first thread of the group of the last chunk.

    The others end here; a group waits only for those that start before it. A group of a result with several chunks has one chunk.

    Args:
        within: lines that merge the accumulators of a group's threads.
    """
    flag = f"({BLOCK}.flags + 2 * at)"

    def each(lines: Sequence[str]) -> list[str]:
        loop = f"for ({index} n = {index}(fz_lane); n < {BLOCK}.chunks; n += {threads})"
        return [loop, *block([f"{index} at = fz_chunks + n;", *lines])]

    lines = [
        f"{index} fz_chunks = fz_out * {BLOCK}.chunks;",
        f"if (fz_in == 0 && fz_out < {BLOCK}.outputs)",
        *block([f"{index} at = fz_chunks + fz_chunk;", *partials.store("at", "fz_acc"), f"fz_raise({flag});"]),
        f"if (fz_chunk + 1 < {BLOCK}.chunks || fz_out >= {BLOCK}.outputs)",
        "    return;",
        *each([f"while (!fz_raised({flag})) {{}}", f"*{flag} = 0;"]),
        "DeviceMemoryBarrier();",
        BARRIER,  # a cache that is not coherent may have got lines of accumulators before the last flag: loads come after it
        "fz_acc = fz_none();",
        *each([*partials.load("at"), f"fz_merge(fz_acc, found, {BLOCK}.zero);"]),
        *within,
    ]
    return [f"if ({BLOCK}.chunks > 1)", *block(lines)]
