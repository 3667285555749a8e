"""Resolution: Slang's answers settle the mapping and the type of every operand.

Afterwards each map names its grid dimensions, a ``slang.call`` knows the directions of its parameters, and Python numbers
have the type that their uses want, if these agree: a ``double`` parameter gets all digits of a Python float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.errors import ResolveError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import LITERAL
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.narrowing import is_default
from fusepy.ir.ops import OPS
from fusepy.ir.ops.call import SlangCall
from fusepy.ir.ops.control import Control
from fusepy.ir.ops.struct import MakeStruct
from fusepy.ir.oracle import Oracle, number_type
from fusepy.ir.pipelines.draw import Draw
from fusepy.ir.ranges import check_range
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import AS_ONE, Kind, Type
from fusepy.passes.base import Pass
from fusepy.passes.digits.wide import with_digits

_NESTING = (Control, Draw)


@dataclass(frozen=True)
class ResolveMaps(Pass):
    """The pass that settles all maps and types.

    Raises:
        ResolveError: if Slang accepts no binding, or several.
        RangeError: if a constant does not fit the type that Slang wants.
    """

    name = "resolve_maps"
    requires = "traced"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        return _Resolver(with_digits(graph, oracle), oracle).run()


def _storage(own: Type, wanted: set[Type]) -> Type:
    """Returns the type in which a Python number is stored: the scalar that its uses agree on, or the widest float.

    Else the number keeps its own type: stored as the bool or half of one use, it would be wrong for another.
    """
    if all(t.is_float for t in wanted):
        return max(wanted, key=lambda t: t.dtype.itemsize if t.dtype is not None else 0)
    return next(iter(wanted)) if len(wanted) == 1 else own


def _wanted(node: Node, i: int, map: ArgMap, oracle: Oracle) -> Type | None:
    """Returns the scalar as which a node takes operand `i`: Slang's answer, or the type that an operator computes in."""
    if map.type is None:
        return node.op.wanted(node, i)
    loaded = map.type.element if map.type.kind is Kind.WHOLE and map.type.element is not None else map.type
    return number_type(oracle, loaded).scalar


def _binds(node: Node) -> bool:
    """True if the types of the operands are fixed, by Slang's answer or by the inputs of a body."""
    return isinstance(node.op, (SlangCall, MakeStruct, *_NESTING))


def _narrows(node: Node, i: int) -> bool:
    """True if a node may narrow operand `i`, an array of a default dtype: a call, unless the user wrote a `vcast`.

    The map of a loop, a branch or a draw has the type that the calls in its bodies take.
    """
    return _binds(node) and isinstance(node.op, _NESTING) is (node.maps[i].type is not None)


def _check_seen(value: Value, stored: Type, wanted: Type, node: Node) -> None:
    """Raises `ResolveError` if user code would see one array in memory as two types."""
    if stored is not wanted:
        raise ResolveError(
            f"argument {value.name!r} is taken whole as elements of {stored} and of {wanted}",
            place=node.loc,
            saw=f"{value.type} over {value.rank} axes",
            hint="pass an array for each of them",
        )


