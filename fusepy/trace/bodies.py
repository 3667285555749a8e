"""Traces of the bodies of loops and branches: values that they capture become operands of the node of the loop or branch.

A body works on single elements. A captured value has a stand-in inside the body. The use decides what one grid point reads:
a Slang function may take an element, a vector of the last axis, or the whole array. So the stand-in keeps the shape of the
captured value, and becomes one input of the body for each way in which it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from fusepy.errors import TraceError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.narrowing import is_default
from fusepy.ir.ops import Op
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ops.folds import SORTS
from fusepy.ir.types import AS_ONE, Type
from fusepy.location import user_line
from fusepy.trace.components.checks import requested
from fusepy.trace.maps import check_axes
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


class Use(NamedTuple):
    """One way in which a body uses a captured value: the map, and whether it is used as a Python number."""

    value: Value
    map: ArgMap
    weak: bool

    @property
    def spread(self) -> bool:
        """True if the body has one element of an array."""
        return self.map.dims != () and self.value.rank > filled_axes(self.value, self.map.type)


class BodyBuilder(Builder):
    """A builder of nodes on single elements.

    Attributes:
        outside: the stand-ins of captured values.
        uses: the inputs that they have become.
        parts: the inputs that are single elements of an array that a loop carries.
        whole: true if an operation was refused because it needs a whole array.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.outside: set[Value] = set()
        self.parts, self.whole = set[Value](), False
        self.uses: dict[Use, Value] = {}

    def add(
        self,
        op: Op,
        operands: Sequence[Value],
        maps: Sequence[ArgMap] | None = None,
        attrs: Any = None,
        loc: str | None = None,
        bodies: Sequence[Graph] = (),
    ) -> tuple[Value, ...]:
        said = tuple(maps or (UNSAID,) * len(operands))
        if not op.spreads:
            what = "sort()" if (attrs or {}).get("kind") in SORTS else op.name
            raise self.refused(what, loc, not op.standalone)  # a draw stands outside of loops
        if self.outside.isdisjoint(operands):
            return super().add(op, operands, said, attrs, loc, bodies)
        loaded = self._loaded(op, operands, said, attrs, loc, bodies)
        given = [self.element(use) if use is not None else v for v, use in zip(operands, loaded)]
        if op.name == "cast" and given[0].type.name == attrs["type"]:
            return (given[0],)
        left = [UNSAID if use is not None else map for map, use in zip(said, loaded)]
        return super().add(op, given, left, attrs, loc, bodies)

    def refused(self, what: str, loc: str | None, whole: bool = True) -> TraceError:  # `whole`: it needs whole arrays
        self.whole = self.whole or whole
        what += " inside the body of a loop or branch, which runs for each element by itself"
        return TraceError(what, place=loc, hint="reduce and sort before the loop or after it, and slice before it")

    def _loaded(
        self,
        op: Op,
        operands: Sequence[Value],
        said: Sequence[ArgMap],
        attrs: dict[str, Attr],
        loc: str | None,
        bodies: Sequence[Graph],
    ) -> list[Use | None]:
        """Returns how the operation uses its captured operands, resolved with the outer shapes; ``None`` for other operands."""
        # the dimensions count from 0 here; the map of the use has those that the user named
        maps = [m if m.dims is None else ArgMap(tuple(range(len(m.dims))), m.type) for m in said]
        trial = Node(op, operands, maps, (), attrs, loc, bodies)
        trial.results = tuple(op.infer(trial, self.oracle))
        answer = op.resolution(trial, self.oracle)
        found: list[Use | None] = []
        for i, (value, map) in enumerate(zip(operands, said)):
            if value not in self.outside:
                found.append(None)
                continue
            type = map.type if answer is None else answer.maps[i].type
            weak = value.weak
            if op.name == "cast":
                type = trial.results[0].type
                if is_default(value):  # a cast by the user stays in the body, and does not change how the array is uploaded
                    type = type.with_scalar(value.type)
            elif type is None and weak:  # a Python number keeps all digits until its type is known
                scalar = op.wanted(trial, i)
                type = None if scalar is None else value.type.with_scalar(scalar)
            elif type is not None:  # a number that a call converts stays one, as its result does
                weak = weak and map.type is None
            dims = () if type is not None and type.kind in AS_ONE else map.dims
            found.append(Use(value, ArgMap(dims, type if type is not value.type else None), weak and op.name != "cast"))
        return found

    def element(self, use: Use) -> Value:
        """Returns the input for a use of a captured value."""
        found = self.uses.get(use)
        if found is None:
            found = self.uses[use] = Value(use.map.type or use.value.type, weak=use.weak, name=use.value.name or "x")
        return found


