"""`Graph`: a program built of nodes; called, configured and fused like any fused function."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.deferred.capture import Capture, capture
from fusepy.errors import GraphError
from fusepy.functions.fused import FusedFunction, HoldingTracer
from fusepy.functions.nodes import GraphValue, Use, wrong_count
from fusepy.graphs.chart import wiring_chart
from fusepy.graphs.wiring import Wiring
from fusepy.inspect.chart import Chart
from fusepy.inspect.lowered import Lowered
from fusepy.inspect.page.page import page_of_chart
from fusepy.pytree import Structure, flatten, several


class WiringTracer(HoldingTracer):
    """A tracer that calls the nodes of a graph in the order in which they were recorded.

    It reads the values of the objects whose methods are nodes, as a fused method does.
    """

    def __init__(self, wiring: Wiring, device: Device | None):
        self.wiring = wiring
        self.owner = wiring.owners
        replay = self.function_of(wiring.owners)
        replay.__name__ = replay.__qualname__ = wiring.name
        replay.__doc__ = f"The graph {wiring.name}."
        super().__init__(replay, device=device)

    def holds(self) -> bool:
        return bool(self.owner)

    def function_of(self, owner: Any) -> Any:
        def replay(*args: Any, **kwargs: Any) -> Any:
            return self.wiring.replay(signature.bind(*args, **kwargs).arguments, owner)

        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in self.wiring.names]
        signature = replay.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return replay

    def node_results(self, use: Use, outputs: int | None) -> Structure:
        """Returns the structure of the results of a call as a node: that of the outputs."""
        if use.wiring is not None:
            use.wiring.check_cycle(use)
        self.bind(use.args, use.kwargs)
        if self.wiring.settled is None:
            if outputs is None:
                raise GraphError(
                    f"{self.__name__}: it is used as a node before its outputs are set",
                    place=use.loc,
                    hint=f"call set_outputs(…) first, or say how many there will be: {self.__name__}.node(outputs=1)",
                )
            return several(outputs)
        structure = flatten(self.wiring.outputs)[1]
        has = structure.leaves
        if outputs is not None and outputs != has:
            raise wrong_count(use, outputs, f"{has} result{'s' * (has != 1)}")
        return structure


class Graph(FusedFunction):
    """A render graph: inputs, nodes that are called with them and with one another's results, and outputs.

    Nodes are Slang functions, fused functions and other graphs, made by their ``node`` method. Operators, members and
    indices of values are nodes as well. Calling the graph runs all of it as few kernels: it is a fused function whose body
    is its nodes, in the order in which they were called.

    Args:
        inputs: the names of the inputs.
        name: the name of the graph in messages and kernels.
        device: the device to run on; by default that of the first tensor among the arguments, else that of its functions.

    Raises:
        GraphError: for names that are no identifiers, or that occur twice.

    Example:
        >>> import fusepy as fp
        >>> source = "void split(float x, out float low, out float high) { low = floor(x); high = x - low; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_graph", source)
        >>> g = fp.Graph(inputs=["x", "k"])
        >>> x, k = g.get_inputs()
        >>> low, high = m.split.node()(x)
        >>> g.set_outputs(low * k + high)
        >>> g([1.5, 2.25], 10)
        [10.5, 20.25]
        >>> g.explain([1.5, 2.25], 10).kernels
        1
    """

    __slots__ = ()
    tracer: WiringTracer  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, inputs: Sequence[str], name: str = "graph", device: Device | None = None):
        self._trace_by(WiringTracer(Wiring(name, _checked(inputs, name)), device))

    @property
    def wiring(self) -> Wiring:
        """The recorded nodes, inputs and outputs."""
        return self.tracer.wiring

    def get_inputs(self) -> tuple[GraphValue, ...]:
        """Returns the values that stand for the inputs, in order."""
        return self.wiring.inputs

    def set_outputs(self, *outputs: Any) -> None:
        """Sets the results of the graph: one value, several, or a structure of them (tuples, lists, dicts, dataclasses).

        Raises:
            GraphError: if the outputs are set already, or are values of another graph, or no values of a graph.
        """
        self.wiring.finish(outputs[0] if len(outputs) == 1 else outputs)
        if self.tracer.holds():
            self.tracer.positional = -1  # each call binds the values of the objects

    def _chart(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Chart:
        """Draws a call with these arguments; without arguments, the graph as it was built."""
        return super()._chart(args, kwargs) if args or kwargs else wiring_chart(self.wiring)

    def to_html(self, path: str | os.PathLike[str], *args: Any, _measure: bool = True, **kwargs: Any) -> None:
        """Writes a page of a call with these arguments; without arguments, of the graph as it was built."""
        if args or kwargs:
            super().to_html(path, *args, _measure=_measure, **kwargs)
        else:
            Path(path).write_text(page_of_chart(self._chart((), {})), encoding="utf-8")

    def lower(self, *args: Any, _result: Any = None, **kwargs: Any) -> Lowered:
        """Traces a call without running it; see `FusedFunction.lower`."""
        return replace(super().lower(*args, _result=_result, **kwargs), built=wiring_chart(self.wiring))

    def freeze(self, *args: Any) -> Capture:
        """Records the launches of the graph on these arguments, to run them again; see `fusepy.capture`."""
        return capture(self, *args)

    def __repr__(self) -> str:
        return f"<graph {self.__name__}({', '.join(self.wiring.names)})>"


def _checked(inputs: Sequence[str], name: str) -> list[str]:
    """Checks and returns the names of a graph's inputs."""
    listed = isinstance(inputs, Iterable) and not isinstance(inputs, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    names = list(inputs) if listed else []
    wrong = [n for n in [*names, name] if not (isinstance(n, str) and n.isidentifier())]  # pyright: ignore[reportUnnecessaryIsInstance]
    wrong += [n for n in names if isinstance(n, str) and iskeyword(n)]  # pyright: ignore[reportUnnecessaryIsInstance]
    doubled = [n for n in names if names.count(n) > 1]
    if not listed or wrong or doubled:
        raise GraphError(
            f"Graph(): the name {doubled[0]!r} is given to two inputs" if doubled else "Graph(): inputs are a list of names",
            saw=repr(wrong[0] if wrong else inputs),
            expected="identifiers, each of them once",
            hint='write Graph(inputs=["x", "k"])',
        )
    return names
