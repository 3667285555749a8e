"""Nodes of a `Graph`: functions as nodes, recorded calls, and the values that stand for their results."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol, cast

from fusepy.errors import GraphError
from fusepy.inspect.lowered import Inspectable, Lowered
from fusepy.location import user_line
from fusepy.program.node_results import Results, names_unpacked, parts_of
from fusepy.pytree import LEAF, NOTHING, Structure, container_of, flatten
from fusepy.symbolic import SIGNS, Numberless, Symbolic

Function = Callable[..., Any]
_serial = itertools.count()


class GraphRecording(Protocol):
    """The part of a graph's recording that its values need."""

    name: str

    def add(self, use: Use) -> None:
        """Adds a call of a node."""
        ...

    def check_cycle(self, use: Use) -> None:
        """Raises `CycleError` if a node is this graph, or a graph that contains it."""
        ...


class Use:
    """A recorded call of a node.

    Attributes:
        number: its index in the order of recording.
        wiring: the graph that it belongs to; ``None`` if no argument is a value of a graph, so that any graph may use it.
        reads: the calls whose results are among its arguments.
        structure: that of its results.
        results: the values that stand for them.
    """

    __slots__ = ("args", "function", "kwargs", "loc", "name", "number", "reads", "results", "structure", "wiring")

    def __init__(self, function: Function, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], loc: str | None):
        self.function = function
        self.name = name
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        self.loc = loc
        self.number = next(_serial)
        given = graph_values([self.args, self.kwargs])
        self.wiring = self._owner(given)
        self.reads = list(dict.fromkeys(origin for v in given if (origin := origin_of(v)) is not None))
        self.structure: Structure = NOTHING
        self.results: list[GraphValue] = []

    def _owner(self, given: Sequence[GraphValue]) -> GraphRecording | None:
        wirings = list(dict.fromkeys(w for v in given if (w := wiring_of(v)) is not None))
        if len(wirings) > 1:
            raise GraphError(
                f"{self.name}: its arguments are values of two graphs",
                place=self.loc,
                saw=" and ".join(w.name for w in wirings),
                hint="pass the value in as an input, or take one graph as a node of the other: g.node()",
            )
        return wirings[0] if wirings else None

    def returning(self, structure: Structure) -> Any:
        """Makes the values of the graph for the results, and returns them in this structure."""
        self.structure = structure
        self.results = [GraphValue(self.wiring, self, self.name, self.loc) for _ in range(structure.leaves)]
        made: Any = structure.fill(self.results)
        return Results(self.name, made) if type(made) is tuple else made  # pyright: ignore[reportUnknownArgumentType]

    def replay(self, values: dict[GraphValue, Any], function: Function) -> None:
        """Calls the function, or one like it, with the values of its arguments in this call of the graph."""
        args = [valued(a, values) for a in self.args]
        made = function(*args, **{k: valued(a, values) for k, a in self.kwargs.items()})
        values.update(zip(self.results, _in_places(self.structure, made, self.name)))


def _in_places(structure: Structure, value: Any, name: str) -> Iterator[Any]:
    """Yields the parts of `value` for the leaves of `structure`, in order.

    Raises:
        GraphError: if `value` has another structure.
    """
    if structure.container is None:
        yield from [value] * structure.leaves
        return
    container = container_of(value)
    found = None if container is None else container.parts(value)
    if found is None or tuple(found) != structure.keys:
        has = "one" if found is None else len(found)
        raise GraphError(
            f"{name} was declared with {len(structure.parts)} results, and has {has}",
            saw=f"a {type(value).__name__}",
            hint=f"write {name}.node(outputs={1 if found is None else len(found)})",
        )
    for key, part in zip(structure.keys, structure.parts):
        yield from _in_places(part, found[key], name)


class GraphValue(Numberless, Symbolic):
    """A value of a `Graph`: an input, or the result of a node. Its operators, members and indices are nodes, too."""

    __slots__ = ("_loc", "_name", "_use", "_wiring")
    __hash__ = object.__hash__

    def __init__(self, wiring: GraphRecording | None, use: Use | None, name: str, loc: str | None):
        self._wiring = wiring
        self._use = use
        self._name = name
        self._loc = loc

    def _misplaced(self) -> GraphError:
        return GraphError(
            "a value of a graph is passed to a function that is called now",
            saw=repr(self),
            hint="call the node of the function: f.node()(value)",
        )

    def __getattr__(self, name: str) -> GraphValue:
        if name.startswith("_"):  # Python looks up special methods: these are no members
            raise AttributeError(name)
        return _apply(getattr, f".{name}", self, name)

    def __getitem__(self, index: Any) -> GraphValue:
        return _apply(operator.getitem, "[]", self, index)

    def __call__(self, *args: Any, **kwargs: Any) -> GraphValue:
        """Records the call of a method: ``x.sum(axis=0)``."""
        return Use(_called, f"{self._name}()", (self, *args), kwargs, user_line()).returning(LEAF)

    def __iter__(self) -> Iterator[Any]:
        count = names_unpacked(2)
        if count is not None:
            parts = Use(parts_of, self._name, (self, count), {}, user_line())
            return iter(parts.returning(flatten((0,) * count)[1]))
        hint = "its parts are taken by index, or by a, b = value; a fused function may say how many it returns: f.node(outputs=2)"
        raise self._refuse("the number of parts", hint)

    def _refuse(self, what: str, hint: str) -> GraphError:
        graph = f"{what} of a value of the graph {self._wiring.name if self._wiring else ''}".rstrip()
        return GraphError(graph, saw=f"{self._name} made at {self._loc}", hint=hint)

    def __bool__(self) -> bool:
        hint = "it is computed when the graph is called; choose in Slang, or in a fused function with fusepy.where"
        raise self._refuse("the truth", hint)

    def __len__(self) -> int:
        raise self._refuse("len()", "its extents are known when the graph is called: make a node of a fused function that asks")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise self._refuse("a NumPy array", "NumPy computes now: use operators and fusepy's functions, e.g. fp.where")

    def __repr__(self) -> str:
        return f"GraphValue({self._name}, made at {self._loc})"


