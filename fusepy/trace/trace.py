"""`Trace`: the recording of a traced function."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from fusepy.arguments.field_tensor import FieldTensor
from fusepy.arguments.held import Held
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.mapping import AS_A_WHOLE
from fusepy.backend.device.device import Device
from fusepy.backend.device.open import default_device
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.memory.host_arrays import lists_values
from fusepy.backend.memory.tensor import computed
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.backend.sources.source import ModuleSource
from fusepy.derivatives.extents import ExtentFacts
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.power import refuse_negative
from fusepy.ir.ops.promotion import type_of_number
from fusepy.ir.resolve.offers import describe
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import is_spread
from fusepy.location import user_line, users_name
from fusepy.symbolic import TRACING, Symbolic, misplaced
from fusepy.trace.buffers import check_elements, elements_of
from fusepy.trace.calls import record_call
from fusepy.trace.components.grouping import Grouping
from fusepy.trace.components.numbers import ON_NUMBERS, recorded
from fusepy.trace.components.outside import outside
from fusepy.trace.components.plain import PlainVectors
from fusepy.trace.components.said import after_cast
from fusepy.trace.inputs import add_input, of_mapped
from fusepy.trace.maps import array_product, check_axes, common_map, inherit
from fusepy.trace.methods import SLANG_OPERATORS, has_member, method_of, user_operator
from fusepy.trace.moves.members import array_member, indexed, part
from fusepy.trace.moves.state import Moves
from fusepy.trace.moves.stored import finished
from fusepy.trace.open_trace import CallScope, StepLoop
from fusepy.trace.prints.log import Request
from fusepy.trace.setup import Setup
from fusepy.trace.structs import as_struct_input
from fusepy.trace.traced import Traced

current_trace: Callable[[], Trace | None] = TRACING.get  # that of this thread or task. No Python function: every call asks


class Trace:
    """A recording. Values from outside (tensors, arrays of the enclosing scope) become captured inputs.

    Attributes:
        captures: the captured values, in the order of their inputs, which follow those of the arguments.
        strict: True if NumPy's default dtypes are refused where Slang takes smaller types.
        body: the operation that it is a body of, such as ``"fori_loop"``; empty for a function.
        alone: True if all that a body takes are numbers, so that it runs in one thread; `flags` are True where one did not fit.
        chain: the trace itself, and the traces around it.
        hosted, told: the inputs that stand for arrays of the host, results of `lazy`; the results of a user's `vcast`.
        prints: the requests of `fusepy.debug.print`; ``None`` where nothing can be printed.
    """

    body, alone, strict, undecided = "", True, False, False
    flags: list[Value] | None = None
    setup: Setup | None = None  # the globals and hooks of called functions
    _oracle: SlangOracle | None = None
    prints: list[Request] | None = None

    def __init__(self, name: str, device: Device | None):
        self._device, self._origins = device, list[ModuleSource]()  # `_origins`: modules of structs among the inputs
        self.sources, self.builder = dict[str, ModuleSource](), Builder(name)
        self.captures, self.held = list[Any](), list[tuple[Held, Any]]()  # `held`: see `inputs.of_owner`
        self.given: dict[Value, tuple[int, Any]] = {}  # arguments of the first call, with their indices among the inputs
        self.struct_inputs: dict[tuple[Value, Type], Value] = {}  # arguments of numbers that are read as structs
        self.maps, self.inherited = dict[Value, ArgMap](), set[Value]()  # `inherited`: mapped by a vmap inside of the function
        self.buffers, self.calls = dict[Value, Any](), list[CallScope]()  # `buffers`: captured ones of the graphics layer
        self.integers: dict[Value, Value] = {}  # of floats that stand for the integers of an argument that has gradients: these
        self.named: dict[int, tuple[Any, Type]] = {}  # nested arguments with a declared struct, by identity
        self.grouped: dict[Value, Value] = {}  # for numbers, the vectors whose components they are
        self.extents, self.moves, self.grouping = ExtentFacts(), Moves(), Grouping(self)
        self.plain, self.step_loops = PlainVectors(self, self.grouping), list[StepLoop]()
        self.options, self.loose = NO_OPTIONS, dict[Value, tuple[str, int]]()  # `loose`: see `structs.placed`
        self._captured, self.derived = dict[int, Value](), -1  # `derived` is the number of nodes behind the last gradient
        self.chain: tuple[Trace, ...] = (self,)
        self.active, self.hosted, self.told = True, set[Value](), set[Value]()

    @property
    def device(self) -> Device:
        """The device of the program: that of its tensors or modules, else the default device; then it is `undecided`."""
        if self._device is None:
            self._device, self.undecided = default_device(), True
        return self._device

    @property
    def oracle(self) -> SlangOracle:
        """The oracle for the modules of the trace."""
        if self._oracle is None:
            self._oracle = self.builder.oracle = self.device.oracle({})
            for origin in self._origins:
                self.module(origin, self.device)
        return self._oracle

    @contextmanager
    def recording(self) -> Generator[Trace, None, None]:
        """Makes this the current trace; afterwards its values cannot be used."""
        token = TRACING.set(self)
        try:
            yield self
        finally:
            TRACING.reset(token)
            self.active = False

    def innermost(self) -> Trace:
        """Returns the body that is recorded inside this trace, or the trace itself."""
        return now if (now := TRACING.get()) is not None and self in now.chain else self

    def add_origin(self, name: str, type: Type, origin: ModuleSource) -> None:
        """Adds the module of a struct that an input holds, so that its members are known without a call.

        Raises:
            UnsupportedArgumentError: if the module was reloaded since the input was made.
        """
        if self._device is not None and origin.closure in self._device.replaced:
            what = f"{self.builder.name}: argument {name!r} holds {type} as it was before module {origin.alias!r} was reloaded"
            raise UnsupportedArgumentError(what, hint=f"make it again with dtype={origin.alias}.{type}")
        self._origins.append(origin)
        if self._oracle is not None:
            self.module(origin, self.device)

    def lift(self, value: Any, name: str = "captured") -> Value:
        """Returns a value as an operand: a traced value of this trace, a constant, or a captured array.

        Raises:
            LeakedTracerError: for a value of another trace.
            GraphError: for a value of a graph.
            UnsupportedArgumentError: if it cannot be an argument.
        """
        if isinstance(value, Traced):
            value.check(self)
            return self.own(value)
        if isinstance(value, (Mapped, FieldTensor)):
            return of_mapped(self, value, name)
        if isinstance(value, Symbolic):
            raise misplaced(value)
        number = cast("Any", value.item() if isinstance(value, (np.number, np.bool_)) else value)
        if isinstance(number, (bool, int, float)):
            plain = bool if isinstance(number, bool) else int if isinstance(number, int) else float  # also of an IntEnum
            return self.constant(plain(number), said="" if number is value else str(cast("Any", value).dtype))
        if lists_values(value):
            return self.plain.stacked(cast("Sequence[Any]", value), user_line())
        return self.capture(cast("Any", value), name)

    def behind(self, value: Value) -> tuple[Trace, Value] | None:
        """Returns the captured value behind a stand-in of a body, with the trace that has it; ``None`` for other values."""
        return None

    def standing_in(self, value: Value) -> Value:
        """Returns the stand-in for a value of the trace around a body."""
        return value

    def refuse_part(self, value: Value, what: str) -> None:
        """Raises `TraceError` in the body of a loop for what is computed from an element of an array."""

    def own(self, value: Traced) -> Value:
        """Returns the value of a traced value of this trace."""
        inner, begun = value._value, value._begun  # pyright: ignore[reportPrivateUsage]
        return outside(self, inner, begun) if self.moves.begun else inner

    def capture(self, value: Any, name: str) -> Value:
        """Adds a value of the enclosing scope as an input."""
        if (found := self._captured.get(id(value))) is None:
            name = (users_name(value) or name) if name == "captured" else name
            found = self._captured[id(value)] = add_input(self, name, computed(value))  # a program keeps its captured values
            self.captures.append(value)
            if found.arrival.raw:
                self.buffers[found] = value
        return outside(self, found, 0) if self.moves.begun else found

    def captured(self, value: Any, name: str) -> Traced:
        """Returns a value of the enclosing scope traced, so that it has operators and members."""
        return Traced(self, self.lift(value, name), user_line())

    def constant(self, value: float | bool, wanted: Type | None = None, said: str = "") -> Value:
        """Adds a Python number as a literal, of type `wanted` or of its own type; `said` is the dtype of one of NumPy."""
        attrs = {"type": (wanted or type_of_number(value)).name, "value": value, **({"numpy": said} if said else {})}
        return self.builder.add(OPS["const"], [], attrs=attrs, loc=user_line())[0]

    def record(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Attr] | None = None) -> Traced:
        """Records an operation with one result."""
        loc = user_line()
        if op in ("matmul", "dot") and (product := array_product(self, op, operands, loc)) is not None:
            return Traced(self, product, loc)
        values, said = self.operands(operands, loc)
        for value in values:
            check_elements(op, value, loc)
        if any(v.type.kind is Kind.NAMED for v in values):
            assert self.oracle is self.builder.oracle  # the property tells the builder the members of structs
            if op in SLANG_OPERATORS:
                return user_operator(self, op, operands, [v.type for v in values])
        values, said = self.plain.aligned(op, values, said, loc)
        for value, map in zip(values, said):
            check_axes(op, value, map, loc)
        maps, inherited = common_map(self, values, said)
        alone, add = op in ON_NUMBERS and (values[0].weak or values[-1].weak), self.builder.add
        (result,) = recorded(self, op, values, maps, attrs, loc) if alone else add(OPS[op], values, maps, attrs, loc)
        if op == "pow":
            refuse_negative(result.type, given.value if isinstance(given := operands[1], Mapped) else given, loc)
        inherit(self, [result], inherited, values, said)
        return Traced(self, result, loc)

    def operands(self, values: Sequence[Any], loc: str | None) -> tuple[list[Value], list[ArgMap]]:
        """Returns the operands of an operation on elements, and their maps."""
        found = [self.operand(v, "captured", loc) for v in values]
        return [v for v, _ in found], [m for _, m in found]

    def operand(self, given: Any, name: str, loc: str | None) -> tuple[Value, ArgMap]:
        """Returns one operand after its vcast, which operators cannot do themselves, and its map.

        Raises:
            ShapeError: if vmap names more axes than the value has.
        """
        given, said = (given.value, given.map) if isinstance(given, Mapped) else (given, UNSAID)
        value = self.lift(given, name)
        want, dims = (known := self.maps.get(value, UNSAID).under(said)).type, known.dims
        if want is not None and (want is not value.type or value.weak or value.arrival.named or self.plain.holds(value)):
            # under a vcast, a weak number has its type for good, and numbers are vectors
            value = self.cast(value, want, ArgMap(dims), loc)
            dims = after_cast(self, said, self.maps.get(value, UNSAID).dims)
        if dims and len(dims) > value.rank and not is_spread(value):
            raise ShapeError(
                f"vmap names {len(dims)} axes of a value with {value.rank}",
                place=loc,
                saw=f"{describe(value)} under {ArgMap(dims)}",
                hint="name one grid dimension per leading axis",
            )
        return value, UNSAID if dims is None else ArgMap(dims)

    def cast(self, value: Value, type: Type, said: ArgMap, loc: str | None) -> Value:
        """Converts `value` to a type, over its own axes; the result keeps its dimensions."""
        if value.arrival.raw and (seen := elements_of(self, value, type)) is not None:
            return seen
        value = self.grouping.cast(self.plain.seen(value, loc) if type.kind is Kind.SCALAR else value, type, loc)
        known = ArgMap(self.maps.get(value, UNSAID).under(said).dims, type)
        check_axes("vcast", value, known, loc)
        (map,), inherited = common_map(self, [value], [known])
        made = self.builder.add(OPS["cast"], [value], [map], {"type": type.name}, loc)[0]
        inherit(self, [made], inherited, [value], [known])
        return made

    def recast(self, value: Value, type: Type, loc: str | None) -> Value:
        """Converts `value` to a type, through the type of its vcast."""
        said = self.maps.get(value, UNSAID)
        if said.type is not None and said.type not in (value.type, type.scalar) and said.type.kind not in AS_A_WHOLE:
            value = self.cast(value, said.type, ArgMap(said.dims), loc)
        return self.cast(value, type, UNSAID, loc)

    as_structs, call, method, indexed, array_member = as_struct_input, record_call, method_of, indexed, array_member
    part, has_member = part, has_member

    def module(self, source: ModuleSource, device: Device) -> str:
        """Adds a module, and returns its alias in this trace.

        Raises:
            ShapeError: if the module is on another device than the trace.
        """
        if self._device is None:
            self._device = device
        elif self._device is not device:
            raise ShapeError(
                f"module {source.alias!r} is on another device than the other arguments",
                saw=device.opened,
                expected=self._device.opened,
                hint="load the module on the device of the tensors",
            )
        alias = self.builder.module(source.alias if source.alias.isidentifier() else source.name, source.closure)
        if alias not in self.sources:
            self.sources[alias] = source
            self.oracle.add(alias, source, self.device.facts(source))
        return alias

    def adopt(self, setup: Setup | None, options: Options, name: str) -> None:
        """Adds the globals, hooks and options of a function that is called in this trace.

        Raises:
            ArgumentError: if two functions have different values.
        """
        if setup is not None:
            self.setup = setup if self.setup is None else self.setup.joined(setup, name)
        self.options = self.options.joined(options, name)

    def finish(self, outputs: Sequence[Traced]) -> Graph:
        assert not self._origins or self.oracle is self.builder.oracle  # the property imports modules of structs without calls
        return self.builder.finish(finished(self, [o._value for o in outputs]))  # pyright: ignore[reportPrivateUsage]
