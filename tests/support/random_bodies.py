"""Random loops and branches: nodes whose bodies are random programs on single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from fusepy.errors import FusepyError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Graph, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type

FLOAT, INT, BOOL = Type.parse("float"), Type.parse("int"), Type.parse("bool")
_OPS = ["add", "sub", "minimum", "maximum", "mul", "lt", "floor", "neg"]
_CALLS = [("plus", 2), ("scale", 1), ("scale", 2), ("twice", 1), ("luma", 1), ("exposure", 2), ("split", 1), ("same", 1)]

Operand = tuple[Value, ArgMap]


def control(draw: st.DrawFn, oracle: Oracle, module: str, values: Sequence[Value], name: str, depth: int = 1) -> Any:
    """Operands, maps, attributes and bodies of a ``cond``, ``fori_loop`` or ``while_loop`` that uses some of `values`."""
    usable = [v for v in values if v.type.is_numeric]
    outside = [_operand(draw, v) for v in draw(st.lists(st.sampled_from(usable), max_size=3))] if usable else []
    shared = [(f"x{i}", m.type or v.type, v.weak and m.type is None) for i, (v, m) in enumerate(outside)]

    def body(called: str, own: Sequence[tuple[str, Type, bool]], wanted: Sequence[Type]) -> Graph:
        return _Body(draw, oracle, module, called, [*own, *shared]).finish(wanted, depth)

    if name == "cond":
        pred = [v for v in values if v.type is BOOL]
        if not pred:
            return None
        wanted = draw(st.lists(st.sampled_from([FLOAT, INT, Type.parse("float3")]), max_size=2, min_size=1))
        bodies = [body("if_true", [], wanted), body("if_false", [], wanted)]
        return *_split([(draw(st.sampled_from(pred)), UNSAID), *outside]), {}, bodies
    if not usable:
        return None
    starts = [_operand(draw, v) for v in draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2))]
    types = [m.type or v.type for v, m in starts]
    carries = [(f"c{i}", t, False) for i, t in enumerate(types)]
    if name == "while_loop":
        bodies = [body("test", carries, [BOOL]), body("body", carries, types)]
        return *_split([*starts, *outside]), {"max_steps": draw(st.integers(0, 3))}, bodies
    ends = [v for v in values if v.type is INT]
    if not ends:
        return None
    lo, hi = (draw(st.sampled_from(ends)) for _ in range(2))
    bodies = [body("body", [("i", INT, False), *carries], types)]
    return *_split([(lo, UNSAID), (hi, UNSAID), *starts, *outside]), {}, bodies


def _operand(draw: st.DrawFn, value: Value) -> Operand:
    """A value, sometimes with its last axis as a vector, or converted."""
    if value.type.kind is Kind.SCALAR and value.rank and value.dims[-1] in (2, 3, 4) and draw(st.booleans()):
        want = Type.vector(value.type, value.dims[-1] or 1)
        if filled_axes(value, want):
            return value, ArgMap(None, want)
    return value, UNSAID


def _split(operands: Sequence[Operand]) -> tuple[list[Value], list[ArgMap]]:
    return [v for v, _ in operands], [m for _, m in operands]


class _Body:
    def __init__(self, draw: st.DrawFn, oracle: Oracle, module: str, name: str, inputs: Sequence[tuple[str, Type, bool]]):
        self.draw, self.oracle, self.module = draw, oracle, module
        self.builder = Builder(name, oracle)
        self.values = [self.builder.input(n, t, weak=weak) for n, t, weak in inputs]

    def finish(self, wanted: Sequence[Type], depth: int) -> Graph:
        for _ in range(self.draw(st.integers(0, 4))):
            self.node(depth)
        outputs: list[Value] = []
        for type in wanted:
            alike = [v for v in self.values if v.type is type]
            fitting = alike or [v for v in self.values if v.type.is_numeric and v.type.shape in ((), type.shape)]
            value = self.draw(st.sampled_from(fitting)) if fitting else self.const()
            outputs += [value] if value.type is type else self.add("cast", [value], {"type": type.name})
        return self.builder.finish(outputs)

    def node(self, depth: int) -> None:
        kind = self.draw(st.sampled_from(["op", "op", "op", "call", "const", "select"] + ["control"] * depth))
        if kind == "const":
            self.const()
        elif not self.values:
            return
        elif kind == "op":
            op = self.draw(st.sampled_from(_OPS))
            self.add(op, [self.pick() for _ in range(OPS[op].arity or 1)])
        elif kind == "select":
            self.add("select", [self.pick(), self.pick(), self.pick()])
        elif kind == "call":
            function, count = self.draw(st.sampled_from(_CALLS))
            self.add("slang.call", [self.pick() for _ in range(count)], {"module": self.module, "function": function})
        else:
            name = self.draw(st.sampled_from(["cond", "fori_loop", "while_loop"]))
            made = control(self.draw, self.oracle, self.module, self.values, name, depth - 1)
            if made is not None:
                self.add(name, made[0], *made[2:], maps=made[1])

    def pick(self) -> Value:
        return self.draw(st.sampled_from(self.values))

    def const(self) -> Value:
        number = self.draw(st.sampled_from([0, 1, 2, 0.5, -1.25]))
        return self.add("const", [], {"type": "int" if isinstance(number, int) else "float", "value": number})[0]

    def add(self, op: str, operands: Sequence[Value], attrs: Any = None, bodies: Sequence[Graph] = (), maps: Any = None) -> Any:
        try:
            results = self.builder.add(OPS[op], operands, maps, attrs, None, bodies)
        except FusepyError:
            return ()
        self.values += results
        return results
