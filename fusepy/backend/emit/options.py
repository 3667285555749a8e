"""Compiler options of the user: the shape of thread groups, link-time constants, type conformances."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fusepy.backend.device.target import Target
from fusepy.backend.emit.operand import Access
from fusepy.backend.emit.rounded import Rounded
from fusepy.backend.emit.tuning import Shape
from fusepy.errors import ArgumentError
from fusepy.ir.arrivals import Arrival

Constant = tuple[str, str, Any]  # Slang type, name, value


@dataclass(frozen=True)
class Options:
    """Compiler options of a kernel. They are part of its cache key, unlike globals.

    Attributes:
        numthreads: threads of a group along x, y, z; one number does not change the indexing.
        constants: type, name and value of each link-time constant, by name.
        conformances: interface, type and id.
        group_rank: dimensions that the grid must have at least; that of ``call_group_shape``, else 0.
        group: the elements of a group along each dimension of the grid, slowest first, as ``call_group_shape`` says.
        prelude: Slang texts that kernels have behind their imports.
        per_thread: elements of a thread, for a group of so many threads; `tuned` is what `explain` says of both.
        deterministic: gradients to which threads add are exact sums, which the order of additions does not change.
        fast_math: floats may be rounded otherwise than IEEE 754 says, where that is faster.
    """

    numthreads: tuple[int, ...] = ()
    constants: tuple[Constant, ...] = ()
    conformances: tuple[tuple[str, str, int], ...] = ()
    group_rank: int = 0
    group: tuple[int, ...] = ()
    prelude: tuple[str, ...] = ()
    deterministic: bool = False
    fast_math: bool = False
    per_thread: int = 0
    tuned: str = field(default="", compare=False)

    @property
    def of_gradients(self) -> Options:
        """The options that gradients depend on: they are needed before a function is traced."""
        return replace(NO_OPTIONS, deterministic=self.deterministic)

    @property
    def tile(self) -> tuple[int, ...]:
        """The group as a tile of the grid; empty where threads are numbered linearly."""
        return self.numthreads if len(self.numthreads) > 1 else ()

    def shape(self, tile: tuple[int, ...], linear: bool) -> Shape | None:
        """Returns the thread shape that the user sets, if any. Only elements without coordinates are loaded in batches."""
        return (
            Shape(math.prod(self.numthreads), max(self.per_thread, 1), linear and self.per_thread > 1)
            if self.numthreads or tile
            else None
        )

    def exports(self) -> list[str]:
        """Returns Slang that defines the constants, and the user's own."""
        constants = (f"export static const {type} {name} = {literal(type, value)};" for type, name, value in self.constants)
        return [*constants, *self.prelude]

    def joined(self, other: Options, what: str) -> Options:
        """Returns these options merged with those of a function that is called inside.

        Raises:
            ArgumentError: if the two conflict.
        """
        if other in (NO_OPTIONS, self):
            return self
        if self.numthreads and other.numthreads and self.numthreads != other.numthreads:
            raise _conflict(what, "numthreads", self.numthreads, other.numthreads)
        mine = {name: (type, name, value) for type, name, value in self.constants}
        for type, name, value in other.constants:
            if mine.setdefault(name, (type, name, value)) != (type, name, value):
                raise _conflict(what, f"constant {name!r}", mine[name][2], value)
        linked = tuple(dict.fromkeys([*self.conformances, *other.conformances]))
        constants = tuple(mine[name] for name in sorted(mine))
        return replace(
            self,
            constants=constants,
            conformances=linked,
            deterministic=self.deterministic or other.deterministic,
            fast_math=self.fast_math or other.fast_math,
            numthreads=self.numthreads or other.numthreads,
            per_thread=self.per_thread if self.numthreads else other.per_thread,
            group_rank=max(self.group_rank, other.group_rank),
            group=self.group or other.group,
            prelude=tuple(dict.fromkeys([*self.prelude, *other.prelude])),
        )


NO_OPTIONS = Options()


