"""Copies of memory between any strides, by one hand-written kernel. It needs only the compiler and a sink.

An element is a number of words, so element types need no kernels of their own. Sizes and strides are parameters. A kernel is
compiled for a word size, a number of axes, and 32- or 64-bit arithmetic. Axes that are contiguous in both memories are merged.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import slangpy as spy

from fusepy.backend.device.counters import Counters
from fusepy.backend.device.sink import Sink
from fusepy.backend.device.target import Target
from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.session import digest_name
from fusepy.backend.slang.stage import COMPUTE
from fusepy.ir.strides import CopyAxis, in_words, merged

_WORDS = {16: "uint4", 8: "uint2", 4: "uint", 2: "uint16_t", 1: "uint8_t"}
_LANES = 8  # of the vectors in which a software driver runs the threads of a group
_THREADS = 256
_GROUPS_PER_ROW = 32768  # lavapipe dispatches at most 65,535 groups along one axis
_PER_GROUP = 8192  # words per group of a software driver
_SHORT = 16  # a last axis below this is copied by one thread
_Planned = tuple[tuple[int, int, bool], tuple[int, ...], int]  # the key of a kernel, numbers beside the addresses, groups
_LIMIT = 1 << 30  # the most words for 32-bit indices; a step beyond the last word must fit too


class Side(NamedTuple):
    """One of the two memories.

    Attributes:
        address: the address of the first element.
        low: the lowest address of all elements; it differs if an axis runs backwards.
        strides: bytes from one element to the next along each axis.
    """

    address: int
    low: int
    strides: tuple[int, ...]

    def near_zero(self) -> Side:
        """Returns the same at the lowest addresses that words lie in alike: copies between such sides are planned once."""
        return Side(self.address - self.low + (self.low & 15), self.low & 15, self.strides)


class StridedCopies:
    """The copies of one device, with their compiled kernels."""

    def __init__(self, sgl: spy.Device, compiler: Compiler, target: Target, counters: Counters):
        self._sgl, self._compiler = sgl, compiler
        self._target, self._counters = target, counters
        self._kernels: dict[tuple[int, int, bool], _Kernel] = {}

    def record(self, sink: Sink, shape: tuple[int, ...], nbytes: int, source: Side, target: Side) -> None:
        """Records a copy of all elements, of `nbytes` each. The device's lock is held.

        There is at least one element, and the two memories do not overlap.

        Raises:
            CompileError: if Slang or the driver rejects the kernel.
        """
        walks = self._target.kind == "software"
        key, numbers, groups = _planned(shape, nbytes, source.near_zero(), target.near_zero(), walks)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = _Kernel(self._sgl, self._compiler, self._target, *key)
            self._counters.kernels_compiled += 1
        kernel.launch(sink, source.low, target.low, numbers, groups)
        self._counters.dispatches += 1

    def clear(self) -> None:
        """Drops the kernels."""
        self._kernels.clear()


@functools.lru_cache(maxsize=1024)
def _planned(shape: tuple[int, ...], nbytes: int, source: Side, target: Side, walks: bool) -> _Planned:
    """Returns how to copy; `walks` on a software driver."""
    axes = merged(shape, nbytes, source.strides, target.strides)
    size, axes = in_words(axes, (source.address, source.low, target.address, target.low))
    if walks:
        axes = _for_lanes(axes)
    count = math.prod(n for n, _, _ in axes)
    reach = max(count, *(sum((n - 1) * abs(axis[k]) for n, *axis in axes) for k in (0, 1)))
    groups, parts = _walk(axes) if walks else (-(-count // _THREADS), [count])
    bases = [(side.address - side.low) // size for side in (source, target)]
    return (size, len(axes), reach >= _LIMIT), (*bases, *(number for axis in axes for number in axis), *parts), groups


def _for_lanes(axes: list[CopyAxis]) -> list[CopyAxis]:
    """Orders the axes for a software driver: the last is short, for one thread; the lanes of a group share the one before."""
    outer = axes if axes[-1][0] >= _SHORT or len(axes) == 1 else axes[:-1]
    last = (1, 0, 0) if outer is axes else axes[-1]
    if outer[-1][0] < _LANES:  # its lanes would idle, and any order of axes is correct
        longest = max(range(len(outer)), key=lambda i: outer[i][0])
        outer = [*outer[:longest], *outer[longest + 1 :], outer[longest]]
    return [*outer, last]


def _walk(axes: Sequence[CopyAxis]) -> tuple[int, list[int]]:
    """Returns the number of groups that copy rows, and their parameters: rows each, words of a row each, parts of a row, all
    rows.
    """
    *outer, (extent, _, _), (short, _, _) = axes
    rows, wanted = math.prod(n for n, _, _ in outer), max(_PER_GROUP // short, _LANES)
    parts = -(-extent // wanted)
    several = max(1, wanted // extent)
    return -(-rows // several) * parts, [several, min(extent, wanted), parts, rows]


class _Kernel:
    """The compiled kernel for words of `size` bytes along `rank` axes, with 64-bit (`wide`) or 32-bit arithmetic."""

    def __init__(self, sgl: spy.Device, compiler: Compiler, target: Target, size: int, rank: int, wide: bool):
        in_entry = target.entry_point_block
        text = (_walking if target.kind == "software" else _flat)(_WORDS[size], rank, wide, in_entry)
        name = digest_name("copy", text)
        sgl.set_cuda_context_current()  # this thread may not be the one of the last call
        self._pipeline, compiled = compiler.pipeline(name, compiler.compile(name, text, (), (), "copy_strided"), ())
        program = compiled.program
        self._sgl, self._program, self._in_entry = sgl, program, in_entry
        self._renew()
        numbers = 2 + 3 * rank + (4 if target.kind == "software" else 1)
        self._format = f"<QQ{numbers}{'q' if wide else 'i'}"
        if in_entry:
            parameters = program.layout.entry_points[0].parameters
            layout = next(parameters[i] for i in range(len(parameters)) if parameters[i].name == "block").type_layout
        else:
            layout = program.reflection["block"].type_layout
        assert layout.size >= struct.calcsize(self._format), (layout.size, self._format)
        self._packed = bytearray(layout.size)  # the rest of it is padding
        self._data = np.frombuffer(self._packed, np.uint8)

    def _renew(self) -> None:
        """Creates an empty root shader object."""
        self._root = self._sgl.create_root_shader_object(self._program)
        cursor = spy.ShaderCursor(self._root)  # a cursor does not keep the root alive
        self._block = (cursor.find_entry_point(0) if self._in_entry else cursor)["block"]

    def launch(self, sink: Sink, source: int, target: int, numbers: Sequence[int], groups: int) -> None:
        """Records the copy. The device's lock is held."""
        struct.pack_into(self._format, self._packed, 0, source, target, *numbers)
        self._block.set_data(self._data)
        grid = [groups, 1, 1] if groups <= _GROUPS_PER_ROW else [_GROUPS_PER_ROW, -(-groups // _GROUPS_PER_ROW), 1]
        sink.dispatch(self._pipeline, self._root, grid)
        if sink.captures:  # the root that it has taken stays as it is
            self._renew()


def _frame(word: str, rank: int, wide: bool, in_entry: bool, parts: str, threads: int, body: Sequence[str]) -> str:
    """Returns the text of a kernel."""
    index = "int64_t" if wide else "int"
    names = ["from", "to", *(f"{what}{axis}" for axis in range(rank) for what in "est"), *parts.split()]
    lines = ["struct Block", "{", f"    {word}* source;", f"    {word}* target;", *(f"    {index} {n};" for n in names), "};"]
    lines += [] if in_entry else ["uniform Block block;"]
    block = ", uniform Block block" * in_entry
    lines += [
        *COMPUTE.attributes((threads, 1, 1)),
        f"void copy_strided(uint3 group : SV_GroupID, uint lane : SV_GroupIndex{block})",
        "{",
        f"    {index} at = {index}(group.y) * {_GROUPS_PER_ROW} + {index}(group.x);",
        f"    {index} a = block.from, b = block.to;",
        *(f"    {line}" for line in (*COMPUTE.first("", (threads, 1, 1), spirv=False, cuda=in_entry), *body)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _steps(rest: str, axes: range, index: str) -> list[str]:
    """Returns lines that split a count into indices along axes, the last one fastest, and add their offsets to `a` and `b`."""
    lines: list[str] = []
    for axis in reversed(axes):
        place = rest if axis == axes[0] else f"{rest} % block.e{axis}"
        lines += [f"{index} i{axis} = {place};", f"a += i{axis} * block.s{axis};", f"b += i{axis} * block.t{axis};"]
        lines += [] if axis == axes[0] else [f"{rest} /= block.e{axis};"]
    return lines


def _flat(word: str, rank: int, wide: bool, in_entry: bool) -> str:
    """Returns the kernel for a GPU: one thread for each word."""
    index = "int64_t" if wide else "int"
    body = [f"{index} rest = at * {_THREADS} + {index}(lane);", "if (rest >= block.count) return;"]
    body += [*_steps("rest", range(rank), index), "block.target[b] = block.source[a];"]
    return _frame(word, rank, wide, in_entry, "count", _THREADS, body)


def _walking(word: str, rank: int, wide: bool, in_entry: bool) -> str:
    """Returns the kernel for a driver on the CPU: a group walks along rows, so that only a new row costs divisions."""
    index, x, short = "int64_t" if wide else "int", rank - 2, rank - 1
    one = [
        f"{index} c = a + x * block.s{x}, d = b + x * block.t{x};",
        f"for ({index} k = 0; k < block.e{short}; ++k)",
        f"    block.target[d + k * block.t{short}] = block.source[c + k * block.s{short}];",
    ]
    body = [
        f"{index} row = at / block.parts * block.several;",
        f"{index} first = at % block.parts * block.segment;",
        f"{index} end = min(first + block.segment, block.e{x});",
        f"{index} last = min(row + block.several, block.rows);",
        "for (; row < last; ++row)",
        "{",
        f"    {index} rest = row;",
        "    a = block.from;",
        "    b = block.to;",
        *(f"    {line}" for line in _steps("rest", range(x), index)),
        f"    for ({index} x = first + {index}(lane); x < end; x += {_LANES})",
        "    {",
        *(f"        {line}" for line in one),
        "    }",
        "}",
    ]
    return _frame(word, rank, wide, in_entry, "several segment parts rows", _LANES, body)
