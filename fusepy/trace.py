"""Tracing: values that record what is done with them, and the trace they record into."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fusepy.backend.marshals import marshal_of
from fusepy.device import default_device
from fusepy.errors import (
    ArgumentError,
    FusepyError,
    LeakedTracerError,
    ShapeError,
    TraceError,
    TraceRecursionError,
    did_you_mean,
)
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Builder, Graph, Value
from fusepy.ir.oracle import OUT
from fusepy.ir.ops import OPS
from fusepy.ir.ops.arithmetic import Operator
from fusepy.ir.ops.structure import check_range
from fusepy.ir.types import BOOL, FLOAT, INT, Kind, Type
from fusepy.mapping import Mapped

if TYPE_CHECKING:
    from fusepy.backend.oracle import SlangOracle
    from fusepy.backend.runtime import Device
    from fusepy.backend.source import ModuleSource

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_NOT_THE_USER = (_PACKAGE, contextlib.__file__, "<frozen")
_current: ContextVar[Trace | None] = ContextVar("fusepy_trace", default=None)


def current_trace() -> Trace | None:
    """The trace that is being recorded in this thread or task."""
    return _current.get()


def user_line() -> str | None:
    """``file:line`` of the innermost frame outside of fusepy."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files, which costs milliseconds
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_NOT_THE_USER):
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class Trace:
    """One recording. Values that it has not made itself (tensors, arrays of the enclosing scope) become captured inputs.

    Attributes:
        captures: the captured values, in the order of the inputs behind the arguments.
    """

    def __init__(self, name: str, device: Device | None):
        self._device = device
        self._oracle: SlangOracle | None = None
        self.sources: dict[str, ModuleSource] = {}
        self.builder = Builder(name)
        self.captures: list[Any] = []
        self.maps: dict[Value, ArgMap] = {}
        self._captured: dict[int, Value] = {}
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
        return self._oracle

    @contextmanager
    def recording(self) -> Iterator[Trace]:
        """Makes this the current trace; afterwards its values are dead."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)
            self.active = False

    def argument(self, name: str, value: Any, map: ArgMap | None = UNSAID) -> Traced:
        """An input of the traced function, under the mapping that every use of it takes; ``None`` is "one for all threads"."""
        made = self._input(name, value)
        if map is None:
            map = ArgMap(()) if made.container else UNSAID
        if map is not UNSAID:
            self.maps[made] = map
        return Traced(self, made, user_line())

    def _input(self, name: str, value: Any) -> Value:
        try:
            described = marshal_of(value).describe(value)
        except FusepyError as error:
            error.what = f"{self.builder.name}: argument {name!r}: {error.what}"
            raise error.at(user_line()) from None
        taken = {v.name for v in self.builder.inputs}
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        return self.builder.input(unique, described.type, described.dims, container=described.container, weak=described.weak)

    def lift(self, value: Any, name: str = "captured") -> Value:
        """An operand: a traced value of this trace, a constant, or a captured array.

        Raises:
            LeakedTracerError: for a value of another trace.
            UnsupportedArgumentError: for what cannot be an argument.
        """
        if isinstance(value, Traced):
            value.check(self)
            return value._value  # pyright: ignore[reportPrivateUsage]
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (bool, int, float)):
            return self.constant(value)
        found = self._captured.get(id(value))
        if found is None:
            found = self._captured[id(value)] = self._input(name, value)
            self.captures.append(value)
        return found

    def constant(self, value: float | bool) -> Value:
        """A Python number in the program."""
        if isinstance(value, bool):
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
        values = [self._typed(self.lift(v), loc) for v in operands]
        maps = [ArgMap(self.maps[v].dims) if v in self.maps else UNSAID for v in values]
        result = self.builder.add(OPS[op], values, maps, attrs, loc)[0]
        if op not in ("cast", "index"):  # these do not compute in the type of their operands
            node = self.builder.nodes[-1]
            scalar = node.op.operand_scalar(node) if isinstance(node.op, Operator) else result.type.scalar
            for operand in operands:
                if scalar is not None and scalar is not BOOL and isinstance(operand, int):
                    check_range(operand, scalar, f"the constant in {op}", loc)
        return Traced(self, result, loc)

    def _typed(self, value: Value, loc: str | None) -> Value:
        """`value` after the vcast that its argument was given, which operators cannot express by themselves."""
        map = self.maps.get(value, UNSAID)
        if map.type is None or map.type is value.type:
            return value
        return self.builder.add(OPS["cast"], [value], [map], {"type": map.type.name}, loc)[0]

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
                saw=device.name,
                expected=self._device.name,
                hint="load the module on the device of the tensors",
            )
        alias = self.builder.module(source.alias if source.alias.isidentifier() else source.name, source.closure)
        if alias not in self.sources:
            self.sources[alias] = source
            self.oracle.add(alias, source, self.device.facts(source))
        return alias

    def call(self, alias: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """One call of a Slang function; ``None``, its result, or a tuple of results.

        Raises:
            ArgumentError, ResolveError: if the arguments do not fit.
        """
        names = [p.name for p in self.oracle.declared(alias, function)[0].params if p.direction != OUT]
        operands: list[Value] = []
        maps: list[ArgMap] = []
        for i, value in enumerate(bind(self.oracle, alias, function, args, kwargs)):
            inner, map = (value.value, value.map) if isinstance(value, Mapped) else (value, UNSAID)
            operand = self.lift(inner, names[i] if i < len(names) else f"arg{i}")
            operands.append(operand)
            maps.append(map if map is not UNSAID else self.maps.get(operand, UNSAID))
        loc = user_line()
        attrs: dict[str, Attr] = {"module": alias, "function": function}
        results = [Traced(self, v, loc) for v in self.builder.add(OPS["slang.call"], operands, maps, attrs, loc)]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def finish(self, outputs: Sequence[Traced]) -> Graph:
        return self.builder.finish([o._value for o in outputs])  # pyright: ignore[reportPrivateUsage]


def bind(oracle: SlangOracle, alias: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Positional and named arguments in the order of the input parameters.

    Raises:
        ArgumentError: for an unknown, doubled or missing argument.
    """
    if not kwargs:
        return list(args)
    errors: list[ArgumentError] = []
    for signature in oracle.declared(alias, function):
        names = [p.name for p in signature.params if p.direction != OUT]
        unknown = [k for k in kwargs if k not in names]
        doubled = [k for k in kwargs if k in names[: len(args)]]
        wanted = names[len(args) :]
        filled = [n for n in wanted if n in kwargs]
        holes = wanted[: wanted.index(filled[-1]) + 1] if filled else []
        missing = [n for n in holes if n not in kwargs]
        if unknown:
            errors.append(ArgumentError(f"{function}() has no parameter {unknown[0]!r}", hint=did_you_mean(unknown[0], names)))
        elif doubled:
            errors.append(ArgumentError(f"{function}() got {doubled[0]!r} twice", hint="pass it by position or by name"))
        elif missing:
            errors.append(ArgumentError(f"{function}() misses the argument {missing[0]!r}", hint=f"pass {missing[0]}=…"))
        else:
            return [*args, *(kwargs[n] for n in filled)]
    raise errors[0].at(user_line())


