"""Operands of calls: computed arrays of numbers are offered as the tensors that an eager call would get."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fusepy.errors import FusepyError, NoMatchError, ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.graph import Value
from fusepy.ir.narrowing import DEFAULTS
from fusepy.ir.oracle import OUT
from fusepy.ir.resolve.resolve import resolve_call
from fusepy.ir.types import Kind, Type
from fusepy.location import user_line
from fusepy.trace.components.softened import may_soften, softened
from fusepy.trace.open_trace import OpenTrace

Resolve = Callable[[Sequence[Value], Sequence[ArgMap]], Sequence[ArgMap]]  # the resolved maps of a call
Taken = tuple[list[Value], list[ArgMap]]


def of_call(
    trace: OpenTrace,
    alias: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    said: Sequence[ArgMap],
    dirs: tuple[str, ...] | None,
) -> Taken:
    """Returns the operands of a call of a Slang function as it takes them, and their maps.

    Args:
        dirs: the directions of the parameters, if outputs are passed.
    """
    computed = any(v.name is None and (v.rank or v.type.shape or v.type in DEFAULTS) for v in operands)
    if not computed and not trace.chain[-1].hosted:
        return list(operands), list(maps)
    loc = user_line()

    def resolve(offered: Sequence[Value], maps: Sequence[ArgMap]) -> Sequence[ArgMap]:
        return resolve_call(trace.oracle, alias, function, offered, maps, loc, dirs, trace.strict).maps

    def inputs() -> list[list[Type | None]]:
        return [[p.type for p in s.params if p.direction != OUT] for s in trace.oracle.declared(alias, function)]

    kinds = {p.type.kind for s in trace.oracle.declared(alias, function) for p in s.params if p.type is not None}
    try:
        return Regrouping(trace, said, resolve, kinds, inputs, loc).taken(operands, maps)
    except NoMatchError:
        if Kind.RESOURCE not in kinds:
            raise
        return list(operands), list(maps)  # a texture takes a computed array as it is


@dataclass(frozen=True)
class Regrouping:
    """A call whose operands may be arrays of numbers that it takes as vectors, matrices or arrays.

    Args:
        said: the parts of the maps that the user has written at this call.
        kinds: the kinds of its parameters.
        inputs: returns for each overload the types of its parameters.
    """

    trace: OpenTrace
    said: Sequence[ArgMap]
    resolve: Resolve
    kinds: Collection[Kind]
    inputs: Callable[[], Sequence[Sequence[Type | None]]]
    loc: str | None

    def taken(self, operands: Sequence[Value], maps: Sequence[ArgMap]) -> Taken:
        """Returns the operands as the call takes them, arrays of NumPy's default dtypes in smaller types if necessary; and maps.

        Raises:
            NoMatchError: if the call takes no such operands.
        """
        try:
            found = self.of(operands, maps)
            for value in operands:
                if value.type in DEFAULTS and may_soften(self.trace, value):
                    self.resolve(*found)
                    break
            return found
        except NoMatchError:
            if Kind.RESOURCE in self.kinds:
                raise
            smaller = softened(self.trace, self.inputs(), operands, self.said, self._answers, self.loc)
            if smaller is None:
                raise
            return self.of(smaller, maps)

    def of(self, operands: Sequence[Value], maps: Sequence[ArgMap]) -> Taken:
        """Returns the operands as the call takes them, and their maps.

        Vectors that are numbers for an eager call are numbers where the call takes no vectors.
        """
        trace = self.trace
        plain = [i for i, v in enumerate(operands) if trace.plain.holds(v)]
        refused: FusepyError | None = None
        for chosen in itertools.chain.from_iterable(itertools.combinations(plain, n) for n in range(len(plain) + 1)):
            values, own = list(operands), list(maps)
            for i in chosen:
                values[i] = trace.plain.seen(operands[i], self.loc)
                own[i] = trace.maps.get(values[i], UNSAID).under(self.said[i])
            try:
                if plain:
                    self.resolve([self._as_tensor(v) for v in values], own)
                return self._vectors(values, own)
            except (NoMatchError, ShapeError) as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _vectors(self, operands: Sequence[Value], maps: Sequence[ArgMap]) -> Taken:
        grouping = self.trace.grouping
        values, found = list(operands), list(maps)
        offered = values if self.trace.body else [self._as_tensor(v) for v in operands]
        changed = [i for i, (a, b) in enumerate(zip(offered, operands)) if a is not b]
        if not changed:
            return values, found
        travelled = {i for i in changed if maps[i].dims is not None and self.said[i].dims is None}
        answers = _resolved(offered, maps, travelled, self.resolve)
        for i in changed:
            want, dims = answers[i].type, answers[i].dims
            if want is None or dims is None or len(dims) == operands[i].rank:
                continue
            if want.kind is Kind.WHOLE and want.element is not None and operands[i].rank > want.rank:
                values[i] = grouping.of(operands[i], want.element.with_scalar(operands[i].type), self.loc)
                continue
            if want.kind in (Kind.VECTOR, Kind.MATRIX):
                values[i] = grouping.of(operands[i], want.with_scalar(operands[i].type), self.loc)
            elif want.kind is Kind.ARRAY and (made := grouping.listed(operands[i], want, self.loc)) is not None:
                values[i] = made
            else:
                continue
            inherited = self.trace.maps.get(values[i], UNSAID).dims
            found[i] = ArgMap(inherited if i in travelled else None if maps[i].dims is None else dims, maps[i].type)
        return values, found

    def _answers(self, operands: Sequence[Value], maps: Sequence[ArgMap]) -> Sequence[ArgMap]:
        return self.resolve(operands if self.trace.body else [self._as_tensor(v) for v in operands], maps)

    def _as_tensor(self, value: Value) -> Value:
        """Returns a tensor like a computed array of numbers, if its last axes may be components; else the value itself."""
        if value.name is not None or not value.rank or value.type.kind is not Kind.SCALAR:
            return value
        dims = self.trace.grouping.tail(value)
        if dims[-1] is None and Kind.ARRAY not in self.kinds:  # whose extent may be any
            return value
        return Value(value.type, dims, arrival=TENSOR, weak=value.weak, name="x")


def _resolved(offered: Sequence[Value], maps: Sequence[ArgMap], travelled: set[int], resolve: Resolve) -> Sequence[ArgMap]:
    """Resolves a call. Dimensions that an operand has inherited may be those of its leading axes, or have gaps."""
    ways = [
        [m, *(ArgMap((m.dims or ())[:-n], m.type) for n in (1, 2)), ArgMap(None, m.type)] if i in travelled else [m]
        for i, m in enumerate(maps)
    ]
    refused: FusepyError | None = None
    for way in itertools.product(*ways):
        try:
            return resolve(offered, way)
        except (NoMatchError, ShapeError) as error:
            refused = refused or error
    assert refused is not None
    raise refused
