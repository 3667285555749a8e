"""Fused functions as stages of rays: a function of the payload and of the hit, which returns what changes in the payload."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.fused import FusedFunction
from fusepy.functions.python_tracer import PythonTracer
from fusepy.ir.graph import Graph, Value
from fusepy.ir.pipelines.rays import KEPT, TRIANGLE, WHOLE
from fusepy.ir.printer import print_graph
from fusepy.ir.types import BOOL, Kind, Type
from fusepy.location import user_line
from fusepy.passes.fold import FoldConstants
from fusepy.passes.pipeline import REWRITES, run_pipeline
from fusepy.rays.stage_values import VALUES, TriangleHit
from fusepy.trace.bodies import BodyTrace
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

_REWRITES = [FoldConstants(derived=True) if step == FoldConstants() else step for step in REWRITES]
_VECTOR = re.compile(r"(float|int|uint|bool)[234]\Z")  # slangpy's vectors


def annotated(function: FusedFunction, count: int, structs: Collection[str]) -> tuple[str, ...]:
    """Returns the types of payload and attributes, as ``def f(payload: m.Payload, at: m.Sphere)`` names them, else empty texts.

    Args:
        structs: the names of types that count; other annotations say nothing.
    """
    parameters = cast("PythonTracer", function.tracer).signature.parameters.values()
    wholes = [p.annotation for p in parameters if p.name not in VALUES["closesthit"] and p.name != "barycentrics"]
    spelled = [g.rpartition(".")[2] if isinstance(g, str) else str(getattr(g, "type", "")) for g in wholes[:count]]
    spelled = [name if name in structs or _VECTOR.match(name) else "" for name in spelled]
    return (*spelled, *[""] * (count - len(spelled)))


class StageTrace(BodyTrace):
    """The trace of the body of a stage. Vectors of numbers from outside are constants of it."""

    def capture(self, value: Any, name: str) -> Value:
        type = value.__class__.__name__
        if not _VECTOR.match(type):
            return super().capture(value, name)
        return self.own(self.record("construct", [*value], {"type": type}))


class FusedStage:
    """The body of one stage while it is recorded.

    Args:
        types: the type of the payload, and that of the attributes of a hit.
    """

    def __init__(self, trace: Trace, kind: str, function: FusedFunction, types: Sequence[str]):
        self.inner = StageTrace(trace, "ray", kind)
        self.kind, self.name, self.types, self.function = kind, function.__name__, types, function
        self.given: dict[str, Traced] = {}
        oracle = self.inner.oracle
        self.members, self.found = (
            {p.name: p.type for p in (oracle.fields(Type.parse(t)) or () if t and t != TRIANGLE else ())}
            for t in (*types, "")[:2]
        )

    def record(self) -> tuple[Graph, tuple[str, ...]]:
        """Calls the function; returns its body, and what its outputs are.

        Raises:
            ArgumentError: for a parameter that no stage has, an array from outside, results that are no members of the payload.
        """
        with self.inner.recording():
            results = self._results(self.function(**self._arguments()))
            outputs = [self._output(name, value) for name, value in results]
        if self.inner.uses():
            raise ArgumentError(
                f"{self.name} reads a value from outside, which the stage {self.kind} cannot",
                place=user_line(),
                saw=", ".join(f"{u.value.name}: {u.value.type} over {u.value.rank} axes" for u in self.inner.uses()),
                hint="write fp.float3(x, y, z) of a vector of numbers; read an array from a global in a Slang function, and give"
                " it by set(); or hand the value on in the payload",
            )
        plain = self.inner.close([], outputs)
        modules = [(alias, source.closure) for alias, source in self.inner.sources.items()]
        traced = Graph(plain.name, plain.inputs, plain.nodes, plain.outputs, modules)
        graph = run_pipeline(traced, self.inner.oracle, _REWRITES)
        if any("rays" in node.attrs for node in graph.walk()):
            raise ArgumentError(
                f"{self.name} calls a pipeline, in the stage {self.kind} of another one",
                place=user_line(),
                hint="call the Slang function that traces the ray; then its ray goes through this pipeline",
            )
        return graph, tuple(name for name, _ in results)

    # ---- arguments ----------------------------------------------------------------------------------------------

    def _arguments(self) -> dict[str, Any]:
        parameters = cast("PythonTracer", self.function.tracer).signature.parameters.values()
        wholes = iter((self._payload, self._attributes)[: len(self.types)])
        args: dict[str, Any] = {}
        for p in parameters:
            if p.name in self.members:
                args[p.name] = getattr(self._payload(), p.name)
            elif p.name in self.found or (p.name == "barycentrics" and self.types[1:] == (TRIANGLE,)):
                args[p.name] = getattr(self._attributes(), p.name)
            elif p.name in VALUES[self.kind]:
                args[p.name] = self._own(*VALUES[self.kind][p.name])
            elif p.default is p.empty:
                whole = next(wholes, None)
                if whole is None:
                    raise self._unknown(p.name)
                args[p.name] = whole()
        return args

    def _unknown(self, name: str) -> ArgumentError:
        known = [*self.members, *self.found, *["barycentrics"] * (TRIANGLE in self.types), *VALUES[self.kind]]
        return ArgumentError(
            f"{self.name} takes {name!r}, and the stage {self.kind} has no such value",
            place=user_line(),
            saw=name,
            expected=", ".join(known),
            hint=did_you_mean(name, known),
        )

    def _own(self, name: str, type: str) -> Traced:
        if name not in self.given:
            self.given[name] = self.inner.start(name, Type.parse(type))
        return self.given[name]

    def _payload(self) -> Traced:
        return self._own("payload", self.types[0])

    def _attributes(self) -> Any:
        if self.types[1] == TRIANGLE:
            return TriangleHit(self._own("barycentrics", "float2"))
        return self._own("attributes", self.types[1])

    # ---- results ------------------------------------------------------------------------------------------------

    def _results(self, given: Any) -> list[tuple[str, Any]]:
        """Returns the results by the names of members of the payload, `WHOLE` and `KEPT`."""
        kept: list[tuple[str, Any]] = []
        if self.kind == "anyhit" and not isinstance(given, Mapping):
            parts = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,)
            given, keep = (parts[0], parts[1]) if len(parts) == 2 else (None, cast("Any", given))
            kept = [(KEPT, keep)]
        if given is None:
            return kept
        if not isinstance(given, Mapping):
            return [(WHOLE, given), *kept]
        named = cast("Mapping[str, Any]", given)
        for name in named:
            if name not in self.members:
                raise ArgumentError(
                    f"{self.name} returns {name!r}, which the payload {self.types[0]} does not have",
                    place=user_line(),
                    saw=name,
                    expected=", ".join(self.members) or f"a {self.types[0]}",
                    hint=did_you_mean(name, self.members),
                )
        return [*named.items(), *kept]

    def _output(self, name: str, given: Any) -> Value:
        """Returns a result, if its type fits its place."""
        want = BOOL if name == KEPT else Type.parse(self.types[0]) if name == WHOLE else self.members[name]
        value = self.inner.output(self.inner.captured(given, "result"), user_line())
        plain = (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX)
        assert want is not None
        alike = value.type.kind in plain and want.kind in plain and value.type.shape in ((), want.shape)
        if value.type is not want and (name == KEPT or not alike):
            what = "whether the hit counts" if name == KEPT else "the payload" if name == WHOLE else f"{name!r} of the payload"
            raise ArgumentError(
                f"{self.name} returns a {value.type} for {what}",
                place=user_line(),
                saw=value.type,
                expected=want,
                hint="return True to keep the hit, or (members, True)"
                if name == KEPT
                else "return a dict of the payload's members that change, each of its own type",
            )
        return value


def recorded_stage(trace: Trace, kind: str, function: FusedFunction, types: Sequence[str]) -> tuple[Graph, str, tuple[str, ...]]:
    """Returns the body of a fused stage, its text, and what its outputs are."""
    graph, outputs = FusedStage(trace, kind, function, types).record()
    return graph, print_graph(Graph(graph.name, graph.inputs, graph.nodes, graph.outputs)), outputs
