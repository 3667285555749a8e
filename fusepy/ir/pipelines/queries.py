"""Rays of a pipeline in derivatives, where they are inline queries: the attribute ``queried`` of a ``slang.call``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fusepy.errors import GradientError
from fusepy.ir.graph import Node
from fusepy.ir.pipelines.rays import TRIANGLE, RayPipeline, RayStage, pipeline_of
from fusepy.ir.pipelines.written import PLACE, unwritten, used, written

BY_QUERY = (
    "import fusepy_rays; write Hit hit = closest_hit(scene, ray); in a [Differentiable] function, and shade there"  # a hint
)


@dataclass(frozen=True)
class RayPayload:
    """A type of payload, and the functions of rays that have it.

    Attributes:
        misses: the function for each miss index; empty for one of another type.
        hits: the closest-hit function for each row of the shader table; empty for none.
        anys: the any-hit function for each row.
        shapes: the intersection function for each row.
        attributes: the type of the attributes of a hit of each row, with a ``+`` if it has a derivative; empty for triangles.
        differentiable: the payload has a derivative.
    """

    type: str
    misses: tuple[str, ...]
    hits: tuple[str, ...]
    anys: tuple[str, ...]
    shapes: tuple[str, ...]
    attributes: tuple[str, ...]
    differentiable: bool

    def __str__(self) -> str:
        lists = (self.misses, self.hits, self.anys, self.shapes, self.attributes)
        return "; ".join([self.type, *(" | ".join(name or "-" for name in names) for names in lists), f"{self.differentiable:d}"])

    @staticmethod
    def parse(line: str) -> RayPayload:
        """Reads the text that ``str`` gives.

        Example:
            >>> line = "Payload; missed | -; hit | - | ball; - | - | -; - | - | round; - | - | Ball<int, 2>+; 1"
            >>> RayPayload.parse(line).attributes, str(RayPayload.parse(line)) == line
            (('', '', 'Ball<int, 2>+'), True)
        """
        type, *lists, differentiable = line.split("; ")
        names = [tuple(n if n != "-" else "" for n in part.split(" | ")) if part else () for part in lists]
        misses, hits, anys, shapes, attributes = names
        return RayPayload(type, misses, hits, anys, shapes, attributes, differentiable == "1")

    def functions(self) -> list[str]:
        """Returns the functions that change the payload."""
        return list(dict.fromkeys(name for name in (*self.misses, *self.hits) if name))


@dataclass(frozen=True)
class RayQueries:
    """The rays of a pipeline as queries, for a copy of a module: the attribute ``queried``.

    Attributes:
        recursion: how deep rays may be traced from hit and miss functions; 1 is from the ray generation only.
        callables: the callable functions by index, each with the type that it takes.
        bodies: the text of Python functions among the stages.
        uses: the functions of Slang that these call, which functions of the module must not hide.
    """

    payloads: tuple[RayPayload, ...]
    recursion: int = 1
    callables: tuple[tuple[str, str], ...] = ()
    bodies: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Returns the texts that `parse` reads."""
        head = " ".join([*map(str, (self.recursion, len(self.payloads), len(self.callables))), *self.uses])
        return (head, *map(str, self.payloads), *map("; ".join, self.callables), *self.bodies)

    @staticmethod
    def parse(lines: Sequence[str]) -> RayQueries:
        recursion, payloads, count, *uses = lines[0].split()
        middle = int(payloads) + 1
        end = middle + int(count)
        called = tuple((name, type) for name, _, type in (line.partition("; ") for line in lines[middle:end]))
        found = tuple(map(RayPayload.parse, lines[1:middle]))
        return RayQueries(found, int(recursion), called, tuple(lines[end:]), tuple(uses))


def queries_of(node: Node, differentiable: Callable[[str], bool]) -> RayQueries:
    """Returns the queries that stand for the rays of a ray generation.

    Args:
        differentiable: says which types have derivatives.
    """
    pipeline = pipeline_of(node)
    groups = [pipeline.group(group) for group in pipeline.table]
    bodies: dict[str, str] = {}  # names by text

    def name(stage: RayStage | None) -> str:
        if stage is None or not stage.body:
            return "" if stage is None else stage.function
        return bodies.setdefault(written(stage), f"fz_python_{len(bodies)}")

    def named(type: str, stages: Sequence[RayStage | None]) -> tuple[str, ...]:
        return tuple(name(stage) if stage is not None and stage.types[0] == type else "" for stage in stages)

    def attributes(type: str) -> tuple[str, ...]:
        of = [next((s.types[1] for s in group[:2] if s is not None and s.types[0] == type), "") for group in groups]
        shown = ["" if a == TRIANGLE and group[2] is None else a for a, group in zip(of, groups)]
        return tuple(a and f"{a}{'+' * differentiable(a)}" for a in shown)

    closest, anys, shapes = zip(*groups) if groups else ((), (), ())
    misses, own = pipeline.of_kind("miss"), tuple(stage.function if stage is not None else "" for stage in shapes)

    def payload(type: str) -> RayPayload:
        functions = named(type, misses), named(type, closest), named(type, anys)
        return RayPayload(type, *functions, own, attributes(type), differentiable(type))

    kinds = ("miss", "closesthit", "anyhit")  # with the payload of a ray
    types = dict.fromkeys(stage.types[0] for stage in pipeline.stages if stage.kind in kinds) or ["uint"]
    payloads = tuple(map(payload, types))
    called = tuple((name(stage), stage.types[0]) for stage in pipeline.of_kind("callable"))
    texts = tuple(text.replace(PLACE, name, 1) for text, name in bodies.items())
    uses = sorted({function for stage in pipeline.stages for function in used(stage)})
    return RayQueries(payloads, pipeline.recursion, called, texts, tuple(uses))


def obstacle(node: Node) -> str | None:
    """Returns why queries cannot stand for the rays of a ray generation; ``None`` if they can."""
    pipeline: RayPipeline = pipeline_of(node)
    for stage in pipeline.stages:
        if stage.module != node.text("module"):
            return f"{stage.function}, in another module than {node.text('function')}"
        if stage.body and (what := unwritten(stage)) is not None:
            return what
    return None


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
            obstacle(node) is not None or _functions(queries_of(node, bool)) != _functions(RayQueries.parse(lines))
        ):
            raise _two_pipelines(node)
    return found


def _functions(queries: RayQueries) -> RayQueries:
    """Returns queries as far as they do not depend on what has a derivative."""
    plain = [
        replace(p, attributes=tuple(a.removesuffix("+") for a in p.attributes), differentiable=False) for p in queries.payloads
    ]
    return replace(queries, payloads=tuple(plain))


def _two_pipelines(node: Node) -> GradientError:
    return GradientError(
        f"the rays of {node.text('function')} and the gradients of another pipeline of its module are in one kernel",
        place=node.loc,
        hint="give one pipeline several hit groups and miss functions",
    )
