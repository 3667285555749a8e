"""`ValueProbe`: a function that returns every value on the way to the results of another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from fusepy.ir.graph import Node, Value
from fusepy.ir.printer import print_node
from fusepy.ir.types import AS_ONE
from fusepy.passes.dce import Dce
from fusepy.trace.arity import signature_of
from fusepy.trace.prints.log import silenced
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

_LONG = re.compile(r" \{.{100,}\}\Z")  # the state of a draw, the functions of a pipeline of rays: not what one looks for here


class ValueProbe:
    """A function that returns all values that the results of another one depend on, and then these results.

    Attributes:
        graph: the graph of the function, once it is traced.
        values: the values before the results: inputs that have numbers, and what is computed, in the order of the program.
    """

    def __init__(self, function: Callable[..., Any], static: Mapping[str, Any] | None = None):
        self.function = function
        self.static = static or {}
        self.constants: dict[str, str] = {}
        self.__name__ = getattr(function, "__name__", "function")
        if static is None:
            with suppress(TypeError):  # of a Slang function with overloads, whose arguments have numbers for names
                self.__signature__ = signature_of(function, self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Traced]:
        trace = current_trace()
        assert trace is not None
        with silenced(trace):
            made = self.function(*args, **kwargs, **self.static)
        leaves, _ = flatten_values(made, self.__name__)
        ends = [trace.lift(leaf) for leaf in leaves]
        self.graph = trace.builder.finish(ends)
        nodes = [n for n in Dce()(self.graph, trace.oracle).nodes if n.op.name != "const"]
        used = {v for n in nodes for v in n.operands} | {*ends}
        computed = [v for n in nodes for v in n.results if v.type.kind not in AS_ONE]
        self.values = [*(v for v in self.graph.inputs if v in used and _has_numbers(v)), *computed]
        return [Traced(trace, v, None) for v in (*self.values, *ends)]

    def named(self, node: Node) -> tuple[Sequence[str], str]:
        """Returns the names of a node's results, and its operation with constants written where they are used.

        All nodes must be asked for in the order of the graph.
        """
        names, _, rest = print_node(self.graph, node).strip().partition(" = ")
        if node.op.name == "const":
            self.constants[names] = f"{node.attrs['value']}"
        text = _LONG.sub("", (rest.rpartition("  // ")[0] or rest).rpartition(" : ")[0])
        if node.op.name == "draw":
            text = text.replace("draw", f"draw @{'/'.join(node.words('functions'))}", 1)
        return names.split(", "), re.sub(r"%\d+\b", lambda name: self.constants.get(name[0], name[0]), text)


def _has_numbers(value: Value) -> bool:
    """True for an input with numbers of its own; textures and buffers have none until a function reads them."""
    arrival = value.arrival
    return value.type.kind not in AS_ONE and (
        arrival.plain or arrival.array or arrival.computed or arrival.grid or arrival.uniform
    )
