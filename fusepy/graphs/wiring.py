"""The recording of a `Graph`: its inputs, the calls of nodes in order, and its outputs; and their replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fusepy.errors import CycleError, GraphError
from fusepy.functions.fused import of_object
from fusepy.functions.nodes import GraphValue, Use, graph_values, origin_of, valued, wiring_of
from fusepy.location import at_line, user_line


class Wiring:
    """The recording of one graph, shared by all its configurations.

    Attributes:
        calls: the calls of nodes, in order. Operators are reached through the calls that use them.
        outputs: the results of the graph; ``None`` before `set_outputs`. `settled` is the line that set them.
        owners: the objects whose methods are nodes; for a graph as a node, its list. They may get other values between calls.
    """

    def __init__(self, name: str, inputs: Sequence[str]):
        loc = user_line()
        self.name = name
        self.inputs = tuple(GraphValue(self, None, input, loc) for input in inputs)
        self.names = tuple(inputs)
        self.calls: list[Use] = []
        self.outputs: Any = None
        self.settled: str | None = None
        self.owners: list[Any] = []
        self._places: dict[Use, int] = {}  # in `owners`
        self._order: list[Use] | None = None

    def add(self, use: Use) -> None:
        """Adds a call of a node.

        Raises:
            GraphError: if the outputs are set.
            CycleError: if the node is a graph that contains this one.
        """
        if self.settled is not None:
            raise GraphError(
                f"{use.name} is called with a value of {self.name}, whose outputs are set",
                place=use.loc,
                saw=f"set_outputs() at {self.settled}",
                hint="call all nodes before set_outputs()",
            )
        self.check_cycle(use)
        self.calls.append(use)

    def finish(self, outputs: Any) -> None:
        """Sets the outputs.

        Raises:
            GraphError: if they are set already, or none is a value of this graph.
            CycleError: if a graph among the nodes contains this one.
        """
        loc = user_line()
        if self.settled is not None:
            raise GraphError(
                f"{self.name}: the outputs are set twice",
                place=loc,
                saw=f"set_outputs() at {self.settled}",
                hint="return several as set_outputs(a, b), or make another graph",
            )
        values = graph_values(outputs)
        strange = [w for v in values if (w := wiring_of(v)) is not None and w is not self]
        if strange or not values:
            raise GraphError(
                f"{self.name}: an output is a value of another graph" if strange else f"{self.name}: no output is a value of it",
                place=loc,
                saw=strange[0].name if strange else repr(outputs)[:60],
                expected=f"values that nodes of {self.name} return",
                hint="call nodes with what get_inputs() returns",
            )
        self.outputs = outputs
        for use in self.order():
            self.check_cycle(use)
        self.settled = loc or "an unknown line"
        for use in self.order():
            self._take_owner(use)

    def _take_owner(self, use: Use) -> None:
        """Keeps the object whose values a call reads."""
        inner = getattr(use.function, "wiring", None)
        if isinstance(inner, Wiring) and inner.settled is None:  # its list is filled later
            owner: Any = inner.owners
        else:
            method = of_object(use.function)
            if method is None:
                return
            owner = method[1]
        self._places[use] = next((i for i, known in enumerate(self.owners) if known is owner), len(self.owners))
        if self._places[use] == len(self.owners):
            self.owners.append(owner)

    def check_cycle(self, use: Use) -> None:
        """Raises `CycleError` if a node is this graph, or a graph that contains it."""
        path = _path(use, self, ())
        if path is not None:
            raise CycleError(
                f"{self.name} is inside of itself",
                place=use.loc,
                saw=" -> ".join(w.name for w in (self, *path)),
                hint="a loop on the device is fusepy.fori_loop or while_loop in a fused function, which is a node",
            )

    def order(self) -> list[Use]:
        """Returns the calls, and the operators that they and the outputs use, in the order of recording."""
        if self._order is not None:
            return self._order
        found: dict[Use, None] = {}
        outputs = map(origin_of, graph_values(self.outputs))
        stack = [*self.calls, *(use for use in outputs if use is not None)]
        while stack:
            use = stack.pop()
            if use not in found:
                found[use] = None
                stack += use.reads
        order = sorted(found, key=lambda use: use.number)
        if self.settled is not None:
            self._order = order
        return order

    def replay(self, given: Mapping[str, Any], owners: Sequence[Any]) -> Any:
        """Calls all nodes in order, with these inputs and objects like those in `owners`.

        Raises:
            GraphError: if no outputs are set.
        """
        if self.settled is None:
            raise GraphError(
                f"{self.name}: it has no outputs yet", hint="say what it returns with set_outputs(…) before it is called"
            )
        values: dict[GraphValue, Any] = {value: given[name] for value, name in zip(self.inputs, self.names)}
        for use in self.order():
            with at_line(use.loc):
                try:
                    place = self._places.get(use)
                    method = None if place is None else of_object(use.function)
                    use.replay(values, partial(method[0], owners[place]) if method and place is not None else use.function)
                except GraphError as error:
                    raise error.here() from None
        return valued(self.outputs, values)


def _path(use: Use, goal: Wiring, seen: tuple[Wiring, ...]) -> tuple[Wiring, ...] | None:
    """Returns the graphs on the path from a call to `goal`; ``None`` if there is no path."""
    wiring = getattr(use.function, "wiring", None)
    if not isinstance(wiring, Wiring) or wiring in seen:
        return None
    if wiring is goal:
        return (wiring,)
    for inner in wiring.order():
        found = _path(inner, goal, (*seen, wiring))
        if found is not None:
            return (wiring, *found)
    return None
