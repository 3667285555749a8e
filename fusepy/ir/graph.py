"""The graph IR: values in SSA form, one `Node` per recorded call, a topologically ordered `Graph`; `Op` is a node's operation.

Nothing here is changed after it is built; a pass makes new nodes. Tracing builds graphs through `Builder`, which infers
every result as it records, so a graph that breaks a rule never leaves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.answer import Resolution
from fusepy.ir.types import Type
from fusepy.ir.value import Array, Attr, Value, declare

_Values = Iterable[Value]


class Op:
    """One operation: inference, NumPy meaning and Slang emission.

    Attributes:
        name: its name in textual IR.
        pure: True if equal nodes may be merged and unused ones dropped.
        merges: False if equal nodes stay apart, because each makes an array that other nodes write.
        arity: how many operands it takes; ``None`` for any number.
        spreads: True if its results are spread over its grid, each element computed at its own point.
        views: True if each node shows its operand otherwise, and computes nothing.
        standalone: True if each node is a launch of its own: it reads values from memory, and stores its results.
        needs: the attributes that a node must have, with their types.
        nests: True if its nodes have bodies.
    """

    name: str = ""
    pure: bool = True
    merges: bool = True
    nests: bool = False
    spreads: bool = True
    standalone: bool = False
    views: bool = False
    arity: int | None = None
    needs: Mapping[str, tuple[type, ...]] = MappingProxyType({})

    def grid_rank(self, node: Node) -> int:
        """Returns the rank of the grid of `node`: that of its results if these are spread over the grid, else of its operands."""
        if node.results and self.spreads:
            return node.results[0].rank
        return max((v.rank if m.dims is None else m.min_grid_rank for v, m in zip(node.operands, node.maps)), default=0)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        """Returns fresh result values for `node`, whose ``results`` are not set yet.

        Raises:
            FusepyError: if the operands do not fit the operation.
        """
        raise NotImplementedError

    def resolution(self, node: Node, oracle: Oracle | None) -> Resolution | None:
        """Returns Slang's answer, for an operation that binds its operands to parameters; else ``None``."""
        return None

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        """Computes the results in NumPy; the leading axes of each argument are the grid (extent 1 where it does not vary)."""
        raise NotImplementedError

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        """Returns Slang statements that declare `results`, given the names of the operands."""
        return [f"{declare(node.results[0].type, results[0])} = {self.expression(node, args)};"]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        """Returns the Slang expression of an operation with one result."""
        raise NotImplementedError

    def settled(self, node: Node, oracle: Oracle | None) -> list[ArgMap]:
        """Returns the maps of `node`, completed by NumPy's broadcasting over the smallest grid that fits."""
        rank = grid_rank(node)
        return [m if m.is_resolved else ArgMap(ArgMap.aligned(v.rank, rank).dims) for v, m in zip(node.operands, node.maps)]

    def wanted(self, node: Node, i: int) -> Type | None:
        """Returns the scalar that operand `i` is converted to before the operation; ``None`` if it is not converted."""
        return None

    def verify(self, node: Node) -> str | None:
        """Returns a rule that `node` breaks, or ``None``. The verifier infers types and ranks again by itself."""
        if self.arity is not None and len(node.operands) != self.arity:
            return f"{self.name} takes {self.arity} operands, not {len(node.operands)}"
        for key, kinds in self.needs.items():
            if not isinstance(node.attrs.get(key), kinds):
                return f"{self.name} needs the attribute {key!r}, a {' or '.join(k.__name__ for k in kinds)}"
        return None


