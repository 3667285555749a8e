"""`resolve`: Slang's answer for a call, in readable form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.errors import ArgumentError
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.call import SlangCall
from fusepy.ir.oracle import OUT, Oracle
from fusepy.ir.resolve.offers import describe
from fusepy.ir.resolve.resolve import Resolution
from fusepy.ir.types import VOID, Type
from fusepy.trace.recording import Recording


@dataclass(frozen=True)
class Binding:
    """The binding of an argument: name and type of the parameter, the argument, its grid dimensions."""

    name: str
    type: Type
    argument: str
    mapping: tuple[int, ...]


@dataclass(frozen=True)
class Resolved:
    """Slang's answer for a call.

    Attributes:
        function: the name of the function.
        bindings: one per argument, in the order of the parameters.
        result: the type that one call returns; ``void`` if nothing.
        grid: the number of grid dimensions.
    """

    function: str
    bindings: tuple[Binding, ...]
    result: Type
    grid: int

    @property
    def types(self) -> list[Type]:
        """The parameter types, e.g. ``[float3, float, float]``."""
        return [b.type for b in self.bindings]

    def __str__(self) -> str:
        lines = [f"{self.function} over a grid of {self.grid} dimensions -> {self.result}"]
        width = max((len(b.name) for b in self.bindings), default=0)
        for b in self.bindings:
            dims = ",".join(f"d{d}" for d in b.mapping)
            lines.append(f"  {b.name:{width}}  {b.type}  from {b.argument}  vmap({dims})")
        return "\n".join(lines)


def last_call(nodes: Sequence[Node]) -> Node:
    """Returns the last call of a Slang function."""
    return next(n for n in reversed(nodes) if isinstance(n.op, SlangCall))


def call_answer(nodes: Sequence[Node], oracle: Oracle) -> Resolution:
    """Returns Slang's answer for the last call among these nodes."""
    node = last_call(nodes)
    assert isinstance(node.op, SlangCall)
    return node.op.resolution(node, oracle)


def resolved_call(recording: Recording) -> Resolved:
    """Returns Slang's answer for a traced call."""
    node = last_call(recording.graph.nodes)
    answer = call_answer(recording.graph.nodes, recording.trace.oracle)
    params = [p for p in answer.params if p.direction != OUT]
    values: list[Value] = list(node.operands)
    bindings = tuple(Binding(p.name, p.type or VOID, describe(v), m.dims or ()) for p, v, m in zip(params, values, answer.maps))
    result = answer.results[0][1] if answer.results and answer.results[0][0] == "return" else VOID
    return Resolved(node.text("function"), bindings, result, answer.grid_rank)


def resolve(function: Any, *args: Any, **kwargs: Any) -> Resolved:
    """Resolves a call of a Slang function: parameter types, mappings, result type and grid. Nothing is run.

    Args:
        function: a function of a module, e.g. ``m.tonemap``.
        args: arguments as in a call, or types instead: ``m.float3`` and ``"float3"`` for one value, ``float`` for
            a Python number, ``"Texture2D<float3>"``, ``"Tensor<float>[?,3]"``.

    Raises:
        ResolveError: if no overload fits the call, or more than one.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_resolve", "float3 f(float3 a, float b) { return a * b; }")
        >>> resolve(m.f, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2.0).types
        [float3, float]
        >>> resolve(m.f, "Tensor<float3>[?,?]", float).grid
        2
    """
    constructor = getattr(function, "_constructor", None)  # a struct stands for its constructor
    asked = getattr(function if constructor is None else constructor(), "resolve", None)
    if asked is None:
        raise ArgumentError(
            "resolve() takes one Slang function", saw=repr(function), hint="for a fused function look at .ir(…) and .explain(…)"
        )
    return asked(*args, **kwargs)
