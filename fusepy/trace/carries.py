"""The carry of a loop: the values that go from step to step, and their types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.errors import ResolveError, TraceError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.types import INT, Kind, Type
from fusepy.pytree import Structure
from fusepy.trace.bodies import BodyTrace
from fusepy.trace.components.overflow import Overflow, report_overflow
from fusepy.trace.maps import check_axes
from fusepy.trace.struct_choice import struct_hint
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

Index = tuple[str, Type]
_ORDER = {"b": 0, "i": 1, "u": 1, "f": 2}
_UNCARRIED = (Kind.WHOLE, Kind.RESOURCE, Kind.VOID)


@dataclass
class Leaf:
    """One leaf of the carry.

    Attributes:
        path: its name, ``c[0]``.
        start: its value before the first step.
        said: the mapping of `start`.
        type: its type in every step; a guess while it is `open`.
        open: True for a Python number whose type is not known yet.
    """

    path: str
    start: Value
    said: ArgMap
    type: Type
    open: bool

    @property
    def spread(self) -> bool:
        """True if it is an array, of which a body has one element."""
        return self.start.rank > filled_axes(self.start, self.said.type)


class Carries:
    """The carry of one loop.

    Args:
        init: the first values, any structure.
        name: the name of the body's parameter.

    Attributes:
        inner: the last trace of a body.
    """

    def __init__(self, trace: Trace, op: str, init: Any, name: str, loc: str | None, bounds: Sequence[Value] = ()):
        self.trace = trace
        self.inner: BodyTrace | None = None
        self.op = op
        self.loc = loc
        found, self.structure = flatten_values(init, op)
        paths = self.structure.paths(name)
        values = [trace.operand(v, path, loc) for v, path in zip(found, paths)]
        self.leaves = [Leaf(path, v, said, INT if v.arrival.word else v.type, v.weak) for (v, said), path in zip(values, paths)]
        self.alone = of_numbers([*bounds, *(leaf.start for leaf in self.leaves)])
        self.overflow = Overflow(trace, op, loc)
        for leaf in self.leaves:
            check_axes(op, leaf.start, leaf.said, loc)
            if leaf.type.kind in _UNCARRIED:
                raise TraceError(
                    f"{op}: {leaf.path} cannot be carried from step to step",
                    place=loc,
                    saw=leaf.type,
                    hint="use it in the body without carrying it: what the body takes from outside stays as it is",
                )

    def run(
        self, function: Callable[..., Any], name: str, index: tuple[str, Type] | None = None
    ) -> tuple[BodyTrace, list[Value]]:
        """Traces the body that returns the carry, again and again until the types are settled."""
        types = [(leaf.type, leaf.open) for leaf in self.leaves]
        while True:
            inner, given = self.enter(name, index)
            with inner.recording():
                outputs = self.outputs(inner, self.call(function, given))
            if self.alone and not of_numbers(use.value for use in inner.uses()):  # it runs for each element of an array
                self.alone = False
                for leaf, known in zip(self.leaves, types):
                    leaf.type, leaf.open = known
                continue
            told = (
                [self.settle(leaf, v) for leaf, v in zip(self.leaves, outputs)] if any(leaf.open for leaf in self.leaves) else []
            )
            if not any(told):
                if self.alone or not told:
                    found = [self.converted(inner, leaf, v) for leaf, v in zip(self.leaves, outputs)]
                    return inner, found + self.overflow.step(inner)
                for leaf in self.leaves:
                    leaf.open = False

    def call(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """Calls the function of the body."""
        try:
            return function(*given)
        except ResolveError as error:
            wide = [v for v in self.leaves if not v.start.arrival.plain and v.start.rank and v.type.kind is Kind.SCALAR]
            if wide:  # a call may take the last axis as a vector, but the type of the carry is settled before
                error.hint += (
                    f"; {wide[0].path} is carried as a {wide[0].type}: if it shall be a vector, vcast it before the loop"
                )
            raise

    def enter(self, name: str, index: Index | None = None) -> tuple[BodyTrace, list[Any]]:
        """Makes a trace of a body, and the arguments of its function."""
        inner = self.inner = BodyTrace(self.trace, self.op, name)
        inner.alone = self.alone and self.trace.alone
        given = [inner.start(*index, self.alone)] if index is not None else []
        starts = [inner.start(leaf.path, leaf.type, leaf.open) for leaf in self.leaves]
        self.overflow.enter(inner)
        inner.inside.parts.update(inner.own(v) for leaf, v in zip(self.leaves, starts) if leaf.spread)
        return inner, [*given, self.structure.fill(starts)]

    def outputs(self, inner: BodyTrace, result: Any) -> list[Value]:
        found, structure = flatten_values(result, self.op)
        self.same(structure, found)
        return [inner.output(v, self.loc) for v in found]

    def same(self, structure: Structure, found: Sequence[Any]) -> None:
        """Raises `TraceError` unless the body returns the structure that it takes; `found` are the leaves of what it returns."""
        if structure != self.structure:
            raise TraceError(
                f"{self.op}: the body returns another structure than it takes",
                place=self.loc,
                saw=structure,
                expected=self.structure,
                hint=struct_hint(found) or "return what is carried to the next step, in the structure of init",
            )

    def settle(self, leaf: Leaf, output: Value) -> bool:
        """Updates an open leaf from the result of the body; True if its type has changed."""
        if not leaf.open:
            return False
        if not output.weak:
            if not adapts(leaf.start, output.type):
                raise self.mismatch(leaf, output)
            leaf.type, leaf.open = output.type, False
            return True
        if output.type is leaf.type:  # also a struct of numbers
            return False
        scalar = promote([(leaf.type, True), (output.type, True)])
        if scalar is None or (leaf.type.shape and output.type.shape not in ((), leaf.type.shape)):
            raise self.mismatch(leaf, output)
        wider = (output.type if output.type.shape else leaf.type).with_scalar(scalar)
        changed = wider is not leaf.type
        leaf.type = wider
        return changed

    def converted(self, inner: BodyTrace, leaf: Leaf, output: Value) -> Value:
        """Converts an output of the body to the type of the carry."""
        if output.type is leaf.type:
            return output
        if not (output.weak and adapts(output, leaf.type)):
            raise self.mismatch(leaf, output)
        return as_type(inner, output, leaf.type, self.loc)

    def mismatch(self, leaf: Leaf, output: Value) -> TraceError:
        return TraceError(
            f"{self.op}: {leaf.path} is a {leaf.type} at first, and a {output.type} after a step",
            place=self.loc,
            saw=f"{output.type} given back by the body",
            expected=f"{leaf.type}, as in init",
            hint=f"start with a {output.type}, e.g. fp.vcast(…, '{output.type}'), or convert the result of the body",
        )

    def starts(self) -> tuple[list[Value], list[ArgMap]]:
        """Returns the values before the first step, with their conversions to the types of the carry."""
        maps = [ArgMap(leaf.said.dims, leaf.type if leaf.type is not leaf.start.type else None) for leaf in self.leaves]
        values = [*(leaf.start for leaf in self.leaves), *self.overflow.start()]
        return values, [*maps, *[UNSAID] * (len(values) - len(maps))]

    def results(self, values: Sequence[Traced]) -> Any:
        """Returns what the loop gives back, in the structure of the carry."""
        count = len(self.leaves)
        for flag in values[count:]:
            report_overflow(self.trace, self.trace.own(flag), self.op, self.loc)
        return self.structure.fill(values[:count])


def adapts(value: Value, want: Type) -> bool:
    """True if `value` has the type `want`, or is a weak number (from Python numbers only) that converts to it without loss."""
    have = value.type
    if not value.weak or not have.is_numeric or not want.is_numeric or have.shape not in ((), want.shape):
        return have is want
    assert have.dtype is not None
    assert want.dtype is not None
    return _ORDER[have.dtype.kind] <= _ORDER[want.dtype.kind]


def as_type(inner: BodyTrace, value: Value, type: Type, loc: str | None) -> Value:
    """Casts a number inside a body to `type`."""
    return inner.builder.add(OPS["cast"], [value], [UNSAID], {"type": type.name}, loc)[0]


def parameter_names(function: Callable[..., Any], defaults: Sequence[str]) -> list[str]:
    """Returns the names of a function's parameters, or the defaults if they are unknown."""
    try:
        found = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):  # a builtin
        found = []
    return [found[i] if i < len(found) else name for i, name in enumerate(defaults)]