class CallShape:
    """slangpy's ``CallShapeInfo`` for user code: the place of the thread in the grid, and in its group.

    Args:
        rank: dimensions of the grid.
        group: see `Options`.
    """

    def __init__(self, rank: int, group: tuple[int, ...]):
        self._rank = rank
        self._group = (1,) * (max(rank, 1) - len(group)) + group

    def exports(self) -> list[str]:
        """Returns Slang that imports slangpy's module and defines its link-time constants."""
        count = len(self._group)
        steps = [math.prod(self._group[i + 1 :]) for i in range(count)]
        lists = {"call_group_strides": steps, "call_group_shape_vector": self._group}
        return [
            "import slangpy;",
            f"export static const int call_data_len = {count};",
            f"export static const int call_group_size = {math.prod(self._group)};",
            *(f"export static const int[{count}] {n} = {{ {', '.join(map(str, v))} }};" for n, v in lists.items()),
        ]

    def lines(self, block: str) -> list[str]:
        """Returns statements for an element with the coordinates ``d0, d1, …``; `block` has the extents of the grid."""
        at = [f"int(d{d})" for d in range(self._rank)] or ["0"]
        extents = [f"int({block}.extent{d})" for d in range(self._rank)] or ["1"]
        groups = [f"(({n} + {size - 1}) / {size})" if size > 1 else n for n, size in zip(extents, self._group)]
        steps = [" * ".join(groups[i + 1 :]) or "1" for i in range(len(groups))]
        group = " + ".join(f"{p} / {size} * ({step})" for p, size, step in zip(at, self._group, steps))
        lane = " + ".join(f"{p} % {size} * {math.prod(self._group[i + 1 :])}" for i, (p, size) in enumerate(zip(at, self._group)))
        count, listed = len(at), (", ".join(x) for x in (steps, groups, extents))
        places = ["int fz_group_at = " + group + ";", "int fz_lane_at = " + lane + ";"]
        names = ("fz_group_steps", "fz_groups", "fz_extents")
        places += [f"int[{count}] {name} = {{ {values} }};" for name, values in zip(names, listed)]
        call = "fz_lane_at, int3(fz_group_at, 0, 0), int3(fz_group_at, 0, 0), fz_group_steps, fz_groups, fz_extents"
        return [*places, f"init_thread_local_call_shape_info<{count}>({call});"]


def literal(type: str, value: Any) -> str:
    """Returns the Slang literal of a number, or of the components of a vector."""
    if isinstance(value, tuple):
        parts: list[Any] = [*value]
        return f"{type}({', '.join(literal('', v) for v in parts)})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}{'ull' if value >= 1 << 63 else 'll' if abs(value) >= 1 << 31 else ''}"
    return f"{value!r}" + ("" if type == "double" else "f")


def _conflict(what: str, name: str, a: Any, b: Any) -> ArgumentError:
    return ArgumentError(
        f"{what}: two functions of one kernel want different values of {name}",
        saw=f"{a} and {b}",
        hint="give both the same, or run them in kernels of their own",
    )


@dataclass(frozen=True)
class Emission:
    """The context of code generation: target, accesses, modules and options.

    Attributes:
        accesses: the access of each `Arrival`.
        imports: the names to import for each module, by the aliases of the graph.
        taken: names of functions in the imported modules, which hide Slang's own.
        options: thread groups and link-time constants that the user sets.
        plain: omits the user's names and lines, so that equal regions have equal texts.
        placed: user code asks slangpy's ``CallShapeInfo`` for the place of its thread.
    """

    target: Target
    accesses: Mapping[Arrival, Access]
    imports: Mapping[str, Sequence[str]]
    taken: Collection[str] = ()
    options: Options = NO_OPTIONS
    plain: bool = False
    placed: bool = False

    @property
    def cuda(self) -> bool:
        return self.target.kind == "cuda"

    def rounded(self) -> Rounded:
        """Returns what marks the operations of one function."""
        return Rounded(self.target, self.options.fast_math)