class Traced:
    """A value inside a trace. Operators, `fusepy`'s math functions, members and Slang functions record what becomes of it."""

    __slots__ = ("_loc", "_trace", "_value")
    __hash__ = object.__hash__

    def __init__(self, trace: Trace, value: Value, loc: str | None):
        self._trace = trace
        self._value = value
        self._loc = loc

    @property
    def type(self) -> Type:
        """The Slang type of one element."""
        return self._value.type

    def check(self, trace: Trace) -> None:
        """Raises `LeakedTracerError` unless this value belongs to `trace` and that is still recorded."""
        if not self._trace.active or self._trace is not trace:
            raise leaked(self)

    def _record(self, op: str, *operands: Any, **attrs: Attr) -> Traced:
        self.check(self._trace)
        return self._trace.record(op, operands, attrs)

    def _fusepy_cast(self, type: Type) -> Traced:
        trace = self._trace
        map = ArgMap(trace.maps.get(self._value, UNSAID).dims, type)
        self.check(trace)
        loc = user_line()
        return Traced(trace, trace.builder.add(OPS["cast"], [self._value], [map], {"type": type.name}, loc)[0], loc)

    def __getattr__(self, name: str) -> Traced:
        if name.startswith("_"):  # protocols that look for special methods must not record a member
            raise AttributeError(name)
        return self._record("member", self, name=name)

    def __getitem__(self, index: Any) -> Traced:
        if isinstance(index, (slice, tuple)) or index is Ellipsis:
            raise TraceError(
                "a traced value cannot be sliced",
                place=user_line(),
                hint="index its components with integers or swizzles; slice arrays before the call",
            )
        if isinstance(index, int) and self.type.kind in (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY):
            extent = self.type.shape[0]
            if not -extent <= index < extent:
                raise TraceError(
                    f"index {index} of a {self.type}", place=user_line(), expected=f"below {extent}", hint="mind the size"
                )
            index %= extent
        return self._record("index", self, index)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Traced:
        """Operators between arrays and traced values come this way; other NumPy functions have no traced form."""
        name = _UFUNCS.get(ufunc.__name__)
        if name is None or method != "__call__" or kwargs:
            self._refuse(f"numpy.{ufunc.__name__}()", "use fusepy's function of that meaning, e.g. fusepy.sin, or a Slang function")
        return self._record(name, *inputs)

    def _refuse(self, what: str, hint: str) -> NoReturn:
        raise TraceError(f"{what} of a traced {self.type}", place=user_line(), saw=f"made at {self._loc}", hint=hint)

    def __bool__(self) -> bool:
        self._refuse(
            "the truth",
            "use fusepy.where(condition, a, b), or a Slang function for the branch; its value is known on the device only",
        )

    def __float__(self) -> float:
        self._refuse("float()", "a traced value has no number yet; use vcast(value, 'float') to convert it")

    def __int__(self) -> int:
        self._refuse("int()", "a traced value has no number yet; use vcast(value, 'int') to convert it")

    __index__ = __int__

    def __iter__(self) -> Iterator[Traced]:
        if self.type.kind is Kind.VECTOR:  # the components of a vector are known; the elements of a tensor are not
            return iter([self[i] for i in range(self.type.shape[0])])
        self._refuse("iteration", "call Slang functions on the whole value; a loop over elements is what the grid does")

    def __len__(self) -> int:
        if self.type.shape:
            return self.type.shape[0]
        self._refuse("len()", "sizes are known when the function runs, not while it is traced")

    def __repr__(self) -> str:
        return f"Traced({self.type}, made at {self._loc})"


