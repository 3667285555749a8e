"""Accumulators: the state of a kernel that combines elements, and the Slang that starts, feeds, merges and finishes it.

Two structs hold the state of all folds of a region. An ``FzRun`` gathers a short run of elements, an ``FzAcc`` many runs. They
differ for sums of floats: a run adds plainly, and runs are added with compensation for rounding errors (Knuth's two-sum), so
that a sum is at least as accurate as a pairwise one, for any number of elements per thread. Infinities are written as bits,
since lavapipe folds ``1.0 / 0.0`` to 0. A sum is passed through integers before its error is computed, since Mesa simplifies
``(a + b) - a``. The maximum and minimum of floats are computed on integers, see `backend.emit.fold.numbers.order`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

from fusepy.backend.emit.fold.numbers.order import extreme_functions, order_functions, order_identity, order_type, truth_function
from fusepy.backend.emit.fold.numbers.spread import PARTS, spread_functions
from fusepy.backend.emit.fold.numbers.sums import settled_error, sum_functions
from fusepy.backend.emit.fold.sorting.keys import key_type
from fusepy.backend.emit.operand import BLOCK
from fusepy.ir.argmap import ArgMap
from fusepy.ir.fold_meanings import neutral
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import convert, shaped
from fusepy.ir.ops.folds import PLACES, Fold
from fusepy.ir.ops.literal import literal
from fusepy.ir.types import BOOL, FLOAT, HALF, INT, UINT, Kind, Type

Member = tuple[str, Type]
SUMS = ("sum", "dot", "mean")
SPREADS = ("var", "spread")
NOWHERE = 0x7FFFFFFF  # the index for "no element"


@dataclass(frozen=True)
class Piece:
    """A part of a fold's element with its own variables: the whole element, a row of a matrix, or a component.

    `number` is its type before the conversion of `backend.emit.fold.numbers.order`, if there is one.
    """

    name: str
    type: Type
    at: str = ""
    number: Type | None = None


class Accumulator:
    """One fold of a kernel.

    Attributes:
        j: the index of the folded output of the body.
        have: the type of its elements; `want` that of the result.
        cuda: the kernel is for CUDA.
    """

    def __init__(self, j: int, fold: Fold, have: Type, cuda: bool = False):
        self.j, self.cuda = j, cuda
        self.fold = fold
        self.have = have
        self.want = fold.type(have)
        self.spreads = fold.kind in SPREADS
        scalar = _working(fold.kind, self.want if self.spreads or fold.kind in SUMS or fold.kind == "prod" else have)
        self.compensated = fold.kind in SUMS and scalar.is_float
        self.places = fold.kind in PLACES
        self.ordered = fold.kind in ("max", "min", "argmax", "argmin") and scalar.is_float
        by_bits = self.ordered or (fold.kind in ("any", "all") and have.scalar is not None and have.scalar.is_float)
        number = _working("sum", have) if by_bits else scalar
        self.pieces = [Piece(f"f{j}_0", key_type(have))] if fold.sorts else list[Piece]()
        if fold.sorts:
            return
        for k, (at, type) in enumerate(_pieces(fold, have, number, self.compensated or self.spreads or by_bits)):
            held = order_type(type) if self.ordered else type.with_scalar(scalar)
            self.pieces.append(Piece(f"f{j}_{k}", held, at, type if by_bits else None))

    @cached_property
    def joined(self) -> Graph:
        """The call that combines two elements, for a fold of kind ``call``: one node, which may have a wrapper (`Shims`)."""
        x, y, result = Value(self.have, name="a"), Value(self.have, name="b"), Value(self.have)
        attrs = {"module": self.fold.module, "function": self.fold.function}
        node = Node(OPS["slang.call"], [x, y], [ArgMap(())] * 2, [result], attrs)
        return Graph(f"join_{self.j}", [x, y], [node], [result])

    def members(self, run: bool = False) -> list[Member]:
        """Returns the members of an ``FzAcc``, or with `run` of an ``FzRun``, for this fold."""
        members: list[Member] = []
        for piece in self.pieces:
            if self.spreads:
                scalar = piece.type.scalar or piece.type
                members += zip((f"{piece.name}{part}" for part in PARTS), (*[piece.type] * 3, scalar))
                continue
            members.append((piece.name, piece.type))
            if self.compensated and not run:
                members.append((f"{piece.name}_c", piece.type))
            if self.places:
                members.append((f"{piece.name}_at", INT))
        return members

    def start(self, run: bool = False) -> list[str]:
        """Returns the values of `members` before the first element."""
        if self.spreads:
            return [f"{type}(0)" for _, type in self.members()]
        values: list[str] = []
        for piece in self.pieces:
            values.append(self._identity(piece.type))
            if self.compensated and not run:
                values.append(f"{piece.type}(0)")
            if self.places:
                values.append(str(NOWHERE))
        return values

    def _identity(self, type: Type) -> str:
        kind = self.fold.kind
        if kind == "call":
            numbers = [literal(v.item(), type.scalar or type) for v in self.fold.start(type).ravel()]
            return f"{type}({', '.join(numbers)})"
        if kind in ("any", "all"):
            return f"{type}({int(kind == 'all')}u)"
        if kind in SUMS or kind == "prod":
            return f"{type}({int(kind == 'prod')})"
        if self.ordered:
            return order_identity(type, kind[-3:])
        scalar, have = type.scalar or type, self.have.scalar
        narrow = self.fold.scans and have is not None and have.dtype is not None and have.dtype.kind in "iu"
        return f"{type}({_extreme('max' if 'max' in kind else 'min', have if narrow and have is not None else scalar)})"

    # ---- statements, over the names of variables ----------------------------------------------------------------

    def take(self, run: str, x: str, at: str) -> list[str]:
        """Returns statements that add an element to a run."""
        lines: list[str] = []
        for p in self.pieces:
            part = _part(self.have, p.at)
            value = convert(f"{x}{p.at}", part, p.number or p.type)
            if p.number:
                value = f"fz_{'order' if self.ordered else 'truth'}_{self.j}({value})"
            elif self.fold.kind in ("any", "all") and self.have.scalar is not BOOL:
                value = convert(f"({x}{p.at} != {part}(0))", part.with_scalar(BOOL), p.type)
            if self.spreads:
                lines.append(f"fz_spread_take({_parts(run, p)}, {value});")
            else:
                lines += self._join(f"{run}.{p.name}", value, at)
        return lines

    def gather(self, acc: str, run: str) -> list[str]:
        """Returns statements that add a run to an accumulator."""
        if self.compensated:
            return [_two_sum(f"{acc}.{p.name}", f"{run}.{p.name}") for p in self.pieces]
        if self.spreads:
            return [f"fz_spread_gather({_parts(acc, p)}, {_parts(run, p)}, zero);" for p in self.pieces]
        return self.merge(acc, run)

    def merge(self, acc: str, other: str) -> list[str]:
        """Returns statements that merge accumulator `other` into `acc`; its elements follow those of `acc`."""
        lines: list[str] = []
        for p in self.pieces:
            mine, theirs = f"{acc}.{p.name}", f"{other}.{p.name}"
            if self.compensated:
                lines += [_two_sum(mine, theirs), f"{mine}_c += {theirs}_c;"]
            elif self.spreads:
                lines.append(f"fz_spread_merge({_parts(acc, p)}, {_parts(other, p)});")
            else:
                lines += self._join(mine, theirs, f"{theirs}_at")
        return lines

    def _join(self, mine: str, value: str, at: str) -> list[str]:
        kind = self.fold.kind
        if kind == "call":
            return [f"fz_join_{self.j}({mine}, {value}, {mine});"]
        if kind in SUMS or kind == "prod":
            return [f"{mine} {'*' if kind == 'prod' else '+'}= {value};"]
        if kind in ("any", "all"):
            return [f"{mine} {'|' if kind == 'any' else '&'}= {value};"]
        if self.places:
            return [f"fz_best_{self.j}({mine}, {mine}_at, {value}, {at});"]
        return [f"{mine} = fz_most_{self.j}({mine}, {value});"]

    def result(self, acc: str) -> str:
        """Returns an expression for the folded value."""
        kind = self.fold.kind
        parts: list[str] = []
        for p in self.pieces:
            value = f"{acc}.{p.name}{'_squares' * self.spreads}"
            if self.places:
                return f"{value}_at"
            if self.compensated:
                value = f"fz_total({value}, {value}_c)"
            if p.number and self.ordered:
                value = f"fz_number_{self.j}({value})"
            if kind in ("mean", "var"):
                value = f"{value} / {p.type.scalar}({BLOCK}.total)"
            if kind in ("any", "all"):
                value = f"({value} != {p.type}(0))"
                value = convert(value, p.type.with_scalar(BOOL), _part(self.want, p.at))
            else:
                value = convert(value, p.number or p.type, _part(self.want, p.at))
            parts.append(value)
        return parts[0] if len(parts) == 1 else f"{self.want}({', '.join(parts)})"

    def settled(self, acc: str) -> list[str]:
        """Returns statements after which `behind` may read an accumulator."""
        return [settled_error(f"{acc}.{p.name}", p.type) for p in self.pieces] if self.compensated else []

    def behind(self, acc: str, run: str, both: str) -> str:
        """Returns an expression for the folded value of an accumulator with a run behind it; `both` is the two in one.

        A sum needs two additions for it, where the accumulator of both needs nine. They may cost the last place, so they are for
        short rows, where a run has as large errors.
        """
        if not self.compensated:
            return self.result(both)
        sums = [(p, f"{acc}.{p.name}", f"{run}.{p.name}") for p in self.pieces]
        parts = [convert(f"(({a} + {x}) + {a}_c)", p.type, _part(self.want, p.at)) for p, a, x in sums]
        return parts[0] if len(parts) == 1 else f"{self.want}({', '.join(parts)})"

    # ---- functions ----------------------------------------------------------------------------------------------

    def functions(self) -> list[str]:
        """Returns the functions that `take`, `merge` and `result` call, except ``fz_join`` of a fold by a call."""
        kind, type, number = self.fold.kind, self.pieces[0].type, self.pieces[0].number
        if self.compensated:
            return sum_functions(type, self.cuda)
        if self.spreads:
            return spread_functions(type)
        if self.places:
            sign = ">" if "max" in kind else "<"
            return [
                *(order_functions(self.j, kind[-3:], number, equals=True) if number else ()),
                f"void fz_best_{self.j}(inout {type} best, inout int at, {type} x, int place)",
                "{",
                f"    if (x {sign} best || (x == best && place < at))",
                "    {",
                "        best = x;",
                "        at = place;",
                "    }",
                "}",
            ]
        if kind in ("max", "min"):
            return extreme_functions(self.j, kind, type, number, self.cuda)
        return truth_function(self.j, number) if number else []


def _parts(acc: str, piece: Piece) -> str:
    return ", ".join(f"{acc}.{piece.name}{part}" for part in PARTS)


def _two_sum(sum: str, x: str) -> str:
    return f"fz_add({sum}, {sum}_c, {x}, zero);"


def _working(kind: str, type: Type) -> Type:
    """Returns the scalar type in which elements are combined."""
    scalar = type.scalar
    assert scalar is not None
    if kind in ("any", "all"):
        return UINT
    if kind == "call":
        return scalar
    if scalar is HALF:
        return FLOAT
    if scalar is BOOL:
        return UINT
    dtype = scalar.dtype
    assert dtype is not None
    if dtype.kind in "iu" and dtype.itemsize < 4:  # Slang's select of 8 and 16 bits does not compile on CUDA
        return UINT if dtype.kind == "u" else INT
    return scalar


def _pieces(fold: Fold, have: Type, scalar: Type, compensated: bool) -> list[tuple[str, Type]]:
    """Returns the parts of an element: rows of a matrix; components of doubles, whose vectors have no bitwise operators."""
    if fold.kind == "call":
        return [("", have)]
    if compensated and scalar is not FLOAT and have.shape:
        places = itertools.product(*(range(n) for n in have.shape))
        return [("".join(f"[{c}]" for c in place), scalar) for place in places]
    if have.kind is Kind.MATRIX:
        return [(f"[{row}]", Type.vector(scalar, have.shape[1])) for row in range(have.shape[0])]
    return [("", have.with_scalar(scalar))]


def _part(type: Type, at: str) -> Type:
    """Returns the type of a piece of an element."""
    assert type.scalar is not None
    return shaped(type.scalar, type.shape[at.count("[") :])


def _extreme(kind: str, scalar: Type) -> str:
    """Returns the literal of the neutral element of ``max`` or ``min``."""
    return literal(neutral(kind, scalar), scalar)
