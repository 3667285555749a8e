"""Task and mesh functions as bodies of a draw: entry points as users write them, called by entry points of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fusepy.backend.raster.mesh import PAYLOAD, STAGES, VERTICES, WRITTEN, element_of
from fusepy.backend.sources.handed import handed_over
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.semantics import attributes_of, payload_of
from fusepy.drawing.stages import DrawStage
from fusepy.errors import ArgumentError, UnsupportedArgumentError
from fusepy.functions.function import Function
from fusepy.ir.oracle import IN, Param
from fusepy.ir.types import Type
from fusepy.location import user_line
from fusepy.trace.traced import Traced

_NEEDED = {"task": ("numthreads",), "mesh": ("numthreads", "outputtopology")}
EXPECTED = {
    "task": '[shader("amplification")] [numthreads(…)]',
    "mesh": '[shader("mesh")] [numthreads(…)] [outputtopology("triangle")]',
}


class MeshStage(DrawStage):
    """A task or a mesh function while it is recorded. It returns nothing: a mesh function writes vertices and triangles.

    Attributes:
        marks: its attributes, but for the stage.
    """

    marks = ""

    def vertex(self) -> Type:
        """Returns the type of the vertices that it writes.

        Raises:
            ArgumentError: if it writes none.
        """
        found = self.values.get(VERTICES)
        if found is None:
            raise ArgumentError(
                f"{self.name} writes no vertices",
                place=user_line(),
                saw=", ".join(self.values) or "no parameters",
                expected="a parameter OutputVertices<Corner, 64> corners",
                hint="take the vertices and the triangles as parameters, as in docs/guide/raster.md",
            )
        return Type.parse(element_of(found.type))

    def check_payload(self, task: MeshStage | None) -> None:
        """Raises `ArgumentError` if this mesh function takes a payload that no task function hands over: drivers crash then."""
        found = self.values.get(PAYLOAD)
        if found is None:
            return
        if task is None:
            raise ArgumentError(
                f"{self.name} takes a payload, and there is no task function that hands one over",
                place=user_line(),
                saw=found.type,
                expected='[shader("amplification")] void ts() { …; DispatchMesh(x, y, z, part); }',
                hint="write fp.raster(m, task='name of that entry point', mesh=…), or take an argument in place of the payload",
            )
        source = cast("Function", task.function).tracer.loaded.source
        handed = handed_over(task.name, source, "DispatchMesh")
        if handed and str(found.type) not in handed:
            raise ArgumentError(
                f"the payloads of {task.name} and {self.name} do not match",
                place=user_line(),
                saw=f"{task.name} hands over {', '.join(sorted(handed))}, and {self.name} takes {found.type}",
                expected="one struct",
                hint="give both functions the same struct",
            )

    def _slang(self, function: Function) -> list[tuple[str, Traced]]:
        self.marks = marks_of(self.kind, self.name, list(texts_of([function.tracer.loaded.source])))
        self.call(function)
        return []

    def _parameter(self, param: Param, mark: str, texts: Sequence[str]) -> Any:
        type = param.type
        written = next((name for name in WRITTEN if type is not None and type.name.startswith(f"{name}<")), None)
        if written is not None and type is not None:
            if param.direction != IN:
                raise UnsupportedArgumentError(
                    f"{self.name}: parameter {param.name!r} is declared as in HLSL",
                    place=user_line(),
                    saw=f"out … {param.name}[…]",
                    expected=f"{type} {param.name}",
                    hint=f"declare it as {type} {param.name}",
                )
            return self.own(written, type)
        if type is not None and payload_of(self.name, texts) == param.name:
            return self.own(PAYLOAD, type)
        return super()._parameter(param, mark, texts)

    def _system(self, name: str, mark: str) -> Traced:
        type = next(p.type for p in cast("Function", self.function).tracer.declared()[0].params if p.name == name)
        assert type is not None
        found = self.values.get(mark)
        return self.own(mark if found is None or found.type is type else f"{mark} {type}", type)


def marks_of(kind: str, name: str, texts: Sequence[str]) -> str:
    """Returns the attributes of a task or mesh function, but for the stage.

    Raises:
        ArgumentError: for a function of another stage, or one that lacks an attribute.
    """
    found = attributes_of(name, texts)
    if found.get("shader", "").strip('" ') != STAGES[kind] or any(needed not in found for needed in _NEEDED[kind]):
        raise ArgumentError(
            f"{name} is no entry point of the stage {kind}",
            place=user_line(),
            saw=" ".join(f"[{n}({given})]" for n, given in found.items()) or "no attributes",
            expected=EXPECTED[kind],
            hint=f"write {EXPECTED[kind]} before it, in the file of the module",
        )
    return " ".join(f"[{needed}({found[needed]})]" for needed in _NEEDED[kind])
