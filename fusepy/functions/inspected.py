"""Asking a function about a call: its IR, its Slang, its kernels and the reasons for them, as text, graphs and pages.

All of it is pure: nothing is run, but kernels that `to_html` measures, on memory of their own.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusepy.arguments.mapping import unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.execute.texture_results import Into
from fusepy.functions.configured import Configured
from fusepy.inspect.anatomy import anatomy
from fusepy.inspect.cache_miss import nearest
from fusepy.inspect.chart import Chart
from fusepy.inspect.dot import dot
from fusepy.inspect.explain import Explanation, explain, graph_after, kernel_source
from fusepy.inspect.measure import seconds_per_kernel
from fusepy.inspect.networks import network
from fusepy.inspect.page.page import page
from fusepy.program.no_extents import NoExtents
from fusepy.program.program import Program
from fusepy.trace.recording import Recording
from fusepy.trace.trace import user_line

if TYPE_CHECKING:
    import networkx as nx


class Inspected(Configured):
    """What can be asked about a call of a function; see `Function`."""

    # ---- of a function, to be asked here ------------------------------------------------------------------------

    def _prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Inspected, tuple[Any, ...], Mapping[str, Any]]:
        """What is compiled for a call, and the arguments that it takes."""
        return self, args, kwargs

    def _record(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Recording:
        """Records the function for arguments like these."""
        raise NotImplementedError

    def _compile(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None) -> Program:
        """The program of a call like this one; `args` have the values of `kwargs` at their end."""
        raise NotImplementedError

    def _key(self, value: Any, position: int, name: str = "") -> Hashable:
        """The key of one argument."""
        raise NotImplementedError

    # ---- asking -------------------------------------------------------------------------------------------------

    def ir(self, *args: Any, after: str | None = None, **kwargs: Any) -> str:
        """The textual IR of a call like this one, as traced, or after the pass named ``after``.

        Raises:
            ArgumentError: for an unknown pass.
        """
        target, given, named = self._prepare(args, kwargs)
        return str(graph_after(target._record(given, named), after))

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The Slang that a call like this one runs."""
        return kernel_source(*self._inspected(args, kwargs))

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """How a call like this one runs: its kernels, and why each node went where it did."""
        program, values = self._inspected(args, kwargs)
        return explain(program, values, self._cached(args, kwargs))

    def _cached(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Whether a program for these arguments is there; if not, by what the nearest one differs."""
        target, given, named = self._prepare(args, kwargs)
        keys = (self._key_of(args, kwargs), target._key_of(given, named))  # a plain call is known by its positions
        if any(key in target._programs for key in keys):
            return "a program for such arguments is there"
        classes = [type(unmapped(v)).__name__ for v in flat((*given, *named.values()))]
        return nearest(target._record(given, named).graph, classes, [p.recording for p in target._programs.values()])

    def _key_of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
        """The key of a call without ``_result``, as `_run` makes it."""
        key: Hashable = tuple([self._key(a, i) for i, a in enumerate(args)])
        return (key, tuple((k, self._key(v, 0, k)) for k, v in kwargs.items())) if kwargs else key

    def to_dot(self, *args: Any, **kwargs: Any) -> str:
        """How a call like this one runs, in the language of Graphviz: its kernels are clusters of nodes."""
        return dot(self._chart(args, kwargs))

    def to_networkx(self, *args: Any, **kwargs: Any) -> nx.DiGraph[str]:
        """How a call like this one runs, as a `networkx.DiGraph` with the attributes of `inspect.networks.network`."""
        return network(self._chart(args, kwargs))

    def _chart(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Chart:
        return anatomy(*self._inspected(args, kwargs)).chart

    def to_html(self, path: str | os.PathLike[str], *args: Any, _measure: bool = True, **kwargs: Any) -> None:
        """Writes a page that shows how a call like this one runs: kernels, nodes, mappings, reasons, Slang, bytes and times.

        The page is one file that loads nothing. Its kernels are run several times to measure them, on memory of their own; a call
        that would write to its arguments is not run.

        Args:
            path: where to write it.
            _measure: whether to run the kernels at all.
        """
        program, values = self._inspected(args, kwargs)
        target, given, named = self._prepare(args, kwargs)
        seconds, why = seconds_per_kernel(target, self._setup, program, given, named) if _measure else ([], "not measured")
        Path(path).write_text(page(anatomy(program, values, seconds, why), self._built()), encoding="utf-8")

    def _built(self) -> Chart | None:
        """What the user has put together, where that is more than code."""
        return None

    def _inspected(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Program, Sequence[Any]]:
        """The program of a call like this one, and its arguments."""
        target, args, kwargs = self._prepare(args, kwargs)
        values = (*args, *kwargs.values())
        try:
            program, leaves = target._compile(values, kwargs, None), flat(values)
            return program.fitting(program.shapes(leaves)), leaves
        except NoExtents as cause:
            raise cause.error("generators and single values").at(user_line()) from None