def wiring_of(value: GraphValue) -> GraphRecording | None:
    """Returns the graph that a value belongs to."""
    return value._wiring  # pyright: ignore[reportPrivateUsage]


def origin_of(value: GraphValue) -> Use | None:
    """Returns the call that computes a value; ``None`` for an input."""
    return value._use  # pyright: ignore[reportPrivateUsage]


def graph_values(value: Any) -> list[GraphValue]:
    """Returns the values of graphs among the leaves of an argument or an output."""
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, GraphValue)]


def valued(value: Any, values: Mapping[GraphValue, Any]) -> Any:
    """Fills in the values of a call of the graph; without graph values, the object itself (arrays are keyed by identity)."""
    leaves, structure = flatten(value)
    if not any(isinstance(leaf, GraphValue) for leaf in leaves):
        return value
    return structure.fill([values[leaf] if isinstance(leaf, GraphValue) else leaf for leaf in leaves])


def name_of(value: GraphValue) -> str:
    """Returns the name of an input, or of the node that computes a value."""
    return value._name  # pyright: ignore[reportPrivateUsage]


class Node(Inspectable):
    """A function as a node of graphs, made by the ``node`` method of functions and graphs. It is called with values of a graph.

    Example:
        >>> import fusepy as fp
        >>> source = "float twice(float x) { return 2 * x; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_node", source)
        >>> twice = m.twice.node()
        >>> g = fp.Graph(inputs=["x"])
        >>> (x,) = g.get_inputs()
        >>> g.set_outputs(twice(twice(x)) + 1)
        >>> g([1.0, 2.0])
        [5.0, 9.0]
    """

    def __init__(self, function: Any, outputs: int | None = None):
        self.__name__: str = function.__name__
        if outputs is not None and (type(outputs) is not int or outputs < 0):
            raise GraphError(
                f"{self.__name__}.node(): outputs is how many results the node has",
                saw=repr(outputs),
                expected="a number, 0 or more",
                hint="leave it out for a Slang function or a graph: they know the number of their results",
            )
        self.function, self.outputs = function, outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Records a call, and returns its results as values of the graph: none, one, or a tuple.

        Args:
            args: values of one graph, and any other arguments of the function: numbers, arrays, tensors, structures.

        Raises:
            ArgumentError: if there are too many arguments, or no parameter has a name.
            GraphError: for values of two graphs, a graph inside of itself, or another number of results than declared.
        """
        use = Use(self.function, self.__name__, args, kwargs, user_line())
        structure: Structure = self.function._node_results(use, self.outputs)
        if use.wiring is not None:
            use.wiring.add(use)
        elif structure is NOTHING:
            raise GraphError(
                f"{self.__name__}: a node that returns nothing must be given a value of the graph",
                place=use.loc,
                hint="pass a value of the graph: it tells which graph the node is in",
            )
        return use.returning(structure)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces a call of the function with real arguments, outside of any graph; see `Function.lower`."""
        return self.function.lower(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<node {self.__name__}>"


def wrong_count(use: Use, said: int, has: str) -> GraphError:
    """Returns the error for a node whose declared number of results is wrong."""
    return GraphError(
        f"{use.name}.node(outputs={said}) has {has}",
        place=use.loc,
        expected=f"outputs={has.split()[0]}",
        hint="leave outputs out for a Slang function or a graph: they know the number of their results",
    )


def _called(function: Function, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _apply(function: Function, name: str, *args: Any) -> GraphValue:
    return Use(function, name, args, {}, user_line()).returning(LEAF)


_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {"neg": "-", "invert": "~", "abs": "abs", "pos": "+"}


def _operator(name: str, sign: str, *, swapped: bool = False) -> Function:
    function = cast("Function", getattr(operator, f"__{name}__"))

    def unary(self: GraphValue) -> GraphValue:
        return _apply(function, sign, self)

    def binary(self: GraphValue, other: Any) -> GraphValue:
        return _apply(function, sign, other, self) if swapped else _apply(function, sign, self, other)

    return unary if name in _UNARY else binary


def _in_place(name: str, sign: str) -> Callable[[GraphValue, Any], GraphValue]:
    """Returns the method for ``x += y``. It has a place in the order, as a call has: it may write to what others use."""

    def augmented(self: GraphValue, other: Any) -> GraphValue:
        use = Use(getattr(operator, f"__i{name}__"), f"{sign}=", (self, other), {}, user_line())
        if use.wiring is not None:
            use.wiring.add(use)
        return use.returning(LEAF)

    return augmented


for _name, _sign in {**SIGNS, **_COMPARISONS, **_UNARY}.items():
    setattr(GraphValue, f"__{_name}__", _operator(_name, _sign))
for _name, _sign in SIGNS.items():
    setattr(GraphValue, f"__r{_name}__", _operator(_name, _sign, swapped=True))
    setattr(GraphValue, f"__i{_name}__", _in_place(_name, _sign))
