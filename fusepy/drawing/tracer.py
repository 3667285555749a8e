"""`RasterTracer`: a draw as a Python function of its arguments, which records one node."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.drawing.mapped import parameters
from fusepy.drawing.record import Drawing, record_draw, record_mesh
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.functions.nodes import Use
from fusepy.functions.parts import STATIC
from fusepy.functions.python_tracer import PythonTracer
from fusepy.ir.types import VOID, Kind
from fusepy.pytree import Structure, several
from fusepy.trace.trace import Trace, current_trace

_OWN = ("image_size", "vertices", "indices", "instances", "image_formats")  # no names that parameters of users often have
_OF_MESHES = ("image_size", "groups", "image_formats")


class RasterTracer(PythonTracer):
    """The tracer of a draw: a Python function of the arguments that records one node."""

    def __init__(self, drawing: Drawing, device: Device):
        self.drawing = drawing
        self.shared = _parameters(drawing)
        self._bound: dict[tuple[str, ...], tuple[PythonTracer, tuple[object, ...], tuple[str, ...]]] = {}
        super().__init__(_function(drawing, self.shared), sorted(drawing.static), device)

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any = None
    ) -> tuple[PythonTracer, tuple[object, ...], tuple[()], dict[str, Any], Any]:
        """Binds a call. What an earlier call with the same names has found is used again: finding it takes longer than a draw."""
        names = (*kwargs, str(kwargs.get("image_formats")))
        found = self._bound.get(names)
        static = any(value.__class__ in STATIC for name, value in kwargs.items() if name != "image_formats")
        if args or static or not self.static.isdisjoint(kwargs):
            made, key, named, result = self.named(args, kwargs, result)
            return made, key, (), named, result
        if found is None:
            made, key, named, _ = self.named(args, kwargs, result)
            found = self._bound[names] = made, key, tuple(named)
        made, key, order = found
        return made, key, (), {name: kwargs[name] for name in order}, result

    def differentiable(self) -> bool:
        return False

    def node_results(self, use: Use, outputs: int | None) -> Structure:
        """Returns the structure of a node's results: the colours that the fragment function returns, and depth."""
        return several(_colors(self.drawing) + self.drawing.state.keeps_depth if outputs is None else outputs)


def _function(drawing: Drawing, shared: tuple[str, ...]) -> Callable[..., Any]:
    """Returns the Python function of a draw: called in a trace, it records the node."""

    def traced() -> Trace:
        trace = current_trace()
        assert trace is not None
        return trace

    def draw(
        image_size: Any, vertices: Any = None, indices: Any = None, instances: Any = None, image_formats: str = "", **more: Any
    ) -> Any:
        given = {name: value for name, value in more.items() if value is not None}
        return record_draw(drawing, traced(), image_size, vertices, indices, instances, given, image_formats)

    def draw_groups(image_size: Any, groups: Any, image_formats: str = "", **more: Any) -> Any:
        given = {name: value for name, value in more.items() if value is not None}
        return record_mesh(drawing, traced(), image_size, groups, given, image_formats)

    kind = inspect.Parameter.KEYWORD_ONLY
    made: Any = draw_groups if drawing.mesh else draw
    named = [
        inspect.Parameter("image_size", kind),
        *(inspect.Parameter(n, kind, default=None) for n in (*_own(drawing)[1:], *shared)),
    ]
    made.__name__ = drawing.name
    made.__signature__ = inspect.Signature(named)
    return made


def _own(drawing: Drawing) -> tuple[str, ...]:
    return _OF_MESHES if drawing.mesh else _OWN


def _parameters(drawing: Drawing) -> tuple[str, ...]:
    """Returns the names of the parameters of both functions, and of the members of structs among them."""
    names: dict[str, None] = {}
    for stage in drawing.functions:
        if isinstance(stage, FusedFunction):
            names.update(dict.fromkeys(parameters(stage)))
            continue
        tracer = stage.tracer
        source = tracer.loaded.source
        oracle = tracer.device.oracle({source.alias: source})
        for signature in tracer.declared():
            for param in signature.params:
                names[param.name] = None
                fields = oracle.fields(param.type) if param.type is not None and param.type.kind is Kind.NAMED else None
                names.update(dict.fromkeys(p.name for p in fields or ()))
    # attributes may be Python's keywords
    return tuple(name for name in names if name not in _own(drawing) and not iskeyword(name))


def globals_of(drawing: Drawing) -> list[str]:
    """Returns the names of the globals of the functions' modules."""
    stages = [stage for stage in drawing.functions if isinstance(stage, Function)]
    return list(dict.fromkeys(name for stage in stages for name in stage.tracer.global_names() or ()))


def _colors(drawing: Drawing) -> int:
    """Returns the number of colours that the fragment function returns; 1 if only a call shows it."""
    if isinstance(drawing.fragment, FusedFunction):
        return 1
    tracer = drawing.fragment.tracer
    source, result = tracer.loaded.source, tracer.declared()[0].result
    if result is VOID:
        return 0
    fields = tracer.device.oracle({source.alias: source}).fields(result) if result is not None else None
    return len(fields) if fields is not None and result is not None and result.kind is Kind.NAMED else 1