class _Resolver:
    def __init__(self, graph: Graph, oracle: Oracle, body: bool = False):
        self.graph = graph
        self.body = body
        self.oracle = oracle
        self.nodes: list[Node] = []
        self.new: dict[Value, Value] = {}
        self.constants: dict[tuple[Value, Type], Value] = {}
        self.const_nodes: dict[Value, Node] = {}
        self.narrow: dict[tuple[Value, Type], Value] = {}
        self.types: dict[Value, Type] = {}

    def run(self) -> Graph:
        settled = [(node, *settle(node, self.oracle)) for node in self.graph.nodes]
        wanted: dict[Value, set[Type]] = {v: {v.type} for v in self.graph.outputs}
        seen: dict[Value, Type] = {}  # the type in which user code sees an array in memory, and so its storage type
        for node, maps, _ in settled:
            if node.op.name == "const":
                self.const_nodes[node.results[0]] = node
            for i, (value, map) in enumerate(zip(node.operands, maps)):
                default = is_default(value)
                if (value.weak or default) and value.name is not None:
                    scalar = _wanted(node, i, map, self.oracle) if not default or _narrows(node, i) else None
                    wanted.setdefault(value, set()).add(scalar or value.type)
                    whole = map.type if map.type is not None and map.type.kind in AS_ONE else None
                    if whole is not None and whole.element is not None and whole.element.scalar is not None:
                        _check_seen(value, seen.setdefault(value, whole.element.scalar), whole.element.scalar, node)
        if not self.body:
            self.types = {v: _storage(v.type, types) for v, types in wanted.items()} | seen
        inputs = [self.input(v) for v in self.graph.inputs]
        for node, maps, attrs in settled:
            self.node(node, maps, attrs)
        # a number that is returned keeps its own type, whatever its other uses have it stored as
        outputs = [self.narrowed(v, v.type) if v in self.types else self.new[v] for v in self.graph.outputs]
        resolved = self.graph.replace(inputs=inputs, nodes=self.nodes, outputs=outputs)
        return self.graph if resolved == self.graph else resolved

    def input(self, value: Value) -> Value:
        """Returns an input with the storage type that its uses want, without sizes."""
        scalar = self.types.get(value)
        type = value.type if scalar is None or scalar.scalar is None else value.type.with_scalar(scalar.scalar)
        dims = (None,) * value.rank
        fresh = value.again(type, dims)
        self.new[value] = fresh
        return fresh

    def node(self, node: Node, maps: Sequence[ArgMap], attrs: dict[str, Attr]) -> None:
        operands: list[Value] = []
        final: list[ArgMap] = []
        binds = _binds(node)
        for i, (value, map) in enumerate(zip(node.operands, maps)):
            operand, scalar = self.new[value], _wanted(node, i, map, self.oracle)
            if scalar is not None and value in self.const_nodes:
                operand = self.constant(value, scalar)
            elif operand.type is not value.type and map.type is None and not binds:
                operand = self.narrowed(value, value.type if scalar is None else value.type.with_scalar(scalar))
            # an operator converts by itself; for a call, the map states the type
            type = map.type or (value.type if binds else operand.type)
            operands.append(operand)
            final.append(ArgMap(map.dims, type if type is not operand.type else None))
        results: Sequence[Value] = node.results
        if not binds and any(o.type is not v.type for o, v in zip(operands, node.operands)):  # a retyped number may change them
            results = node.op.infer(Node(node.op, operands, final, (), node.attrs, node.loc), self.oracle)
        self.new.update(zip(node.results, results))
        bodies = [_Resolver(body, self.oracle, body=True).run() for body in node.bodies]
        self.nodes.append(Node(node.op, operands, final, results, {**node.attrs, **attrs}, node.loc, bodies))

    def narrowed(self, value: Value, type: Type) -> Value:
        """Returns a number in the type that an operator computes in; other uses may have it stored with more digits."""
        stored = self.new[value]
        if stored.type is type:
            return stored
        number = self.narrow.get((value, type))
        if number is None:
            number = self.narrow[value, type] = Value(type, stored.dims, weak=True)
            map = ArgMap(tuple(range(value.rank)))
            self.nodes.append(Node(OPS["construct"], [stored], [map], [number], {"type": type.name}))  # weak, unlike a cast
        return number

    def constant(self, value: Value, scalar: Type) -> Value:
        """Returns the constant of `value` in the scalar type that a use wants."""
        node = self.const_nodes[value]
        if value.type is scalar:
            return self.new[value]
        found = self.constants.get((value, scalar))
        if found is None:
            number = node.attrs["value"]
            assert isinstance(number, (int, float))
            check_range(number, scalar, "constant", node.loc)
            converted = float(number) if scalar.is_float else number
            attrs: dict[str, Attr] = {"type": scalar.name, "value": converted}
            found = Value(scalar, (), arrival=LITERAL, weak=True)
            self.nodes.append(Node(OPS["const"], (), (), [found], attrs, node.loc))
            self.constants[value, scalar] = found
        return found