class BodyTrace(Trace):
    """The trace of a body of the operation `body`, inside the trace `parent`."""

    def __init__(self, parent: Trace, body: str, name: str):
        super().__init__(name, None)
        self.parent, self.body, self.alone = parent, body, False
        self.inside = self.builder = BodyBuilder(name)
        self.flags = []
        self.sources, self.named, self.chain = parent.sources, parent.named, (self, *parent.chain)
        self._stand_ins: dict[Value, Value] = {}
        self._behind: dict[Value, Value] = {}

    @property
    def device(self) -> Any:
        return self.parent.device

    @property
    def oracle(self) -> Any:
        self.builder.oracle = self.parent.oracle
        return self.parent.oracle

    def module(self, source: Any, device: Any) -> str:
        return self.parent.module(source, device)

    def adopt(self, setup: Any, options: Any, name: str) -> None:
        self.parent.adopt(setup, options, name)

    def own(self, value: Traced) -> Value:
        mine = value._trace is self  # pyright: ignore[reportPrivateUsage]
        return super().own(value) if mine else self._stand_in(self.parent.own(value))

    def behind(self, value: Value) -> tuple[Trace, Value] | None:
        found = self._behind.get(next((use.value for use, element in self.inside.uses.items() if element is value), value))
        return None if found is None else (self.parent, found)

    def standing_in(self, value: Value) -> Value:
        return self._stand_in(value)

    def capture(self, value: Any, name: str) -> Value:
        return self._stand_in(self.parent.capture(value, name))

    def _stand_in(self, value: Value) -> Value:
        found = self._stand_ins.get(value)
        if found is None:
            found = value.again(value.type, value.dims)
            self._stand_ins[value], self._behind[found] = found, value
            self.inside.outside.add(found)
            if value in self.parent.maps:
                self.maps[found] = self.parent.maps[value]
        return found

    def start(self, name: str, type: Type, weak: bool = False) -> Traced:
        """Adds an input that the loop provides."""
        return Traced(self, self.builder.input(name, type, weak=weak), None)

    def refuse_part(self, value: Value, what: str) -> None:
        if self._is_part(value):
            raise self.inside.refused(what, user_line())

    def _is_part(self, value: Value) -> bool:
        behind = self._behind.get(value)
        if behind is not None:
            return isinstance(self.parent, BodyTrace) and self.parent._is_part(behind)
        parts = self.inside.parts | {v for use, v in self.inside.uses.items() if use.spread or self._is_part(use.value)}
        for node in self.builder.nodes:
            if not parts.isdisjoint(node.operands):
                parts.update(node.results)
        return value in parts

    def output(self, value: Any, loc: str | None) -> Value:
        """Returns a result of the body, as one element."""
        found, said = self.operand(value, "captured", loc)
        check_axes(self.body, found, said, loc)
        return found if found not in self.inside.outside else self.inside.element(Use(found, said, found.weak))

    def uses(self) -> list[Use]:
        """Returns the captured values of the body, as values of its parent."""
        return [Use(self._behind[u.value], u.map, u.weak) for u in self.inside.uses]

    def close(self, uses: Sequence[Use], outputs: Sequence[Value]) -> Graph:
        """Makes the graph of the body. It gets an input for each of `uses`, even if it does not use all of them."""
        requested(self)
        inputs = [*self.builder.inputs]
        taken = {v.name for v in inputs}
        for use in uses:
            stand_in = self._stand_in(use.value)
            value = self.inside.element(Use(stand_in, use.map, use.weak))
            plain = value.name or "x"
            value.name = next(name for i in count(1) if (name := f"{plain}_{i}" if i > 1 else plain) not in taken)
            taken.add(value.name)
            inputs.append(value)
        return Graph(self.builder.name, inputs, self.builder.nodes, outputs)
