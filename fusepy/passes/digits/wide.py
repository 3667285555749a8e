"""Python's floats with all their digits: what operators, loops and branches compute of numbers, where doubles are wanted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.control import Control, Loop
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import BOOL, DOUBLE, FLOAT, Type
from fusepy.passes.rewrite import substitute

# what Python, or NumPy with its own numbers, computes call by call; and what chooses among numbers and gives Python's
OF_PYTHON = frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "pow", "neg", "abs", "stop_gradient"))
_OPERATORS = OF_PYTHON.union(("select", "minimum", "maximum", "clip"))


def with_digits(graph: Graph, oracle: Oracle) -> Graph:
    """Returns a traced graph in which operators of Python's floats compute doubles where these are wanted, as Python does.

    So it is with what loops and branches of numbers alone give, and in their bodies. Other uses of such a result take it with 32
    bits, as before.
    """
    for node in graph.nodes:  # most programs compute nothing of numbers
        if node.bodies or (node.op.name in _OPERATORS and node.results[0].weak):
            work = _Digits(graph, oracle, None)
            return graph if work.is_idle else work.rewritten(())
    return graph


def returned(graph: Graph) -> Graph:
    """Returns a traced graph whose results of Python's floats are doubles: they are handed out as Python's floats."""
    made = {
        v for node in graph.nodes if node.op.name not in _OPERATORS and not isinstance(node.op, Control) for v in node.results
    }
    nodes, outputs = [*graph.nodes], [*graph.outputs]
    for j, value in enumerate(outputs):
        if _is_number(value) and (value.arrival.literal or value not in made):
            outputs[j] = _converted(value, DOUBLE, nodes)
    return graph.replace(nodes=nodes, outputs=outputs)


def _is_number(value: Value) -> bool:
    return value.weak and value.type is FLOAT and not value.rank and of_numbers([value])


def _converted(value: Value, type: Type, nodes: list[Node], result: Value | None = None) -> Value:
    """Adds a node that converts a number, which stays one; the resolution gives all digits of one of the program or the call."""
    result = Value(type, weak=True) if result is None else result
    nodes.append(Node(OPS["construct"], [value], [UNSAID], [result], {"type": type.name}))
    return result


class _Digits:
    """The numbers that become doubles in a graph, or in the body of a loop or branch.

    Args:
        outputs: the outputs of a body that are wanted as doubles; ``None`` for a whole graph.

    Attributes:
        wide: the inputs of a body that are wanted as doubles.
    """

    def __init__(self, graph: Graph, oracle: Oracle, outputs: Collection[int] | None):
        self.graph, self.oracle = graph, oracle
        self.made = {
            v for node in graph.nodes for v in node.results if _is_number(v) and (node.op.name in _OPERATORS or _is_control(node))
        }
        known = self.made.union(v for v in graph.inputs if _is_number(v))
        if outputs is not None:  # the resolution knows the uses of the other inputs
            self.made = known
        self.takes = {node: self._taken(node) for node in graph.nodes}
        self.outputs = outputs or ()
        self.wanted = {node.operands[i] for node, places in self.takes.items() for i in places}
        self.inner: dict[Node, _Bodies] = {}
        self.wanted.update(v for j in self.outputs if (v := graph.outputs[j]) in known)
        for node in reversed(graph.nodes):
            if isinstance(node.op, Control):
                found = self.inner[node] = _Bodies(node, oracle, {j for j, v in enumerate(node.results) if v in self.wanted})
                self.wanted.update(v for i in found.operands if (v := node.operands[i]) in known)
            elif node.results and node.results[0] in self.wanted:
                self.wanted.update(v for v in node.operands if v in known)
        self.wide = {i for i, v in enumerate(graph.inputs) if v in self.wanted}

    @property
    def is_idle(self) -> bool:
        return not self.wanted and all(bodies.is_idle for bodies in self.inner.values())

    def rewritten(self, wide: Collection[int]) -> Graph:
        """Returns the graph; the inputs `wide` of a body are doubles."""
        self.nodes: list[Node] = []
        self.doubles: dict[Value, Value] = {}
        inputs, same = [*self.graph.inputs], dict[Value, Value]()
        for i in wide:
            value = inputs[i]
            inputs[i] = self.doubles[value] = Value(DOUBLE, weak=value.weak, name=value.name)
            same[value] = _converted(inputs[i], FLOAT, self.nodes)
        for node in self.graph.nodes:
            self._node(node, substitute(node, same))
        outputs = [self._double(v) if j in self.outputs else same.get(v, v) for j, v in enumerate(self.graph.outputs)]
        return self.graph.replace(inputs=inputs, nodes=self.nodes, outputs=outputs)

    def _node(self, node: Node, narrow: Node) -> None:
        """Adds a node, `narrow` with inputs of 32 bits, and what computes the same as a double if that is wanted."""
        taken = self.takes[node]
        operands = [self._double(v) if i in taken else o for i, (v, o) in enumerate(zip(node.operands, narrow.operands))]
        bodies = self.inner.get(node)
        if bodies is not None and (bodies.wide or bodies.results):
            self._control(node, operands, bodies)
            return
        inner = node.bodies if bodies is None or bodies.is_idle else bodies.rewritten()
        self.nodes.append(
            Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, inner) if taken or inner else narrow
        )
        if bodies is None and node.results and node.results[0] in self.wanted:
            operands = [v if v.type is BOOL else self._double(v) for v in node.operands]
            results = node.op.infer(Node(node.op, operands, node.maps, (), node.attrs, node.loc), self.oracle)
            self.nodes.append(Node(node.op, operands, node.maps, results, node.attrs, node.loc))
            self.doubles[node.results[0]] = results[0]

    def _control(self, node: Node, operands: Sequence[Value], bodies: _Bodies) -> None:
        """Adds a loop or branch with doubles among its inputs and results."""
        given = [self.doubles.get(node.operands[i], v) if i in bodies.operands else v for i, v in enumerate(operands)]
        wide = [DOUBLE if v.type is not DOUBLE else None for v in given]
        maps = [ArgMap(m.dims, type) if i in bodies.operands else m for i, (m, type) in enumerate(zip(node.maps, wide))]
        results = [Value(DOUBLE, weak=True) if j in bodies.results else v for j, v in enumerate(node.results)]
        self.nodes.append(Node(node.op, given, maps, results, node.attrs, node.loc, bodies.rewritten()))
        for value, double in zip(node.results, results):
            if value is not double:
                self.doubles[value] = double
                _converted(double, FLOAT, self.nodes, value)

    def _double(self, value: Value) -> Value:
        """Returns a number as a double."""
        if value not in self.doubles:
            self.doubles[value] = _converted(value, DOUBLE, self.nodes)
        return self.doubles[value]

    def _taken(self, node: Node) -> set[int]:
        """Returns the places of the operands, among the computed numbers, that a node takes as doubles."""
        if self.made.isdisjoint(node.operands):
            return set()
        maps = settle(node, self.oracle)[0]
        scalars = [node.op.wanted(node, i) if m.type is None else m.type.scalar for i, m in enumerate(maps)]
        return {i for i, (v, scalar) in enumerate(zip(node.operands, scalars)) if v in self.made and scalar is DOUBLE}


def _is_control(node: Node) -> bool:
    return isinstance(node.op, Control)


class _Bodies:
    """The bodies of a loop or branch.

    Attributes:
        results: the results that become doubles: of a loop all numbers that it carries, if one of them is wanted.
        wide: the inputs of the bodies that become doubles.
        operands: the operands that these come from.
    """

    def __init__(self, node: Node, oracle: Oracle, wanted: Collection[int]):
        assert isinstance(node.op, Control)
        own, loops, last = node.op.own, isinstance(node.op, Loop), len(node.bodies) - 1
        numbers = {j for j, v in enumerate(node.results) if _is_number(v)}
        self.results = numbers if wanted and loops else {*wanted}

        def of_bodies() -> list[_Digits]:
            return [_Digits(b, oracle, self.results if not loops or k == last else ()) for k, b in enumerate(node.bodies)]

        self.bodies = of_bodies()
        if loops and not self.results and any(own + j in body.wide for body in self.bodies for j in numbers):
            self.results = numbers
            self.bodies = of_bodies()
        carried = {own + j for j in range(len(node.results))} if loops else set[int]()
        self.wide = {own + j for j in self.results} if loops else set[int]()
        self.wide |= {i for body in self.bodies for i in body.wide if i not in carried}
        self.operands = {node.op.ahead + i - own for i in self.wide}

    @property
    def is_idle(self) -> bool:
        return not self.results and all(body.is_idle for body in self.bodies)

    def rewritten(self) -> list[Graph]:
        return [body.rewritten(self.wide) for body in self.bodies]
