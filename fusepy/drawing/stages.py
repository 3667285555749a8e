"""The two functions of a draw as bodies: the arguments of each parameter, and the values that go from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from fusepy.backend.raster.state import FRAGMENT_VALUES, VERTEX_VALUES
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.semantics import RESULT, members_of, semantics_of
from fusepy.drawing.mapped import Groups, elements, parameters, under
from fusepy.errors import ArgumentError, UnsupportedArgumentError, nearest
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.ir.graph import Graph, Value
from fusepy.ir.oracle import IN, Param
from fusepy.ir.types import Kind, Type
from fusepy.location import user_line
from fusepy.pytree import flatten
from fusepy.symbolic import axes_of
from fusepy.trace.bodies import BodyTrace, Use
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

_WHOLE = (Kind.WHOLE, Kind.RESOURCE, Kind.POINTER)
_VALUES = {"vertex": VERTEX_VALUES, "fragment": FRAGMENT_VALUES}
_SOURCES = {  # where a parameter may come from
    "vertex": "attribute of its vertices",
    "fragment": "output of the vertex function, and no argument",
    "task": "argument",
    "mesh": "argument",
}
_OTHERWISE = {"vertex": ", or give it among the vertices", "fragment": ", or return it from the vertex function"}


class DrawStage:
    """One function of a draw while it is recorded.

    Args:
        kind: ``"vertex"`` or ``"fragment"``.

    Attributes:
        given: for each group of arguments its values by name, and the dimensions along which they run. Earlier groups come first.
        inner: the trace of its body.
        values: the names of the inputs of the body that are no operands.
    """

    def __init__(self, trace: Trace, kind: str, function: Function | FusedFunction):
        self.kind, self.function = kind, function
        self.given: Groups = ()
        self.name = function.__name__
        self.inner = BodyTrace(trace, "draw", kind)
        self.values: dict[str, Traced] = {}
        self.outputs: list[Value] = []

    def own(self, name: str, type: Type) -> Traced:
        """Returns an input of the body that is no operand; there is one for each name."""
        found = self.values.get(name)
        if found is None:
            found = self.values[name] = self.inner.start(name, type)
        return found

    def close(self) -> tuple[Graph, list[Use]]:
        """Returns the body, and what it reads from outside."""
        uses = self.inner.uses()
        return self.inner.close(uses, self.outputs), uses

    def run(self, given: Callable[[DrawStage], Groups]) -> list[tuple[str, Traced]]:
        """Calls the function, and returns its results by name; the name of a struct of the user's is empty."""
        with self.inner.recording():
            self.given = given(self)
            if isinstance(self.function, Function):
                results = self._slang(self.function)
            else:
                results = self._python(self.function)
            self.outputs = [self.inner.output(value, user_line()) for _, value in results]
            return [(name, Traced(self.inner, out, None)) for (name, _), out in zip(results, self.outputs)]

    def count(self, dim: int) -> None:
        """Makes sure that an argument runs along this dimension, if there are arguments for it: they give its extent."""
        group: Mapping[str, Any] = next(group for group, dims in self.given if dims == (dim,))
        if not any(use.map.dims == (dim,) for use in self.inner.uses()):
            leaves = [v for v in flatten(group)[0] if isinstance(v, Traced) and axes_of(v)]
            for leaf in leaves[:1]:
                elements(self.inner, leaf, (dim,))

    # ---- functions of Slang -------------------------------------------------------------------------------------

    def call(self, function: Function) -> Any:
        """Records the call of a function of Slang, and returns its result."""
        alias, _ = function.named_in(self.inner)
        declared = self.inner.oracle.declared(alias, self.name)
        if len(declared) != 1:
            raise ArgumentError(
                f"{self.name} has {len(declared)} overloads, and a {self.kind} function is one",
                place=user_line(),
                hint="give the function of this stage a name of its own",
            )
        texts = list(texts_of([function.tracer.loaded.source]))
        marks = semantics_of(self.name, texts)
        args = [self._parameter(p, marks.get(p.name, ""), texts) for p in declared[0].params]
        return self.inner.call(alias, self.name, args, {})

    def _slang(self, function: Function) -> list[tuple[str, Traced]]:
        inner, result = self.inner, self.call(function)
        texts = list(texts_of([function.tracer.loaded.source]))
        marks = semantics_of(self.name, texts)
        if result is None and self.kind == "fragment":  # depth only
            return []
        if not isinstance(result, Traced):
            raise ArgumentError(
                f"{self.name} returns {'nothing' if result is None else 'several values'}, a {self.kind} function one value",
                place=user_line(),
                hint="return a struct of what it computes",
            )
        fields = inner.oracle.fields(result.type) if result.type.kind is Kind.NAMED else None
        if fields is None:
            return [("position" if self.kind == "vertex" else marks.get(RESULT, "SV_Target"), result)]
        members = members_of(result.type.name, texts)
        if self.kind == "vertex":
            if "SV_Position" not in members.values():
                raise ArgumentError(
                    f"{self.name} returns {result.type}, which has no position",
                    place=user_line(),
                    saw=", ".join(p.name for p in fields),
                    expected="a member float4 position : SV_Position",
                    hint="mark the position of the vertex in clip space with SV_Position",
                )
            return [("", result)]
        return [(members.get(p.name, ""), getattr(result, p.name)) for p in fields]

    def _parameter(self, param: Param, mark: str, texts: Sequence[str]) -> Any:
        if param.direction != IN:
            raise ArgumentError(
                f"{self.name}: parameter {param.name!r} is written, and a {self.kind} function returns its results",
                place=user_line(),
                saw=param.direction,
                hint="return a struct of what it computes",
            )
        if mark.upper().startswith("SV_"):
            return self._system(param.name, mark)
        found = self._found(param.name, param.type)
        if found is not None:
            return found
        fields = self.inner.oracle.fields(param.type) if param.type is not None and param.type.kind is Kind.NAMED else None
        if fields is not None and param.type is not None:
            members = members_of(param.type.name, texts)
            made = {p.name: self._member(param, p, members.get(p.name, "")) for p in fields}
            return {**made, "_type": param.type.name}
        raise self._missing(param.name, param.type)

    def _member(self, param: Param, member: Param, mark: str) -> Any:
        if mark in _VALUES.get(self.kind, ()) and (self.kind == "vertex" or self._found(member.name, member.type) is None):
            return self._system(member.name, mark)
        found = self._found(member.name, member.type)
        if found is None:
            raise self._missing(f"{param.name}.{member.name}", member.type)
        return found

    def _system(self, name: str, mark: str) -> Traced:
        type = _VALUES[self.kind].get(mark)
        if type is None:
            raise UnsupportedArgumentError(
                f"{self.name}: parameter {name!r} takes {mark}, which a {self.kind} function does not get here",
                expected=", ".join(_VALUES[self.kind]),
                hint="compute it from one of these, or hand it on from the vertex function",
            )
        return self.own(mark, Type.parse(type))

    def _found(self, name: str, type: Type | None) -> Any:
        """Returns the argument of this name, mapped as its group runs; ``None`` if there is none."""
        for group, dims in self.given:
            if name in group:
                whole = type is not None and type.kind in _WHOLE
                return group[name] if whole or dims is None else under(self.inner.parent, group[name], dims, type)
        return None

    def _missing(self, name: str, type: Type | None) -> ArgumentError:
        known = [key for group, _ in self.given for key in group]
        what, member = _SOURCES[self.kind], name.rpartition(".")[2]  # arguments have the names of members
        return ArgumentError(
            f"{self.name} takes {name!r}{'' if type is None else f', a {type}'}, and there is no such {what}",
            place=user_line(),
            saw=", ".join(known) or "nothing",
            expected=member,
            hint=f"write {member!r} in place of {near[0]!r}"
            if (near := nearest(member, known))
            else f"pass {member}=… to the draw" + _OTHERWISE.get(self.kind, "")
            if known
            else "pass a dict of the attributes, by the names of the parameters"
            if self.kind == "vertex"
            else f"pass {member}=… to the draw",
        )

    # ---- functions of Python ------------------------------------------------------------------------------------

    def _python(self, function: FusedFunction) -> list[tuple[str, Traced]]:
        args: dict[str, Any] = {}
        for name, needed in parameters(function).items():
            found = self._element(name)
            if found is not None:
                args[name] = found
            elif needed:
                raise self._missing(name, None)
        result = function(**args)
        if result is None and self.kind == "fragment":
            return []
        if isinstance(result, Mapping):
            named = cast("Mapping[str, Any]", result)
            return [(name, self.inner.captured(value, name)) for name, value in named.items()]
        leaves, _ = flatten(result)
        return [(f"v{i}" if i else "position", self.inner.captured(leaf, "result")) for i, leaf in enumerate(leaves)]

    def _element(self, name: str) -> Any:
        """Returns the argument of this name as one element: arrays of 2 to 4 numbers are vectors."""
        for group, dims in self.given:
            if name in group:
                return group[name] if dims is None else elements(self.inner, group[name], dims)
        return None
