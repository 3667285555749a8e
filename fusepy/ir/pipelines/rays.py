"""Ray-tracing pipelines: the functions that rays of a ``slang.call`` run, as its attribute ``rays``.

A call with this attribute is a *ray generation*: its kernel is an entry point of that stage, and the functions here become the
other entry points of the pipeline. What is computed element by element from its results runs in the same kernel.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from fusepy.ir.graph import Attr, Graph, Node
from fusepy.ir.parse import parse_graph

_OF_GROUPS = ("closesthit", "anyhit", "intersection")
_LINE = re.compile(r"(\w+)(?: (\S+))? @(\w+)\.([^(]+)\((.*)\)(?: -> (.*))?\Z")
TRIANGLE = "BuiltInTriangleIntersectionAttributes"
WHOLE, KEPT = "*", "!"  # outputs of a fused stage: the whole payload, and whether a hit counts


@dataclass(frozen=True)
class RayStage:
    """A function that rays run.

    Attributes:
        kind: ``"miss"``, ``"closesthit"``, ``"anyhit"``, ``"intersection"`` or ``"callable"``.
        module: the alias of its module in the graph.
        types: of its parameters.
        group: the hit group that it belongs to.
        body: the textual IR of a fused function; empty for a Slang function.
        outputs: what the results of the body are: members of the payload, `WHOLE`, `KEPT`.
    """

    kind: str
    module: str
    function: str
    types: tuple[str, ...]
    group: str = ""
    body: str = ""
    outputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        group = f" {self.group}" if self.group else ""
        head = f"{self.kind}{group} @{self.module}.{self.function}({'; '.join(self.types)})"
        return f"{head} -> {' '.join(self.outputs)}\n{self.body}" if self.body else head

    @staticmethod
    def parse(line: str) -> RayStage:
        """Reads the text that ``str`` gives."""
        head, _, body = line.partition("\n")
        found = _LINE.match(head)
        assert found is not None, line
        kind, group, module, function, types, outputs = found.groups()
        taken = tuple(types.split("; ")) if types else ()
        return RayStage(kind, module, function, taken, group or "", body, tuple((outputs or "").split()))

    @property
    def graph(self) -> Graph | None:
        """The body of a fused function."""
        return _graph(self.body) if self.body else None


@dataclass(frozen=True)
class RayPipeline:
    """The functions that rays run, in the order of the shader table.

    Attributes:
        table: the hit group of each row of the shader table.
        recursion: how deep rays may be traced from hit and miss functions; 1 is from the ray generation only.
        payload: the bytes of the largest payload.
        attributes: the bytes of the largest attributes of a hit.
    """

    stages: tuple[RayStage, ...]
    table: tuple[str, ...]
    recursion: int = 1
    payload: int = 0
    attributes: int = 8

    def attrs(self) -> dict[str, Attr]:
        """Returns the attributes of a call."""
        sizes = (str(n) for n in (self.recursion, self.payload, self.attributes))
        return {"rays": (" ".join(sizes), " ".join(self.table), *map(str, self.stages))}

    def of_kind(self, kind: str) -> list[RayStage]:
        """Returns the functions of a kind, in order."""
        return [s for s in self.stages if s.kind == kind]

    def group(self, name: str) -> list[RayStage | None]:
        """Returns the closest-hit, any-hit and intersection function of a hit group."""
        return [next((s for s in self.of_kind(kind) if s.group == name), None) for kind in _OF_GROUPS]


@lru_cache(maxsize=256)
def _graph(text: str) -> Graph:
    return parse_graph(text)


@lru_cache(maxsize=256)
def _parsed(lines: tuple[str, ...]) -> RayPipeline:
    sizes, table, *stages = lines
    return RayPipeline(tuple(map(RayStage.parse, stages)), tuple(table.split()), *map(int, sizes.split()))


def pipeline_of(node: Node) -> RayPipeline:
    """Returns the pipeline of a ray generation."""
    lines = node.attrs["rays"]
    assert isinstance(lines, tuple)
    return _parsed(lines)


def pipelines_in(bodies: Sequence[Graph]) -> list[RayPipeline]:
    """Returns the different pipelines of the calls in graphs, also in their loops and branches."""
    for body in bodies:
        for node in body.nodes:
            if "rays" in node.attrs or node.bodies:  # seldom more is looked at
                lines = dict.fromkeys(n.attrs["rays"] for body in bodies for n in body.walk() if "rays" in n.attrs)
                return [_parsed(given) for given in lines if isinstance(given, tuple)]
    return []


def with_stages(bodies: Sequence[Graph]) -> list[Graph]:
    """Returns graphs, and the bodies of the fused functions that their rays run."""
    stages = dict.fromkeys(s for p in pipelines_in(bodies) for s in p.stages)
    return [*bodies, *dict.fromkeys(s.graph for s in stages if s.graph is not None)]


def generates_rays(node: Node) -> bool:
    """True for a ray generation, and for a loop or branch with one."""
    return "rays" in node.attrs or (bool(node.bodies) and any("rays" in n.attrs for body in node.bodies for n in body.walk()))


# the attributes of the calls of a function that are recorded now, by its name
RECORDED: ContextVar[Mapping[str, Mapping[str, Attr]]] = ContextVar("fusepy_rays", default=MappingProxyType({}))


@contextmanager
def with_rays(functions: Iterable[str], pipeline: RayPipeline) -> Generator[None, None, None]:
    """Makes the calls of Slang functions that are recorded inside ray generations."""
    token = RECORDED.set(dict.fromkeys(functions, pipeline.attrs()))
    try:
        yield
    finally:
        RECORDED.reset(token)