class Node:
    """One operation of a graph, with its operands, their maps and its results.

    Attributes:
        attrs: further inputs of the op, e.g. the callee of ``slang.call``; sorted by key.
        loc: the user's ``file:line``.
        bodies: the graphs inside, such as the branches of a ``cond``; often none. `body` is the first, or ``None``.
    """

    __slots__ = ("attrs", "bodies", "body", "loc", "maps", "op", "operands", "results")

    def __init__(
        self,
        op: Op,
        operands: Sequence[Value],
        maps: Sequence[ArgMap],
        results: Sequence[Value],
        attrs: Mapping[str, Attr] | None = None,
        loc: str | None = None,
        bodies: Sequence[Graph] = (),
    ):
        self.op, self.operands, self.maps, self.results = op, tuple(operands), tuple(maps), tuple(results)
        self.attrs: dict[str, Attr] = dict(sorted(attrs.items())) if attrs else {}
        self.loc, self.bodies = loc, tuple(bodies)
        self.body: Graph | None = self.bodies[0] if bodies else None

    def text(self, key: str) -> str:
        """Returns the attribute `key`, which is a string."""
        value = self.attrs[key]
        assert isinstance(value, str), key
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """Returns the attribute `key`, which is a tuple of strings."""
        value = self.attrs[key]
        assert isinstance(value, tuple), key
        return value

    @property
    def grid_rank(self) -> int:
        """The rank of the grid that this node runs on; see `Op.grid_rank`."""
        return self.op.grid_rank(self)

    def __repr__(self) -> str:
        return f"<Node {self.op.name} {self.attrs}>"


class Graph:
    """A function of values: inputs, nodes in topological order, outputs.

    Attributes:
        modules: the Slang modules that it calls, as ``(alias, content key)``; ``@alias.function`` names a callee.
    """

    __slots__ = ("inputs", "modules", "name", "nodes", "outputs")

    def __init__(
        self, name: str, inputs: _Values, nodes: Iterable[Node], outputs: _Values, modules: Iterable[tuple[str, str]] = ()
    ):
        self.name, self.inputs, self.nodes = name, tuple(inputs), tuple(nodes)
        self.outputs, self.modules = tuple(outputs), tuple(modules)

    def replace(
        self, *, inputs: _Values | None = None, nodes: Iterable[Node] | None = None, outputs: _Values | None = None
    ) -> Graph:
        """Returns this graph with some parts exchanged."""
        return Graph(
            self.name,
            self.inputs if inputs is None else inputs,
            self.nodes if nodes is None else nodes,
            self.outputs if outputs is None else outputs,
            self.modules,
        )

    def canonical(self, places: bool = True) -> tuple[object, ...]:
        """Returns a key that is equal for graphs that print alike; without `places`, names and lines do not count."""
        number = {id(value): k for k, value in enumerate(dict.fromkeys(self.values()))}
        return (
            self.name,
            self.modules,
            tuple(v.signature() if places else v.signature()[:-1] for v in self.inputs),
            tuple(
                (
                    n.op.name,
                    tuple(number[id(v)] for v in n.operands),
                    n.maps,
                    tuple((k, repr(v)) for k, v in n.attrs.items()),  # 1, 1.0 and True are equal, and so are 0.0 and -0.0
                    tuple(v.signature() for v in n.results),
                    n.loc if places else None,
                    tuple(body.canonical(places) for body in n.bodies),
                )
                for n in self.nodes
            ),
            tuple(number[id(v)] for v in self.outputs),
        )

    def values(self) -> Iterator[Value]:
        """Yields every value, in order of definition."""
        yield from self.inputs
        for node in self.nodes:
            yield from node.results

    def walk(self) -> Iterator[Node]:
        """Yields every node, each before those in its bodies."""
        for node in self.nodes:
            yield node
            for body in node.bodies:
                yield from body.walk()

    def all_values(self) -> Iterator[Value]:
        """Yields the values of the graph and of all bodies in it."""
        for graph in (self, *(body for node in self.walk() for body in node.bodies)):
            yield from graph.values()

    def __eq__(self, other: object) -> bool:
        maps = [n.maps for n in self.nodes]
        return isinstance(other, Graph) and maps == [n.maps for n in other.nodes] and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash(self.canonical())


def grid_rank(node: Node) -> int:
    """Returns the grid rank of an operation without explicit types: the largest rank that its operands need."""
    return max((max(m.min_grid_rank, v.rank if m.dims is None else 0) for v, m in zip(node.operands, node.maps)), default=0)
