"""`Grouping`: an array of numbers that a program computes, as an array of the vectors or matrices that its last axes hold.

A call that takes ``float3`` takes an array of numbers (H, W, 3), computed or not. Operations on each number commute with
grouping: ``sqrt(image)`` as vectors is ``sqrt`` of the image as vectors. So the operations between the arguments and the call are
recorded again on vectors. This ends at operations that cannot run on vectors: a sum along the last axis, a product of matrices, a
random number. Their numbers become vectors by a sum over the last axis, which has one term that is not 0 for each component.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.extents import max_rank
from fusepy.errors import ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.base import Componentwise, shaped
from fusepy.ir.oracle import parts as members
from fusepy.ir.resolve.offers import describe
from fusepy.ir.resolve.spelling import extents, python_name
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Dims, is_spread
from fusepy.trace.components.collecting import Attrs, Part, add, as_type, collected, elements_of, number, own
from fusepy.trace.components.extents import SmallExtents
from fusepy.trace.open_trace import OpenTrace

_LIFTED = frozenset(("cast", "stop_gradient", "reduce", "scan", "expand"))
_FOLDS = frozenset(("sum", "prod", "mean", "max", "min"))


class Grouping:
    """Records arrays of numbers of a trace as arrays of vectors or matrices; the same one only once."""

    def __init__(self, trace: OpenTrace):
        self.trace = trace
        self.extents = SmallExtents(trace)
        # for each function that is being differentiated its own: what was made before it is a constant for it
        self._made: dict[tuple[Value, Type, int], Value] = {}
        self.lifted: dict[Value, Value] = {}  # vectors that are computed of the operands of numbers, and these numbers

    def holds(self, value: Value, shape: tuple[int, ...]) -> bool:
        """True if the last axes of an array of numbers are known to have these extents."""
        if value.type.kind is not Kind.SCALAR or value.rank < len(shape):
            return False
        return self.extents.tail(value)[value.rank - len(shape) :] == shape

    def has_made(self, value: Value) -> bool:
        """True for vectors that were made of numbers for a call."""
        return value in self._made.values()

    def tail(self, value: Value) -> Dims:
        """Returns the axes of a value as a call gets them; see `SmallExtents.tail`."""
        return self.extents.tail(value)

    def of(self, value: Value, type: Type, loc: str | None) -> Value:
        """Returns `value`, an array of numbers that ends in the extents of `type`, as an array of `type`."""
        since = self.trace.moves.since
        found = self._made.get((value, type, since))
        if found is not None:
            return found
        held = self.trace.grouped.get(value)
        if held is not None and held.type is type and not since:
            return held
        count = len(type.shape)
        node = self.extents.maker(value)
        if node is not None:
            again = None if since and type.scalar is not value.type else self._lifted(node, value, type)
            made = again or collected(self.trace, value, type, loc)
            if again is not None:
                self.lifted[made] = value
        elif value.arrival.memory:
            (made,) = self._add("cast", [(value, own(value.rank - count))], {"type": type.name}, loc)
        else:
            made = collected(self.trace, value, type, loc)
        dims = self.trace.maps.get(value, UNSAID).dims
        if dims is not None and len(dims) == value.rank:
            self.trace.maps[made] = ArgMap(dims[: value.rank - count])
        self._made[value, type, since] = made
        if node is not None and made.type.scalar is value.type:
            self.trace.grouped.setdefault(value, made)
        return made

    def cast(self, value: Value, type: Type, loc: str | None) -> Value:
        """Returns a computed array of numbers as the vectors or matrices that a vcast to `type` reads; other values as they are.

        Raises:
            ShapeError: if its last axes do not hold them.
        """
        if self.trace.body or value.name is not None or not value.rank or value.type.kind is not Kind.SCALAR:
            return value
        if type.kind not in (Kind.VECTOR, Kind.MATRIX):
            return value
        if not self.holds(value, type.shape):
            raise self._other_extents(value, type, loc)
        return self.of(value, type.with_scalar(value.type), loc)

    def listed(self, value: Value, type: Type, loc: str | None) -> Value | None:
        """Returns `value`, an array of numbers that ends in the extents of `type`, as an array of the fixed arrays `type`.

        ``None`` if these are fixed arrays of arrays, with an extent beyond 4.

        Raises:
            ShapeError: if the last axis has another extent.
        """
        since = self.trace.moves.since
        found = self._made.get((value, type, since))
        if found is not None:
            return found
        if max(type.shape) <= 4:
            found = self._list_of(self.of(value, shaped(value.type, type.shape), loc), type, loc)
        elif len(type.shape) == 1:
            if self.extents.is_unit(value, value.rank - 1) or self.extents.of(value, value.rank - 1) is not None:
                raise self._other_extents(value, type, loc)
            found = self._struct(elements_of(self.trace, value, type.shape[0], loc), type, loc)
        else:
            return None
        self._made[value, type, since] = found
        dims = self.trace.maps.get(value, UNSAID).dims
        if dims is not None and len(dims) == value.rank:
            self.trace.maps[found] = ArgMap(dims[: value.rank - len(type.shape)])
        return found

    def _list_of(self, whole: Value, type: Type, loc: str | None) -> Value:
        """Returns a fixed array of the components of a vector, or of the rows of a matrix."""
        element = type.element
        assert element is not None
        parts = [self._component(whole, k, loc) for k in range(type.shape[0])]
        if element.kind is Kind.ARRAY:
            parts = [self._list_of(part, element, loc) for part in parts]
        return self._struct(parts, type, loc)

    def _struct(self, parts: Sequence[Value], type: Type, loc: str | None) -> Value:
        names = tuple(p.name for p in members(self.trace.oracle, type) or ())
        attrs: Attrs = {"type": type.name, "fields": names, "path": "x"}
        return self._add("struct", [(p, own(p.rank)) for p in parts], attrs, loc)[0]

    def _other_extents(self, value: Value, type: Type, loc: str | None) -> ShapeError:
        fills = f"for a number in each component write {python_name(type.name)}({', '.join('x' * type.shape[0])})"
        return ShapeError(
            f"the trailing axes of what is computed do not hold {type}",
            place=loc,
            saw=describe(Value(value.type, self.extents.tail(value), arrival=TENSOR)),
            expected=f"last axes of {extents(type)}",
            hint=fills if type.kind is Kind.VECTOR else "reshape the array before the call",
        )

    def _add(self, op: str, parts: Sequence[Part], attrs: Attrs | None = None, loc: str | None = None) -> tuple[Value, ...]:
        return add(self.trace, op, parts, attrs, loc)

    def _lifted(self, node: Node, value: Value, type: Type) -> Value | None:
        """Records the node again on vectors; ``None`` if that is not possible."""
        name = node.op.name
        if name == "slang.call":
            return self._called(node, value, type)
        if not isinstance(node.op, Componentwise) and name not in _LIFTED:
            return None
        maps = self.extents.maps(node)
        rank = max_rank(maps) if name in ("reduce", "scan") else value.rank
        inner = range(rank - len(type.shape), rank)
        attrs = dict(node.attrs)
        if name in ("reduce", "scan", "expand"):
            axes = attrs["axes"] if name != "scan" else (attrs["axis"],)
            assert isinstance(axes, tuple)
            if any(f"d{d}" in axes for d in inner) or (name != "expand" and attrs["kind"] not in _FOLDS):
                return None
        if name == "cast":
            attrs["type"] = type.name
        parts = [self._part(node, i, map, inner, type.shape) for i, map in enumerate(maps)]
        if any(p is None for p in parts):
            return None
        (made,) = self._add(name, [p for p in parts if p is not None], attrs, node.loc)
        return as_type(self.trace, made, type, node.loc)

    def _part(self, node: Node, i: int, map: ArgMap, inner: range, shape: tuple[int, ...]) -> Part | None:
        """Returns an operand without the dimensions `inner` of the grid; ``None`` if it does not hold vectors of `shape`."""
        value, dims = node.operands[i], map.dims
        if dims is None or is_spread(value):
            return None
        if not set(dims) & set(inner):
            return value, ArgMap(dims, node.maps[i].type)
        if map.type is not None or len(dims) != value.rank or dims[-len(inner) :] != tuple(inner):
            return None
        if not self.holds(value, shape):
            return None
        scalar = (node.op.wanted(node, i) if value.weak else None) or value.type
        return self.of(value, shaped(scalar, shape), node.loc), ArgMap(dims[: -len(inner)])

    def _called(self, node: Node, value: Value, type: Type) -> Value | None:
        """Records a call of a Slang function of numbers once for each component."""
        if len(type.shape) != 1 or node.attrs.get("writes") or any(r.type.kind is not Kind.SCALAR for r in node.results):
            return None
        inner = range(value.rank - 1, value.rank)
        maps = self.extents.maps(node)
        parts = [self._part(node, i, map, inner, type.shape) for i, map in enumerate(maps)]
        if any(p is None for p in parts):
            return None
        results: list[Sequence[Value]] = []
        for k in range(type.shape[0]):
            given: list[Part] = []
            for part, whole in zip(parts, node.operands):
                assert part is not None
                given.append(part if part[0] is whole else (self._component(part[0], k, node.loc), part[1]))
            results.append(self._add("slang.call", given, dict(node.attrs), node.loc))
        for j, result in enumerate(node.results):
            vector = shaped(result.type, type.shape)
            each = [(r[j], own(r[j].rank)) for r in results]
            (made,) = self._add("construct", each, {"type": vector.name}, node.loc)
            self._made[result, vector, self.trace.moves.since] = made
            self.lifted[made] = result
        return self._made[value, type, self.trace.moves.since]

    def _component(self, vector: Value, k: int, loc: str | None) -> Value:
        return self._add("index", [(vector, own(vector.rank)), (number(self.trace, k, "int", loc), ArgMap(()))], loc=loc)[0]
