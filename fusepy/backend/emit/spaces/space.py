"""Index spaces, which assign the elements of the grid to threads, and the work on one element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from fusepy.backend.emit.effects import may_write
from fusepy.backend.emit.matrices import is_narrow
from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.turned import Squares
from fusepy.backend.emit.text import KernelText
from fusepy.backend.emit.tuning import is_light
from fusepy.backend.emit.variant import Variant
from fusepy.ir.ops.control import block
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import declare

NOTHING: Mapping[str, str] = MappingProxyType({})


class ElementWork:
    """The work on one element, as lines of Slang that an index space puts into its loops.

    These lines read the element's coordinates ``d0, d1, …``, or in linear variants its number in C order, ``i``.

    Attributes:
        light: the body is a few operations, so that it may be unrolled for several elements.
        placed: an element needs its coordinates in a linear variant as well.
        loads: declaration, name and value of each local that is loaded; `same` are the names of those that all elements share,
            and `outputs` the declarations of computed locals.
        arrays: some local is an array already, so that an array of such locals cannot be declared in C style, or a matrix of
            integers of which Slang makes bad SPIR-V in an array; or user code asks for the place of its thread, which changes
            from element to element.
    """

    def __init__(self, text: KernelText):
        self.text = text
        self.light = is_light(text.region)
        self.placed = True in [s.placed for s in text.stores] or text.any_addressed("computed") or text.place is not None
        self.loads = [(declare(o.want, f"a_{o.name}"), f"a_{o.name}", text.load(o)) for o in text.loaded]
        self.same = {f"a_{o.name}" for o in text.loaded if text.is_uniform(o)}
        self.outputs = [declare(v.type, f"r_{j}") for j, v in enumerate(text.body.outputs)]
        types = [*(o.want for o in text.operands), *(v.type for v in text.body.outputs)]
        self.arrays = text.place is not None or any(map(is_single, types))
        self.before, self.call = text.before, text.call

    @property
    def squares(self) -> Squares:
        """The shared memory of operands that lie turned."""
        return Squares(self.text)

    @property
    def number(self) -> list[str]:
        """The statement that computes an element's linear index from its coordinates, if one is needed."""
        return [linear_index(self.text.variant)] * (self.text.any_addressed("index") or self.text.variant.dense)

    def element(self, numbered: bool = False) -> list[str]:
        """Returns lines that load, compute and store one element; with `numbered`, they compute its linear index if needed."""
        return [*(self.number if numbered else ()), *self.text.element(range(len(self.text.stores)))]

    def store(self, spell: Callable[[str], str]) -> list[str]:
        """Returns the statements that store all results; `spell` maps the names of locals."""
        return [store.write(spell(f"r_{j}")) for j, store in enumerate(self.text.stores)]

    def batched(
        self, count: int, inside: str, load: Sequence[str], store: Sequence[str], held: Mapping[str, str] = NOTHING
    ) -> list[str]:
        """Returns lines that load `count` elements, then compute them, then store them.

        The loads are then in flight together; the compiler cannot reorder them, since raw pointers may alias.

        Args:
            inside: the condition under which element ``k`` exists. If it does not, another one is loaded, and user code is not
                called for that: it may write memory. Other code is: a branch would keep it from reading arrays for the next
                element while it waits.
            load: lines that set the place of element ``k``, for the loads; `store` those that store it.
            held: expressions for locals that are loaded already.
        """
        guard = [f"if ({inside})"] if may_write(self.text.region) else []
        call = self.each(count, [*guard, f"{'    ' * len(guard)}{self.call(self.kth)}"])
        return [*self.shared(), *self.locals(count), *self.loading(count, load, held), *call, *self.each(count, store)]

    def run(self, count: int, place: Sequence[str]) -> list[str]:
        """Returns lines that load, compute and store `count` elements together on a CPU; `place` sets the place of element ``k``.

        What all elements share is read behind the loads. To the driver this is a branch, which keeps it from moving each load to
        its use, where the processor would wait for it.
        """
        return [
            *self.locals(count),
            *self.loading(count, place),
            *self.shared(),
            *self.each(count, [self.call(self.kth)]),
            *self.each(count, [*place, *self.store("{}[k]".format)]),
        ]

    def kth(self, name: str) -> str:
        """Returns the local of element ``k``."""
        return name if name in self.same else f"{name}[k]"

    def shared(self) -> list[str]:
        """Returns the declarations of locals that all elements share."""
        return [f"{declared} = {value};" for declared, name, value in self.loads if name in self.same]

    def locals(self, count: int) -> list[str]:
        """Returns the declarations of the other locals of `count` elements."""
        loaded = [declared for declared, name, _ in self.loads if name not in self.same]
        return [f"{declared}[{count}];" for declared in (*loaded, *self.outputs)]

    def loading(self, count: int, place: Sequence[str], held: Mapping[str, str] = NOTHING) -> list[str]:
        """Returns a loop that loads `count` elements; `place` sets the place of element ``k``."""
        loaded = [f"{self.kth(name)} = {held.get(name, value)};" for _, name, value in self.loads if name not in self.same]
        return self.each(count, [*place, *loaded])

    def each(self, count: int, lines: Sequence[str]) -> list[str]:
        """Returns a loop over elements ``k``."""
        inside = block(lines) if len(lines) > 1 else [f"    {line}" for line in lines]
        return [f"{self.text.unroll} for (uint k = 0; k < {count}; ++k)", *inside]

    def nearest(self, at: str, last: str) -> str:
        """Returns an expression for the smaller of two numbers."""
        return f"{at} < {last} ? {at} : {last}" if "min" in self.text.given.taken else f"min({at}, {last})"


