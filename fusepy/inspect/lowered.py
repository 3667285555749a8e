"""`Lowered`: a call that is traced and compiled, but not run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusepy.arguments.nested import flat
from fusepy.backend.sealed import Sealed
from fusepy.backend.shared import Shared
from fusepy.inspect.anatomy import anatomy
from fusepy.inspect.chart import Chart
from fusepy.inspect.dot import dot
from fusepy.inspect.explain import Explanation, explain, graph_after, kernel_source
from fusepy.inspect.measure import seconds_per_kernel
from fusepy.inspect.networks import network
from fusepy.inspect.page.page import page
from fusepy.program.program import Program
from fusepy.trace.recording import Recording
from fusepy.trace.setup import Setup

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, repr=False, eq=False)
class Lowered:
    """A call as IR, Slang, reasons, charts and pages, made by the ``lower`` method of functions.

    The call is traced when this is made. Its kernels are planned on the first question about them, or at once if the call has
    destinations. Nothing is run, except that `to_html` measures kernels, on memory of their own.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_lower", "float twice(float x) { return 2 * x; }")
        >>> lowered = fp.fuse(lambda x: m.twice(x) + 1).lower([1.0, 2.0])
        >>> lowered.explain().kernels, "twice" in lowered.source(), "slang.call" in lowered.ir()
        (1, True, True)
    """

    function: Any  # the function that hooks get in their context
    setup: Setup | None
    recording: Recording
    cache: str
    compile: Callable[
        [], tuple[Program, Sequence[Any], Mapping[str, Any]]
    ]  # plans once: the program, its arguments by position, by name
    built: Chart | None = None  # the nodes of a graph as the user has built it

    @property
    def program(self) -> Program:
        """The program of the call."""
        return self.compile()[0]

    @cached_property
    def leaves(self) -> Sequence[Any]:
        """The arguments in order, nested ones as their leaves."""
        _, args, kwargs = self.compile()
        return flat((*args, *kwargs.values()))

    def ir(self, after: str | None = None) -> str:
        """Returns the textual IR as traced, or after the pass of this name.

        Raises:
            ArgumentError: for an unknown pass.
        """
        return str(graph_after(self.recording, after))

    def source(self) -> str:
        """Returns the Slang of its kernels."""
        return kernel_source(self.program, self.leaves)

    def explain(self) -> Explanation:
        """Explains its kernels: the indexing of each, and why each node is in its kernel."""
        return explain(self.program, self.leaves, self.cache)

    @property
    def chart(self) -> Chart:
        """The kernels and nodes as boxes."""
        return anatomy(self.program, self.leaves).chart

    def to_dot(self) -> str:
        """Draws the kernels as clusters of nodes, in the language of Graphviz."""
        return dot(self.chart)

    def to_networkx(self) -> nx.DiGraph[str]:
        """Returns the chart as a `networkx.DiGraph`, with the attributes of `inspect.networks.network`."""
        return network(self.chart)

    def to_html(self, path: str | os.PathLike[str], *, measure: bool = True) -> None:
        """Writes a page of kernels, nodes, mappings, reasons, Slang, bytes and times. The page loads no other files.

        Args:
            path: the file to write.
            measure: run the kernels several times, unless the call writes to its arguments.
        """
        _, args, kwargs = self.compile()
        times = seconds_per_kernel(self.function, self.setup, self.program, args, kwargs) if measure else ((), "not measured")
        Path(path).write_text(page(anatomy(self.program, self.leaves, *times), self.built), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<lowered call of {self.recording.graph.name}>"


# the methods of a function that take the arguments of a call, and describe it
QUESTIONS = ("lower", "ir", "source", "explain", "to_dot", "to_networkx", "to_html")


class Inspectable(Sealed, Shared):
    """A callable that describes its calls: each method takes the arguments of a call."""

    __slots__ = ()
    _assigning = {
        "static": 'name the static parameters when it is made: fp.fuse(f, static=["n"])',
        "outputs": "write graph.set_outputs(x)",
        "": "settings are methods that return another function: f.set(k=2.0), f.options(numthreads=[16, 16])",
    }

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces a call without running it."""
        raise NotImplementedError

    def ir(self, *args: Any, after: str | None = None, **kwargs: Any) -> str:
        """Returns the textual IR of a call, as traced or after the pass named ``after``.

        Raises:
            ArgumentError: for an unknown pass.
        """
        return self.lower(*args, **kwargs).ir(after)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Returns the Slang of a call's kernels."""
        return self.lower(*args, **kwargs).source()

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explains a call: its kernels, and why each node is in its kernel."""
        return self.lower(*args, **kwargs).explain()

    def to_dot(self, *args: Any, **kwargs: Any) -> str:
        """Draws a call in the language of Graphviz: its kernels are clusters of nodes."""
        return dot(self._chart(args, kwargs))

    def to_networkx(self, *args: Any, **kwargs: Any) -> nx.DiGraph[str]:
        """Returns a call as a `networkx.DiGraph`, with the attributes of `inspect.networks.network`."""
        return network(self._chart(args, kwargs))

    def _chart(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Chart:
        return self.lower(*args, **kwargs).chart

    def to_html(self, path: str | os.PathLike[str], *args: Any, _measure: bool = True, **kwargs: Any) -> None:
        """Writes a page of a call: kernels, nodes, mappings, reasons, Slang, bytes and times.

        The page is one file and loads no others. Its kernels are run several times to measure them, on memory of their own; a
        call that writes to its arguments is not run.

        Args:
            path: the file to write.
            _measure: measure the kernels.
        """
        self.lower(*args, **kwargs).to_html(path, measure=_measure)
