"""The graph IR: values in SSA form, one `Node` per recorded call, and a topologically ordered `Graph`.

Nothing here is changed after it is built; a pass makes new nodes. Tracing builds graphs through `Builder`, which infers
every result as it records, so a graph that breaks a rule never leaves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.types import Type

if TYPE_CHECKING:
    from fusepy.ir.ops.base import Op
    from fusepy.ir.oracle import Oracle

Attr = str | int | float | bool | tuple[str, ...]
Dims = tuple["int | None", ...]


class Value:
    """One SSA value.

    Attributes:
        type: what one element is.
        dims: the extents of its batch axes; ``None`` (printed ``?``) where the size is no part of the program. Only an
            input's trailing axes that a vector could consume carry a number, and only until `resolve_maps`.
        container: how an input arrives: ``"Tensor"`` (device memory), ``"List"`` (Python numbers that follow Slang's
            answer), ``"Grid"`` (coordinates, no memory), ``"Texture2D"`` and the like (texels), ``"Buffer"`` and ``"Resource"``
            (see `ir.resources`), or ``""`` for a single Python number and for every computed value.
        weak: a Python number, or computed from such alone; it takes the type that its context wants.
        name: the user's name of an input; ``None`` for computed values.
        copied: whether an input is copied to the device for the call, so that it shares memory with no other; no part of what
            the graph means, and not printed.
    """

    __slots__ = ("container", "copied", "dims", "name", "type", "weak")

    def __init__(
        self,
        type: Type,
        dims: Dims = (),
        *,
        container: str = "",
        weak: bool = False,
        name: str | None = None,
        copied: bool = False,
    ):
        self.type = type
        self.dims = dims
        self.container = container
        self.weak = weak
        self.name = name
        self.copied = copied or container == "List"

    @property
    def rank(self) -> int:
        return len(self.dims)

    def signature(self) -> tuple[object, ...]:
        """What must agree for two values to be interchangeable in `Graph.__eq__`."""
        return (self.type, self.dims, self.container, self.weak, self.name)

    def __repr__(self) -> str:
        return f"<Value {self.name or 'computed'}: {self.type} rank {self.rank}>"


class Node:
    """One operation: operands with their maps in, results out.

    Attributes:
        attrs: what the op needs beside operands, e.g. the callee of ``slang.call``; sorted by key.
        loc: the user's ``file:line``.
        bodies: the graphs inside: one of a ``region``, the branches of a ``cond``; none of most operations.
    """

    __slots__ = ("attrs", "bodies", "loc", "maps", "op", "operands", "results")

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
        self.op = op
        self.operands = tuple(operands)
        self.maps = tuple(maps)
        self.results = tuple(results)
        self.attrs: dict[str, Attr] = dict(sorted(attrs.items())) if attrs else {}
        self.loc = loc
        self.bodies = tuple(bodies)

    @property
    def body(self) -> Graph | None:
        """The first of `bodies`, ``None`` where there is none."""
        return self.bodies[0] if self.bodies else None

    def text(self, key: str) -> str:
        """The attribute `key`, which is a string."""
        value = self.attrs[key]
        assert isinstance(value, str), key
        return value

    @property
    def grid_rank(self) -> int:
        """The rank of the grid that this node runs on: of its results where these are spread over it, else of operands."""
        return self.op.grid_rank(self)

    def __repr__(self) -> str:
        return f"<Node {self.op.name} {self.attrs}>"


class Graph:
    """A function of values: inputs, nodes in topological order, outputs.

    Attributes:
        modules: the Slang modules it calls into, as ``(alias, content key)``; ``@alias.function`` names a callee.
    """

    __slots__ = ("inputs", "modules", "name", "nodes", "outputs")

    def __init__(
        self,
        name: str,
        inputs: Iterable[Value],
        nodes: Iterable[Node],
        outputs: Iterable[Value],
        modules: Iterable[tuple[str, str]] = (),
    ):
        self.name = name
        self.inputs = tuple(inputs)
        self.nodes = tuple(nodes)
        self.outputs = tuple(outputs)
        self.modules = tuple(modules)

    def replace(
        self,
        *,
        inputs: Iterable[Value] | None = None,
        nodes: Iterable[Node] | None = None,
        outputs: Iterable[Value] | None = None,
    ) -> Graph:
        """This graph with some parts exchanged."""
        return Graph(
            self.name,
            self.inputs if inputs is None else inputs,
            self.nodes if nodes is None else nodes,
            self.outputs if outputs is None else outputs,
            self.modules,
        )

    def canonical(self, places: bool = True) -> tuple[object, ...]:
        """The graph with values numbered in order: equal for graphs that print alike, up to names and lines without `places`."""
        number: dict[int, int] = {}
        for value in self.values():
            number.setdefault(id(value), len(number))
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
        """Every value, in order of definition."""
        yield from self.inputs
        for node in self.nodes:
            yield from node.results

    def walk(self) -> Iterator[Node]:
        """Every node, each before those in its bodies."""
        for node in self.nodes:
            yield node
            for body in node.bodies:
                yield from body.walk()

    def all_values(self) -> Iterator[Value]:
        """The values of the graph and of all bodies in it."""
        yield from self.values()
        for node in self.walk():
            for body in node.bodies:
                yield from body.values()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash(self.canonical())

    def __str__(self) -> str:
        from fusepy.ir.printer import print_graph  # printing is built on the graph, not the other way round

        return print_graph(self)


class Builder:
    """Records nodes one by one; each is inferred on the spot, so errors carry the user's line.

    Example:
        >>> from fusepy.ir.ops import OPS
        >>> b = Builder("double_it")
        >>> x = b.input("x", Type.parse("float"), (None,), container="Tensor")
        >>> (y,) = b.add(OPS["add"], [x, x])
        >>> print(b.finish([y]))
        graph @double_it(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {
          %0 = add(%x, %x) : Tensor<float>[?]
          return %0
        }
    """

    def __init__(self, name: str, oracle: Oracle | None = None):
        self.name = name
        self.oracle = oracle
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.modules: list[tuple[str, str]] = []

    def input(
        self, name: str, type: Type, dims: Dims = (), *, container: str = "", weak: bool = False, copied: bool = False
    ) -> Value:
        value = Value(type, dims, container=container, weak=weak or container == "List", name=name, copied=copied)
        self.inputs.append(value)
        return value

    def module(self, name: str, key: str) -> str:
        """The alias by which callees of the module with this content key are named."""
        for alias, known in self.modules:
            if known == key:
                return alias
        taken = {alias for alias, _ in self.modules}
        alias, count = name, 1
        while alias in taken:
            count += 1
            alias = f"{name}_{count}"
        self.modules.append((alias, key))
        return alias

    def add(
        self,
        op: Op,
        operands: Sequence[Value],
        maps: Sequence[ArgMap] | None = None,
        attrs: Mapping[str, Attr] | None = None,
        loc: str | None = None,
        bodies: Sequence[Graph] = (),
    ) -> tuple[Value, ...]:
        """Records one node and returns its results.

        Raises:
            FusepyError: whatever the op's inference raises about these operands.
        """
        node = Node(op, operands, maps or (UNSAID,) * len(operands), (), attrs, loc, bodies)
        node.results = tuple(op.infer(node, self.oracle))
        self.nodes.append(node)
        return node.results

    def finish(self, outputs: Sequence[Value]) -> Graph:
        return Graph(self.name, self.inputs, self.nodes, outputs, self.modules)
