"""`Graph`: a program built of nodes, which is called, configured and fused like any fused function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.errors import GraphError
from fusepy.functions.fused import FusedFunction
from fusepy.functions.nodes import GraphValue, Use, several, wrong_count
from fusepy.functions.skeleton import spots
from fusepy.graphs.chart import wiring_chart
from fusepy.graphs.wiring import Wiring
from fusepy.inspect.chart import Chart
from fusepy.location import user_line


class Graph(FusedFunction):
    """A render graph: inputs, nodes that are called with them and with one another's results, and outputs.

    Nodes are Slang functions, fused functions and other graphs, as their ``node`` method returns them; operators, members and
    indices of values are nodes as well. Calling the graph runs all of it as few kernels: it is a fused function whose Python
    code is its nodes, in the order in which they were called.

    Args:
        inputs: their names.
        name: what the graph is called in messages and kernels.
        device: where to run; by default that of the first tensor among the arguments, else that of its functions.

    Raises:
        GraphError: for names that are no identifiers, or given twice.

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

    def __init__(self, inputs: Sequence[str], name: str = "graph", device: Device | None = None):
        names = _checked(inputs, name)
        wiring = Wiring(name, names)

        def replay(*args: Any, **kwargs: Any) -> Any:
            return wiring.replay(signature.bind(*args, **kwargs).arguments)

        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
        signature = replay.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        replay.__name__ = replay.__qualname__ = name
        replay.__doc__ = f"The graph {name}."
        super().__init__(replay, device=device)
        self.wiring = wiring

    def get_inputs(self) -> tuple[GraphValue, ...]:
        """The values that stand for its inputs, in order."""
        return self.wiring.inputs

    def set_outputs(self, *outputs: Any) -> None:
        """Says what the graph returns: one value, several, or a structure of them (tuples, lists, dicts, dataclasses).

        Raises:
            GraphError: if that was said before, or what is given are values of another graph, or none.
        """
        self.wiring.finish(outputs[0] if len(outputs) == 1 else outputs)

    def __call__(self, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Runs the graph.

        Args:
            args: its inputs, by position or by name.
            _result: as for a Slang function; a tuple for several results.

        Raises:
            ArgumentError: for missing, unknown or doubled inputs.
            GraphError: if no outputs are set.
            FusepyError: whatever a node raises, with the line in which that node was called.
        """
        return super().__call__(*args, _result=_result, **kwargs)

    def _chart(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Chart:
        """With arguments how a call like this one runs, without as the graph was built."""
        return super()._chart(args, kwargs) if args or kwargs else wiring_chart(self.wiring)

    def _built(self) -> Chart:
        return wiring_chart(self.wiring)

    def _node_results(self, use: Use, outputs: int | None) -> Any:
        if use.wiring is not None:
            use.wiring.check_cycle(use)
        self._bind(use.args, use.kwargs)
        if self.wiring.settled is None:
            if outputs is None:
                raise GraphError(
                    f"{self.__name__}: it is used as a node before its outputs are set",
                    place=use.loc,
                    hint=f"call set_outputs(…) first, or say how many there will be: {self.__name__}.node(outputs=1)",
                )
            return several(outputs)
        has = len(list(spots(self.wiring.outputs)))
        if outputs is not None and outputs != has:
            raise wrong_count(use, outputs, f"{has} result{'s' * (has != 1)}")
        return self.wiring.outputs

    def __repr__(self) -> str:
        return f"<graph {self.__name__}({', '.join(self.wiring.names)})>"


def _checked(inputs: Sequence[str], name: str) -> list[str]:
    """The names of a graph's inputs."""
    names = [] if isinstance(inputs, str) else list(inputs)
    wrong = [n for n in [*names, name] if not (isinstance(n, str) and n.isidentifier())]  # pyright: ignore[reportUnnecessaryIsInstance]
    doubled = [n for n in names if names.count(n) > 1]
    if isinstance(inputs, str) or wrong or doubled:
        raise GraphError(
            f"Graph(): the name {doubled[0]!r} is given to two inputs" if doubled else "Graph(): inputs are a list of names",
            place=user_line(),
            saw=repr(wrong[0] if wrong else inputs),
            expected="identifiers, each of them once",
            hint='write Graph(inputs=["x", "k"])',
        )
    return names