def leaked(value: Traced) -> LeakedTracerError:
    """The error for a value that has outlived its trace."""
    return LeakedTracerError(
        "a traced value is used outside of the call that made it",
        place=user_line(),
        saw=f"{value.type} made at {value._loc or 'an unknown line'}",  # pyright: ignore[reportPrivateUsage]
        hint="return it from the fused function instead of keeping it",
    )


def _forward(op: str) -> Callable[[Traced, Any], Traced]:
    return lambda self, other: self._record(op, self, other)  # pyright: ignore[reportPrivateUsage]


def _backward(op: str) -> Callable[[Traced, Any], Traced]:
    return lambda self, other: self._record(op, other, self)  # pyright: ignore[reportPrivateUsage]


def _unary(op: str) -> Callable[[Traced], Traced]:
    return lambda self: self._record(op, self)  # pyright: ignore[reportPrivateUsage]


_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod", "pow": "pow",
    "matmul": "matmul", "and": "bitand", "or": "bitor", "xor": "bitxor", "lshift": "shl", "rshift": "shr",
}  # fmt: skip
_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floordiv", "remainder": "mod",
    "power": "pow", "matmul": "matmul", "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor",
    "left_shift": "shl", "right_shift": "shr", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "equal": "eq", "not_equal": "ne",
}  # fmt: skip
for _name, _op in _BINARY.items():
    setattr(Traced, f"__{_name}__", _forward(_op))
    setattr(Traced, f"__r{_name}__", _backward(_op))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Traced, f"__{_name}__", _forward(_name))
for _name, _op in (("neg", "neg"), ("invert", "invert"), ("abs", "abs")):
    setattr(Traced, f"__{_name}__", _unary(_op))
setattr(Traced, "__pos__", lambda self: self)  # noqa: B010


_tracing: ContextVar[tuple[Any, ...]] = ContextVar("fusepy_tracing", default=())


@contextmanager
def entered(function: Any, name: str) -> Iterator[None]:
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
