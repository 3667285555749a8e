"""Vectors that an eager call returns as numbers: elements of NumPy arrays, torch tensors and lists are numbers.

An eager call on tensors gives tensors of vectors. On other arrays it gives arrays of numbers, so the next operation sees axes in
the place of components. In a trace the result of a call stays an array of vectors, and operations that would see axes see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.sampling import SettingView
from fusepy.backend.memory.structs import ArgumentView
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import Componentwise
from fusepy.ir.types import BOOL, Kind
from fusepy.ir.value import is_spread
from fusepy.trace.components.collecting import add, own
from fusepy.trace.components.grouping import Grouping
from fusepy.trace.moves.extents import ExtentView, TraceShapes, is_added
from fusepy.trace.moves.joins import concatenated
from fusepy.trace.moves.record import moved
from fusepy.trace.moves.steps import ALL, Indexed
from fusepy.trace.open_trace import OpenTrace

_NUMBERS = ("numpy", "list", "torch")  # containers of numbers alone
_SINGLE = ("scalar", "vector")  # these leave the choice to other arguments


def _given_as(trace: OpenTrace, value: Value) -> str | None:
    """Returns the container that results have because of an input; ``None`` for inputs that the trace has added."""
    place = trace.builder.inputs.index(value) - len(trace.builder.inputs) + len(trace.captures)
    given = trace.given[value][1] if value in trace.given else trace.captures[place]
    if isinstance(given, ArgumentView) and not isinstance(given, (ExtentView, SettingView)):  # in the container of its argument
        given = next(argument for at, argument in trace.given.values() if at == given.place)
    return None if is_added(given) else kind_of_value(given).returns.word


class PlainVectors:
    """The vectors of a trace that are arrays of numbers for an eager call."""

    def __init__(self, trace: OpenTrace, grouping: Grouping):
        self.trace, self.grouping = trace, grouping
        self._typed: dict[Value, bool | None] = {}  # whether values are in tensors; ``None`` for single ones
        # for each function that is being differentiated its own, as in `Grouping`
        self._split: dict[tuple[Value, int], Value] = {}
        self._named = set[Value]()  # vectors that the user constructs of single numbers

    def holds(self, value: Value) -> bool:
        """True for vectors, matrices and arrays that are numbers eagerly, and that nobody has cast to vectors."""
        array = value.type.kind is Kind.ARRAY and value.type.scalar is not None
        if self.trace.body or value.name is not None or not (array or value.type.kind in (Kind.VECTOR, Kind.MATRIX)):
            return False
        node = self.grouping.extents.maker(value) if value in self.trace.maps else None
        if node is not None and node.op.name == "struct":  # composed of members under vmap, for a parameter
            return False
        known = self._in_tensors(value)
        return self.is_field(value) or known is False or (known is None and value.weak)  # of numbers alone: a list

    def is_field(self, value: Value) -> bool:
        """True for a field of an array of structs that holds arrays or bools, which is an array of numbers in tensors too."""
        node, numbers = self.grouping.extents.maker(value), value.type.kind is Kind.ARRAY or value.type.scalar is BOOL
        return numbers and node is not None and node.op.name == "member" and node.operands[0].type.kind is Kind.NAMED

    def _in_tensors(self, value: Value) -> bool | None:
        if value not in self._typed:
            node = self.grouping.extents.maker(value)
            said = self.trace.maps.get(value, UNSAID).type
            cast = node is not None and node.op.name == "cast" and value.type.shape and not self.grouping.has_made(value)
            if cast or (said is not None and said.shape):
                self._typed[value] = True  # a user's vcast, declaration or annotation
            elif node is None:
                word = _given_as(self.trace, value)
                self._typed[value] = None if word is None or word in _SINGLE else word not in _NUMBERS
            else:
                found = [f for v in node.operands if (f := self._in_tensors(v)) is not None]
                self._typed[value] = any(found) if found else None
        return self._typed[value]

    def name(self, value: Value, vector: bool) -> None:
        """Takes what the user constructs of single numbers, ``float3(1, 2, 3)``, for a `vector`, or for an array of NumPy."""
        if not vector:
            self.trace.chain[-1].hosted.add(value)
        if not self.trace.body and self._in_tensors(value) is None:
            self._typed[value] = vector
            self._named.add(value)

    def hold(self, values: Iterable[Value], word: str) -> None:
        """Takes results of a call for numbers or vectors by the container that its ``return_type`` says."""
        if not self.trace.body:
            self._typed.update(dict.fromkeys(values, word not in _NUMBERS))

    def follow(self, value: Value, other: Value) -> None:
        """Takes the vectors `value` as numbers if `other` is in an array of numbers, whatever else they are computed of."""
        if not self.trace.body:
            self._typed[value] = self._in_tensors(other) and not self.is_field(other)

    def numbers(self, value: Value, loc: str | None) -> Value:
        """Returns vectors or matrices as the array of their components."""
        key = value, self.trace.moves.since
        found = self._split.get(key)
        if found is None:
            found, rank = value, value.rank
            for axis, extent in enumerate(value.type.shape):
                count = TraceShapes(self.trace).numbers(extent)
                parts = [(found, own(rank + axis)), (count, ArgMap((rank + axis,)))]
                (found,) = add(self.trace, "index", parts, {"all": True}, loc)
            self._split[key] = found
            self.trace.grouped[found] = value
            dims = self.trace.maps.get(value, UNSAID).dims
            if dims is not None:
                last = max(dims, default=-1) + 1
                self.trace.maps[found] = ArgMap((*dims, *range(last, last + len(value.type.shape))))
        return found

    def seen(self, value: Value, loc: str | None) -> Value:
        """Returns a value as an eager call sees it."""
        return self.numbers(value, loc) if self.holds(value) else value

    def array(self, value: Value, loc: str | None) -> Value:
        """Returns a value as `seen`, after the conversion by its vcast: the form in which views and other functions move it."""
        said = self.trace.maps.get(value, UNSAID)
        if (
            said.type is not None
            and said.type.scalar is not None
            and (said.type is not value.type or value.weak or value.arrival.named)
        ):
            value = self.trace.cast(value, said.type, ArgMap(said.dims), loc)
        return self.seen(value, loc)

    def stacked(self, items: Sequence[Any], loc: str | None) -> Value:
        """Returns a list with traced values in it, or in lists of it, as one array: its items along a new first axis.

        Vectors and matrices count as lists of numbers, as in lists outside of traces.

        Raises:
            ShapeError: if they differ in shape.
        """
        values = [self.array(self.trace.lift(item), loc) for item in items]
        values = [self.numbers(v, loc) if v.type.shape else v for v in values]
        return concatenated(self.trace, [moved(self.trace, v, Indexed(v.rank, (None, *[ALL] * v.rank))) for v in values], 0)

    def aligned(
        self, op: str, values: Sequence[Value], maps: Sequence[ArgMap], loc: str | None
    ) -> tuple[Sequence[Value], Sequence[ArgMap]]:
        """Returns the operands of an operation on elements and their maps: arrays of numbers go along the components of vectors.

        Where an eager call refuses the extents, numbers go along the axes of the vectors.
        """
        vectors = [v for v in values if self.holds(v) or (v.type.kind is Kind.VECTOR and self._is_single(v, values))]
        if not vectors or not isinstance(OPS[op], Componentwise):
            return values, maps
        lists = self._beside_tensors(vectors, values) + [
            v for v in vectors if v.type.kind is Kind.VECTOR and self._is_single(v, values)
        ]
        vectors = [v for v in vectors if v not in lists]
        seen = [self.numbers(v, loc) if v in lists else v for v in values]
        if any(v.type.kind is Kind.ARRAY for v in vectors):  # which have no operators
            seen = [self.seen(v, loc) for v in seen]
        elif vectors and len({v.type.shape for v in seen if v.type.shape}) == 1:
            mapped = any(m.dims is not None and v.type.kind is Kind.SCALAR for v, m in zip(seen, maps))
            seen = [self.seen(v, loc) for v in seen] if mapped else self._along(vectors, seen, loc)
        return seen, [m if a is b else self.trace.maps.get(a, UNSAID) for a, b, m in zip(seen, values, maps)]

    def _is_single(self, value: Value, values: Sequence[Value]) -> bool:
        """True for one vector of numbers beside arrays of numbers, along which it goes: NumPy takes it for a list."""
        if self.trace.body or value.rank or value in self.trace.maps:
            return False
        if not self.of_numbers(value):
            return False
        others = [self._in_tensors(v) for v in values if v.rank and v not in self.trace.maps and not is_spread(v)]
        return False in others and True not in others

    def of_numbers(self, value: Value) -> bool:
        """True for a vector that is made of single numbers, or passed as one value."""
        node = self.grouping.extents.maker(value)
        if node is None:
            return value.name is not None and _given_as(self.trace, value) == "vector"
        return value in self._named or (node.op.name != "cast" and any(map(self.of_numbers, node.operands)))

    def _beside_tensors(self, vectors: Sequence[Value], values: Sequence[Value]) -> list[Value]:
        """Returns the vectors of numbers alone that go along the axes of tensors beside them, as lists do in an eager call."""
        lists = [v for v in vectors if self._in_tensors(v) is None or v in self._named]
        tensors = [v for v in values if self._in_tensors(v)] if lists else []
        along = all(not is_spread(v) and self._goes_along(v, a.type.shape) for v in tensors for a in lists)
        return lists if tensors and along else []

    def _along(self, vectors: Sequence[Value], values: Sequence[Value], loc: str | None) -> list[Value]:
        shape = vectors[0].type.shape
        arrays = [v for v in values if v.type.kind is Kind.SCALAR and v.rank and not is_spread(v)]
        if all(self.grouping.holds(v, shape) for v in arrays):
            made = {v: self.grouping.of(v, vectors[0].type.with_scalar(v.type), loc) for v in arrays}
            return [made.get(v, v) for v in values]
        if all(self._goes_along(v, shape) for v in arrays):
            return [self.seen(v, loc) for v in values]
        return list(values)

    def _goes_along(self, value: Value, shape: tuple[int, ...]) -> bool:
        """True if the last axes of an array broadcast with the components."""
        extents, rank = self.grouping.extents, value.rank
        found = [(axis, n, extents.of(value, axis)) for axis, n in zip(range(rank)[::-1], shape[::-1])]
        return all(extent == n or (extent is None and extents.is_unit(value, axis)) for axis, n, extent in found)
