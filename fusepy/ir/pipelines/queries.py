"""Rays of a pipeline in derivatives, where they are inline queries: the attribute ``queried`` of a ``slang.call``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fusepy.errors import GradientError
from fusepy.ir.graph import Node
from fusepy.ir.pipelines.rays import RayPipeline, RayStage, pipeline_of

BY_QUERY = (
    "import fusepy_rays; write Hit hit = closest_hit(scene, ray); in a [Differentiable] function, and shade there"  # a hint
)


@dataclass(frozen=True)
class RayPayload:
    """A type of payload, and the functions of rays that have it.

    Attributes:
        misses: the function for each miss index; empty for one of another type.
        hits: the closest-hit function for each row of the shader table; empty for none.
        differentiable: the payload has a derivative.
    """

    type: str
    misses: tuple[str, ...]
    hits: tuple[str, ...]
    differentiable: bool

    def __str__(self) -> str:
        misses, hits = (" ".join(name or "-" for name in names) for names in (self.misses, self.hits))
        return f"{self.type}; {misses}; {hits}; {self.differentiable:d}"

    @staticmethod
    def parse(line: str) -> RayPayload:
        """Reads the text that ``str`` gives.

        Example:
            >>> line = "Payload; missed -; hit - hit; 1"
            >>> RayPayload.parse(line).hits, str(RayPayload.parse(line)) == line
            (('hit', '', 'hit'), True)
        """
        type, *names, differentiable = line.split("; ")
        misses, hits = (tuple(n if n != "-" else "" for n in part.split()) for part in names)
        return RayPayload(type, misses, hits, differentiable == "1")


def payloads_of(node: Node, differentiable: Callable[[str], bool]) -> list[RayPayload]:
    """Returns the payloads of a ray generation, at least one; `differentiable` says which types have derivatives."""
    pipeline = pipeline_of(node)

    def named(type: str, stages: Sequence[RayStage | None]) -> tuple[str, ...]:
        return tuple(stage.function if stage is not None and stage.types[0] == type else "" for stage in stages)

    misses, hits = pipeline.of_kind("miss"), [pipeline.group(group)[0] for group in pipeline.table]
    types = dict.fromkeys(stage.types[0] for stage in pipeline.stages) or ["uint"]
    return [RayPayload(type, named(type, misses), named(type, hits), differentiable(type)) for type in types]


def obstacle(node: Node) -> str | None:
    """Returns why queries cannot stand for the rays of a ray generation; ``None`` if they can."""
    pipeline: RayPipeline = pipeline_of(node)
    for stage in pipeline.stages:
        if stage.kind not in ("miss", "closesthit"):
            return f"the {stage.kind} function {stage.function}"
        if stage.body:
            return f"{stage.function}, a Python function"
        if stage.module != node.text("module"):
            return f"{stage.function}, in another module than {node.text('function')}"
    return "hit or miss functions that trace further rays" if pipeline.recursion > 1 else None


def differentiates_rays(node: Node) -> bool:
    """True for the derivative of a ray generation, whose rays are queries."""
    return any("queried" in n.attrs for body in node.bodies for n in body.walk())


def queried_in(nodes: Sequence[Node], beside: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """Returns the payloads of the ray generations that nodes differentiate, by the aliases of their modules.

    Args:
        beside: the ray generations in the same kernel, whose functions are those of the copy, too.

    Raises:
        GradientError: for two pipelines with functions of one module.
    """
    found: dict[str, tuple[str, ...]] = {}
    for node in (n for one in nodes for body in one.bodies for n in body.walk() if "queried" in n.attrs):
        if found.setdefault(node.text("module"), node.words("queried")) != node.words("queried"):
            raise _two_pipelines(node)
    for node in beside:
        lines = found.get(node.text("module"))
        if lines is not None and (
            obstacle(node) is not None or _functions(payloads_of(node, bool)) != _functions(map(RayPayload.parse, lines))
        ):
            raise _two_pipelines(node)
    return found


def _functions(payloads: Iterable[RayPayload]) -> list[tuple[object, ...]]:
    return [(payload.type, payload.misses, payload.hits) for payload in payloads]


def _two_pipelines(node: Node) -> GradientError:
    return GradientError(
        f"the rays of {node.text('function')} and the gradients of another pipeline of its module are in one kernel",
        place=node.loc,
        hint="give one pipeline several hit groups and miss functions",
    )