def is_single(type: Type) -> bool:
    """True if locals of a type cannot stand in an array: arrays, and matrices of which Slang makes bad SPIR-V there."""
    return type.kind is Kind.ARRAY or (type.kind is Kind.MATRIX and is_narrow(type))


class IndexSpace(Protocol):
    """A way for threads to cover the grid.

    Attributes:
        threads: threads of a group along x, y and z.
        lane: the parameter with a thread's index in its group, see `backend.slang.stage`.
    """

    @property
    def threads(self) -> tuple[int, ...]: ...

    @property
    def lane(self) -> str: ...

    def fields(self, work: ElementWork) -> list[Field]:
        """Returns its members of the parameter block, except the number of elements."""
        ...

    def lines(self, work: ElementWork) -> list[str]:
        """Returns the body of the entry point."""
        ...


def extents(variant: Variant) -> list[Field]:
    """Returns the fields for the extents of the grid."""
    return [Field(variant.index, f"extent{d}", "extent", d) for d in range(variant.rank)]


def reciprocals(variant: Variant) -> list[Field]:
    """Returns the fields with which `decoded` divides without divisions."""
    parts = ("factor", "shift")
    return [Field("uint", f"{part}{d}", part, d) for d in range(1, variant.rank) for part in parts]


def decoded(variant: Variant, number: str, dims: Sequence[int], quick: bool = False) -> list[str]:
    """Returns statements that compute the coordinates along `dims`, slowest first, from a number in C order.

    Args:
        quick: the block has `reciprocals`; the number is below 2^31.
    """
    index, rest, lines = variant.index, number, list[str]()
    for d in reversed(dims[1:]):
        extent, whole = f"{BLOCK}.extent{d}", f"rest{d}"
        if quick:
            product = f"(uint64_t(uint({rest})) * {BLOCK}.factor{d}) >> {BLOCK}.shift{d}"
            lines += [f"{index} {whole} = {index}({product});", f"{index} d{d} = {rest} - {whole} * {extent};"]
        else:
            lines += [f"{index} d{d} = {rest} % {extent};", f"{index} {whole} = {rest} / {extent};"]
        rest = whole
    return [*lines, f"{index} d{dims[0]} = {rest};"] if dims else lines


def linear_index(variant: Variant) -> str:
    """Returns a statement that computes the linear index ``i`` of an element in its grid, in C order."""
    place = "d0"
    for d in range(1, variant.rank):
        place = f"({place} * {BLOCK}.extent{d} + d{d})"
    return f"{variant.index} i = {place};"
