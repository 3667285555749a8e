"""Tracing: values that record what is done with them, and the trace they record into."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fusepy.arguments.mapping import AS_A_WHOLE, Mapped
from fusepy.arguments.nested import Tree, bare, check_finite, is_nested
from fusepy.backend.device.open import default_device
from fusepy.backend.emit.options import NO_OPTIONS
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.tensor import computed
from fusepy.errors import (
    ArgumentError,
    FusepyError,
    ShapeError,
    TraceRecursionError,
    UnsupportedArgumentError,
)
from fusepy.ir.argmap import UNSAID, ArgMap, check_rank
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.power import refuse_negative
from fusepy.ir.oracle import OUT
from fusepy.ir.resolve.offers import describe
from fusepy.ir.types import BOOL, FLOAT, INT, Kind, Type
from fusepy.ir.value import is_spread
from fusepy.location import user_line
from fusepy.symbolic import TRACING, Symbolic, misplaced
from fusepy.trace.arity import bind
from fusepy.trace.buffers import check_elements, chosen, elements_of
from fusepy.trace.methods import SLANG_OPERATORS, BoundMethod, method_of, user_operator
from fusepy.trace.structs import as_struct_input, call_map, check_axes, check_loose, closed, passed
from fusepy.trace.traced import Traced

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.backend.emit.options import Options
    from fusepy.backend.slang.oracle import SlangOracle
    from fusepy.backend.sources.source import ModuleSource
    from fusepy.trace.setup import Setup


def current_trace() -> Trace | None:
    """The trace that is being recorded in this thread or task."""
    return TRACING.get()


class Trace:
    """One recording. Values that it has not made itself (tensors, arrays of the enclosing scope) become captured inputs.

    Attributes:
        captures: the captured values, in the order of the inputs behind the arguments.
        strict: whether arrays of NumPy's default dtypes are refused where Slang wants smaller ones.
        body: what it is the body of, ``"fori_loop"``, where it is no whole function.
        chain: the trace itself, and those around it.
    """

    body = ""
    strict = False

    def __init__(self, name: str, device: Device | None):
        self._device = device
        self._oracle: SlangOracle | None = None
        self._origins: list[ModuleSource] = []  # modules of structs among the inputs
        self.sources: dict[str, ModuleSource] = {}
        self.builder = Builder(name)
        self.captures: list[Any] = []
        self.given: dict[Value, tuple[int, Any]] = {}  # arguments of the first call, with their places among the inputs
        self.struct_inputs: dict[tuple[Value, Type], Value] = {}  # arguments of numbers that are read as structs
        self.buffers: dict[Value, Any] = {}  # captured buffers of the graphics layer
        self.setup: Setup | None = None  # what the functions that are called have set, and how they want to be compiled
        self.options: Options = NO_OPTIONS
        self.maps: dict[Value, ArgMap] = {}
        self.named: dict[int, tuple[Any, Type]] = {}  # nested arguments whose struct is said, by identity
        self.loose: dict[Value, tuple[str, int]] = {}  # see `compose.placed`
        self._captured: dict[int, Value] = {}
        self.chain: tuple[Trace, ...] = (self,)
        self.active = True

    @property
    def device(self) -> Device:
        """Where the program will run: the device of its tensors or modules, else the default one."""
        if self._device is None:
            self._device = default_device()
        return self._device

    @property
    def oracle(self) -> SlangOracle:
        """Answers about the modules that the trace has met."""
        if self._oracle is None:
            self._oracle = self.builder.oracle = self.device.oracle({})
            for origin in self._origins:
                self.module(origin, self.device)
        return self._oracle

    @contextmanager
    def recording(self) -> Generator[Trace, None, None]:
        """Makes this the current trace; afterwards its values are dead."""
        token = TRACING.set(self)
        try:
            yield self
        finally:
            TRACING.reset(token)
            self.active = False

    def innermost(self) -> Trace:
        """The body that is recorded inside this trace, or else the trace itself."""
        now = TRACING.get()
        return now if now is not None and self in now.chain else self

    def argument(self, name: str, value: Any, map: ArgMap | None = UNSAID) -> Any:
        """An argument of the traced function, under the mapping that every use of it takes; ``None`` is "one for all threads".

        A nested argument comes back as the same structure of traced leaves, each an input named by its path.
        """
        check_finite(value, name)
        return self._argument(name, value, map)

    def _argument(self, name: str, value: Any, map: ArgMap | None) -> Any:
        if map is not None and map.dims is not None and is_nested(value):
            value, map = Mapped(value, ArgMap(map.dims)), ArgMap(None, map.type)
        tree = Tree.of(value, name)
        if tree is not None:
            below = UNSAID if map is not None else None
            parts = {field: self._argument(f"{name}.{field}", v, below) for field, v in tree.fields.items()}
            made = tree.container.rebuild(value, parts)
            struct = bare(value)[1] if map is None or map.type is None else map.type
            if struct is not None:  # remembered, since the fused function gets the argument as the user passed it
                self.named[id(made)] = (made, struct)
            return made
        if isinstance(value, Mapped):
            value, map = value.value, value.map
        made = self._input(name, value)
        self.given[made] = (len(self.builder.inputs) - 1, value)
        if map is None:
            map = UNSAID if made.arrival.plain else ArgMap(())
        if map is not UNSAID:
            self.maps[made] = map
        return Traced(self, made, user_line())

    def _input(self, name: str, value: Any) -> Value:
        try:
            described = kind_of_value(value).describe(value)
            check_rank(len(described.dims), "the array")
        except FusepyError as error:
            error.what = f"{self.builder.name}: argument {name!r}: {error.what}"
            raise error.at(user_line()) from None
        if described.origin is not None and self._device is not None:
            self._check_origin(name, described.type, cast("ModuleSource", described.origin))
        if described.origin is not None:  # the members of a struct are known without any call, once the device is
            self._origins.append(cast("ModuleSource", described.origin))
            if self._oracle is not None:
                self.module(self._origins[-1], self.device)
        taken = {v.name for v in self.builder.inputs}
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        return self.builder.input(
            unique,
            described.type,
            described.dims,
            arrival=described.arrival,
            weak=described.weak,
            copied=described.copied,
        )

    def _check_origin(self, name: str, type: Type, origin: ModuleSource) -> None:
        """Raises `UnsupportedArgumentError` for a struct whose module was reloaded since it was made."""
        if origin.closure in self.device.replaced:
            raise UnsupportedArgumentError(
                f"{self.builder.name}: argument {name!r} holds {type} as it was before module {origin.alias!r} was reloaded",
                place=user_line(),
                hint=f"make it again with dtype={origin.alias}.{type}",
            )

    def lift(self, value: Any, name: str = "captured") -> Value:
        """An operand: a traced value of this trace, a constant, or a captured array.

        Raises:
            LeakedTracerError: for a value of another trace.
            GraphError: for a value of a graph.
            UnsupportedArgumentError: for what cannot be an argument.
        """
        if isinstance(value, Traced):
            value.check(self)
            return self.own(value)
        if isinstance(value, Symbolic):
            raise misplaced(value)
        number = cast("Any", value.item() if isinstance(value, np.generic) else value)
        if isinstance(number, (bool, int, float)):
            # a member of an IntEnum is the number that it stands for
            plain = bool if isinstance(number, bool) else int if isinstance(number, int) else float
            return self.constant(plain(number))
        return self.capture(cast("Any", value), name)

    def behind(self, value: Value) -> tuple[Trace, Value] | None:
        """What a value of a body stands in for, and the trace around that has it; ``None`` where it stands in for nothing."""
        return None

    def standing_in(self, value: Value) -> Value:
        """A value of the trace around a body as one of the body."""
        return value

    def own(self, value: Traced) -> Value:
        """The value behind a traced one that this trace has made."""
        return value._value  # pyright: ignore[reportPrivateUsage]

    def capture(self, value: Any, name: str) -> Value:
        """A value of the enclosing scope as an input."""
        found = self._captured.get(id(value))
        if found is None:
            found = self._captured[id(value)] = self._input(name, computed(value))  # a program keeps what it has captured
            self.captures.append(value)
            if found.arrival.raw:
                self.buffers[found] = value
        return found

    def captured(self, value: Any, name: str) -> Traced:
        """A value of the enclosing scope as a traced one, so that it has operators and members."""
        return Traced(self, self.lift(value, name), user_line())

    def constant(self, value: float | bool, wanted: Type | None = None) -> Value:
        """A Python number in the program, as a literal of the type that is wanted, or of its own."""
        if wanted is not None:
            type = wanted
        elif isinstance(value, bool):
            type = BOOL
        elif isinstance(value, int):
            type = INT if -0x80000000 <= value < 0x80000000 else Type.parse("int64_t" if value < 1 << 63 else "uint64_t")
        else:
            type = FLOAT
        attrs: dict[str, Attr] = {"type": type.name, "value": value}
        return self.builder.add(OPS["const"], [], attrs=attrs, loc=user_line())[0]

    def record(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Attr] | None = None) -> Traced:
        """One operation with one result."""
        loc = user_line()
        values, said = self.operands(operands, loc)
        for value in values:
            check_elements(op, value, loc)
        if any(v.type.kind is Kind.NAMED for v in values):
            assert self.oracle is self.builder.oracle  # asking for it tells the builder what the structs look like
            if op in SLANG_OPERATORS:
                return user_operator(self, op, operands, [v.type for v in values])
        for value, map in zip(values, said):
            check_axes(op, value, map, loc)
        maps, inherited = self.common_map(values, said)
        result = self.builder.add(OPS[op], values, maps, attrs, loc)[0]
        if op == "pow":
            refuse_negative(result.type, operands[1], loc)
        if inherited is not None:
            self.maps[result] = inherited
        return Traced(self, result, loc)

    def common_map(self, values: Sequence[Value], maps: Sequence[ArgMap]) -> tuple[list[ArgMap], ArgMap | None]:
        """Maps for operands that were all said to run along dimensions of a grid: over a grid of just these dimensions.

        The result inherits the dimensions, to meet other values where it is used. If one is not
        mapped, the maps stay as they are, but for dimensions that nobody runs along.
        """
        spread = [m for v, m in zip(values, maps) if v.rank]
        if any(m.dims is None for m in spread):
            return closed(values, maps, {i: v.rank for i, (v, m) in enumerate(zip(values, maps)) if m.dims is None}), None
        outer = tuple(sorted({d for m in spread for d in m.dims or ()}))
        if not outer:
            return list(maps), None
        own = {d: i for i, d in enumerate(outer)}
        placed = [ArgMap(tuple(own[d] for d in m.dims or ()), m.type) if v.rank else m for v, m in zip(values, maps)]
        return placed, ArgMap(outer)

    def shared_map(self, values: Sequence[Value], maps: Sequence[ArgMap]) -> tuple[list[ArgMap], ArgMap | None]:
        """The same for a loop or branch, some of whose operands may be arrays that are passed whole."""
        spread = [i for i, (v, m) in enumerate(zip(values, maps)) if not (v.rank and m.dims == ())]
        found, inherited = self.common_map([values[i] for i in spread], [maps[i] for i in spread])
        new = dict(zip(spread, found))
        return [new.get(i, m) for i, m in enumerate(maps)], inherited

    def operands(self, values: Sequence[Any], loc: str | None) -> tuple[list[Value], list[ArgMap]]:
        """Operands of an operation on elements, and the dimensions that each was said to run along."""
        found = [self.operand(v, "captured", loc) for v in values]
        return [v for v, _ in found], [m for _, m in found]

    def operand(self, given: Any, name: str, loc: str | None) -> tuple[Value, ArgMap]:
        """One operand after its vcast, which operators cannot express by themselves, and the dimensions that it runs along.

        Raises:
            ShapeError: if vmap names more axes than it has.
        """
        given, said = (given.value, given.map) if isinstance(given, Mapped) else (given, UNSAID)
        value = self.lift(given, name)
        known = self.maps.get(value, UNSAID).under(said)
        dims, want = known.dims, known.type
        if want is not None and want is not value.type:
            value = self.cast(value, want, ArgMap(dims), loc)
            dims = self.maps.get(value, UNSAID).dims
        if dims and len(dims) > value.rank and not is_spread(value):
            raise ShapeError(
                f"vmap names {len(dims)} axes of a value with {value.rank}",
                place=loc,
                saw=f"{describe(value)} under {ArgMap(dims)}",
                hint="name one grid dimension per leading axis",
            )
        return value, UNSAID if dims is None else ArgMap(dims)

    def cast(self, value: Value, type: Type, said: ArgMap, loc: str | None) -> Value:
        """`value` converted to a type, over its own axes; the result runs along what it was said to run along."""
        known = ArgMap(self.maps.get(value, UNSAID).under(said).dims, type)
        if value.arrival.raw:
            seen = elements_of(self, value, type)
            if seen is not None:
                return seen
        check_axes("vcast", value, known, loc)
        (map,), inherited = self.common_map([value], [known])
        made = self.builder.add(OPS["cast"], [value], [map], {"type": type.name}, loc)[0]
        if inherited is not None:
            self.maps[made] = inherited
        return made

    def recast(self, value: Value, type: Type, loc: str | None) -> Value:
        """`value` converted to a type, by way of the one that it was said to be."""
        said = self.maps.get(value, UNSAID)
        if said.type is not None and said.type not in (value.type, type.scalar) and said.type.kind not in AS_A_WHOLE:
            value = self.cast(value, said.type, ArgMap(said.dims), loc)
        return self.cast(value, type, UNSAID, loc)

    as_structs = as_struct_input

    def method(self, value: Traced, name: str) -> BoundMethod | None:
        """The method `name` of a value's type; ``None`` where it is a field or component."""
        return method_of(self, value, name)

    def module(self, source: ModuleSource, device: Device) -> str:
        """The alias of a module in this trace.

        Raises:
            ShapeError: if the module lives on another device than the trace.
        """
        if self._device is None:
            self._device = device
        elif self._device is not device:
            raise ShapeError(
                f"module {source.alias!r} is on another device than the other arguments",
                place=user_line(),
                saw=f"{device.name}, opened as {id(device):#x}",
                expected=f"{self._device.name}, opened as {id(self._device):#x}",
                hint="load the module on the device of the tensors",
            )
        alias = self.builder.module(source.alias if source.alias.isidentifier() else source.name, source.closure)
        if alias not in self.sources:
            self.sources[alias] = source
            self.oracle.add(alias, source, self.device.facts(source))
        return alias

    def call(
        self,
        alias: str,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        inherit: bool = True,
        dirs: tuple[str, ...] | None = None,
        strict: bool = False,
    ) -> Any:
        """One call of a Slang function; ``None``, its result, or a tuple of results.

        Args:
            inherit: whether results run along the dimensions that all arguments were declared to run along.
            dirs: the directions of the parameters, where outputs that are passed say which overloads are meant.
            strict: whether this call is strict, whatever the trace is.

        Raises:
            ArgumentError, ResolveError: if the arguments do not fit.
        """
        if strict and not self.strict:
            self.strict = True
            try:
                return self.call(alias, function, args, kwargs, inherit=inherit, dirs=dirs)
            finally:
                self.strict = False
        if function in self.oracle.entry_points(alias):  # calling one from another crashes Slang
            raise ArgumentError(
                f"{function} is an entry point, which runs as it is",
                place=user_line(),
                hint=f"write {function}.threads(width, height).call(), or {function}.dispatch(count, …)",
            )
        declared = [[p for p in s.params if p.direction != OUT] for s in self.oracle.declared(alias, function)]
        operands: list[Value] = []
        maps: list[ArgMap] = []
        for i, value in enumerate(bind(self.oracle, alias, function, args, kwargs)):
            slots = [params[i] for params in declared if i < len(params)]
            operand, map = passed(self, function, value, slots[0].name if slots else f"arg{i}", [p.type for p in slots])
            operands.append(operand)
            maps.append(self.maps.get(operand, UNSAID).under(map))
        if any(v.arrival.raw for v in operands):
            slots = [[params[i].type for params in declared if i < len(params)] for i in range(len(operands))]
            operands, maps = chosen(self, alias, function, operands, maps, slots, dirs)
        loc = user_line()
        attrs: dict[str, Attr] = {"module": alias, "function": function}
        if self.oracle.writes(alias, function):
            attrs["writes"] = True
        if dirs is not None:
            attrs["dirs"] = dirs
        if self.strict:
            attrs["strict"] = True
        inherited = None
        if inherit:
            maps, inherited = call_map(self, operands, maps, attrs, loc)
        values = self.builder.add(OPS["slang.call"], operands, maps, attrs, loc)
        check_loose(self, function, operands, loc)
        if inherited is not None:
            self.maps.update(dict.fromkeys(values, inherited))
        results = [Traced(self, v, loc) for v in values]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def adopt(self, setup: Setup | None, options: Options, name: str) -> None:
        """Takes over what a function that is called here was given: its globals, hooks and options.

        Raises:
            ArgumentError: if two functions want different values.
        """
        if setup is not None:
            self.setup = setup if self.setup is None else self.setup.joined(setup, name)
        self.options = self.options.joined(options, name)

    def finish(self, outputs: Sequence[Traced]) -> Graph:
        if self._origins:
            assert self.oracle is self.builder.oracle  # asking for it imports the modules of structs that nothing has called
        return self.builder.finish([o._value for o in outputs])  # pyright: ignore[reportPrivateUsage]


_tracing: ContextVar[tuple[Any, ...]] = ContextVar("fusepy_tracing", default=())


@contextmanager
def entered(function: Any, name: str) -> Generator[None, None, None]:
    """Guards against a fused function that traces itself.

    Raises:
        TraceRecursionError: naming the cycle.
    """
    stack = _tracing.get()
    if function in stack:
        cycle = " -> ".join([*(f.__name__ for f in stack[stack.index(function) :]), name])
        raise TraceRecursionError(
            f"{name} calls itself while it is traced",
            place=user_line(),
            saw=cycle,
            hint="write the recursion in Slang, or as a loop",
        )
    token = _tracing.set((*stack, function))
    try:
        yield
    finally:
        _tracing.reset(token)
