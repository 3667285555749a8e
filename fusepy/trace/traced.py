"""`Traced`: a value inside a trace."""

from __future__ import annotations

import dis
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from fusepy.elsewhere import of_traced
from fusepy.errors import FusepyError, LeakedTracerError, TraceError, UnknownNameError
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import is_spread
from fusepy.location import line_in, user_line
from fusepy.methods import FUNCTIONS, METHODS, NUMPYS, no_function, no_modulus, takes, ufunc_function
from fusepy.symbolic import SIGNS, Numberless, Symbolic, no_array, static_hint
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.writes.aliases import check_written, fresh, is_view, overwrite, viewed

# what Python asks of numbers
_OF_NUMBERS = ("float()", "int()", "the integer", "the truth", "the truth of `in`", "the digits", "the hash")
MOST_ROWS = 64  # that Python may go through: each is recorded by itself


class Traced(Numberless, Symbolic):
    """A value inside a trace. Its operators and members, `fusepy`'s math functions and Slang functions record nodes."""

    __slots__ = ("_begun", "_loc", "_of", "_trace", "_value", "_written")
    __hash__ = Numberless.__hash__

    def __init__(self, trace: OpenTrace, value: Value, loc: str | None):
        self._trace, self._value = trace, value
        self._loc = loc
        object.__setattr__(self, "_begun", trace.moves.count)
        object.__setattr__(self, "_of", None)
        object.__setattr__(self, "_written", ())

    @property
    def type(self) -> Type:
        """The Slang type of one element."""
        said = self._trace.maps.get(self._value)  # an argument under vcast gets its type on first use
        return said.type if said is not None and said.type is not None else self._value.type

    @property
    def rank(self) -> int:
        """The number of axes, without those that a vcast takes as components."""
        said = self._trace.maps.get(self._value)
        return self._value.rank if said is None or said.dims is None else len(said.dims)

    @property
    def is_weak(self) -> bool:
        """True for a Python number, for results of operators on such numbers, and for vectors of them."""
        return self._value.weak or self._value.arrival.named

    def _axes(self) -> int:
        return self._value.rank

    def _argument(self) -> str:
        value, name, made = self._value, self._value.name or "", self._trace.moves.numbers.values()
        return name if value.weak and not (self._trace.body or "." in name or value in made) else ""

    def _misplaced(self) -> LeakedTracerError:
        return leaked(self)  # no trace is active here

    def check(self, trace: OpenTrace) -> None:
        """Raises `LeakedTracerError` unless `trace`, or a trace around it, has made this value and is still active."""
        if not self._trace.active or self._trace not in trace.chain:
            raise leaked(self)
        if self._of or self._written:
            check_written(self)

    @property
    def _recorder(self) -> OpenTrace:
        """The trace that records operations on this value: the innermost body inside its own trace."""
        trace = self._trace.innermost()
        self.check(trace)
        return trace

    def _record(self, op: str, *operands: Any, **attrs: Attr) -> Traced:
        return self._recorder.record(op, operands, attrs)

    def _fusepy_element(self) -> TracedElement:
        self._trace.told.add(self._value)
        return TracedElement(self._trace, self._value, self._loc)

    def _fusepy_cast(self, type: Type, spec: Any = None) -> Traced:
        trace, loc = self._recorder, user_line()
        if type.kind is Kind.NAMED:  # an array of numbers, read as an array of structs
            seen = trace.as_structs(trace.lift(self), type, spec)
            if seen is not None:
                return Traced(trace, seen, loc)
        return Traced(trace, trace.recast(trace.lift(self), type, loc), loc)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python looks up special methods: these are no members
            raise AttributeError(f"'Traced' object has no attribute {name!r}")
        return self._fusepy_member(name, self)

    def _fusepy_member(self, name: str, of: Any) -> Any:
        """Returns a method of this value's type, or records a member of `of`: this value, or its vcast."""
        trace = self._recorder
        apart = self.type.kind is Kind.NAMED and trace.has_member(self, name)  # a field or method goes first
        found = None if apart else trace.array_member(self, name)
        if found is not None:
            return viewed(self, found) if name == "T" else found
        if name in METHODS and not self._recorder.has_member(self, name):
            return functools.partial(FUNCTIONS[name], of)
        if name not in METHODS and self.type.kind is not Kind.NAMED and (hint := of_traced(name)) is not None:
            raise UnknownNameError(f"a traced value has no .{name}", saw=f"{self.type} made at {self._loc}", hint=hint)
        method = self._recorder.method(self, name)
        return viewed(self, self._record("member", of, name=name), name) if method is None else method

    def __getitem__(self, index: Any) -> Traced:
        if isinstance(index, str):  # as of tensors of structs, structured arrays and dicts
            return viewed(self, self._record("member", self, name=index), index)
        made = self._recorder.part(self, index) if self._is_element() else self._fusepy_along(index)
        return viewed(self, made, index) if is_view(index) else made

    def _fusepy_along(self, index: Any) -> Traced:
        trace, loc, value = self._recorder, user_line(), self._recorder.lift(self)
        if not value.rank and not value.type.shape:
            trace.refuse_part(value, "an index of an array")  # that a loop carries
        return Traced(trace, trace.indexed(trace.plain.array(value, loc), index), loc)

    def _is_element(self) -> bool:
        """True for a value whose index is a component: one without axes, of a generator, or that its vmap or vcast makes one."""
        if self.type.kind not in (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY) or self._recorder.plain.holds(self._value):
            return False
        return not self._value.rank or self._value.arrival.placed or self._value in self._trace.maps

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Records operators between arrays and traced values, and fusepy's functions of NumPy's names; NumPy calls it."""
        self.check(self._recorder)
        return ufunc_function(ufunc, method, kwargs)(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Records fusepy's function of the same name; raises an error if there is none."""
        self.check(self._recorder)
        mine = NUMPYS.get(function.__name__)
        if mine is None or not takes(mine, args, kwargs):
            raise no_function(function.__name__, mine is not None)
        return mine(*args, **kwargs)

    def _refuse(self, what: str, hint: str) -> TraceError:
        if not self._trace.active:
            return leaked(self)
        hint = static_hint([self], hint) if what in _OF_NUMBERS else hint
        return TraceError(f"{what} of a traced {self.type}", saw=self._loc and f"made at {self._loc}", hint=hint)

    def __bool__(self) -> bool:
        raise self._refuse(
            "the truth",
            "use fusepy.where(condition, a, b), or fusepy.cond and fusepy.while_loop for branches and loops; its value is known"
            " on the device only",
        )

    def __iter__(self) -> Iterator[Traced]:
        if self._is_element():
            return iter([self[i] for i in range(self.type.shape[0])])
        if self._value.rank and not self._trace.body and not is_spread(self._value) and self.shape[0] <= MOST_ROWS:
            return iter([viewed(self, self[i, ...], i) for i in range(self.shape[0])])
        raise self._refuse("iteration", f"call functions on the whole value; up to {MOST_ROWS} rows are recorded one by one")

    def __pos__(self) -> Traced:  # a copy, as of arrays
        trace = self._recorder  # of a body, if it is copied there
        return fresh(self.__class__(trace, self._value if trace is self._trace else trace.lift(self), self._loc))

    __copy__ = __pos__

    def __len__(self) -> int:
        if self._is_element():
            return self.type.shape[0]
        return self.shape[0] if self._value.rank else _no_length(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        if not self._trace.active:
            raise leaked(self)
        no_array(self)

    def __repr__(self) -> str:
        return f"Traced({self.type}, made at {self._loc})" if self._loc else f"Traced({self.type})"


class TracedElement(Traced):
    """A traced value under a vcast: a vector or matrix for each thread, whose indices are components."""

    __slots__ = ()

    def _is_element(self) -> bool:
        return self.type.kind in (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY)


def _no_length(value: Traced) -> NoReturn:
    value._trace.refuse_part(value._value, "len()")  # pyright: ignore[reportPrivateUsage]
    raise value._refuse("len()", "it is one number, without axes: write 1")  # pyright: ignore[reportPrivateUsage]


def leaked(value: Traced) -> LeakedTracerError:
    """Returns the error for a value that is used after its trace has ended."""
    body = value._trace.body  # pyright: ignore[reportPrivateUsage]
    return LeakedTracerError(
        f"a traced value is used outside of the {f'body of the {body}' if body else 'call'} that made it",
        saw=f"{value.type} made at {value._loc or 'an unknown line'}",  # pyright: ignore[reportPrivateUsage]
        hint=f"return it from the {'body' if body else 'fused function'} instead of keeping it",
    )


def misused(error: Exception) -> FusepyError | None:
    """Translates errors of Python, NumPy or torch about a traced or mapped value; ``None`` for any other error."""
    if isinstance(error.__cause__, FusepyError) and "array element" in str(error):  # NumPy wraps the error
        return error.__cause__
    inner = error.__traceback__
    while inner is not None and inner.tb_next is not None:
        inner = inner.tb_next
    raised = inner is not None and inner.tb_frame.f_code.co_code[inner.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    # a raised message may contain the repr of a value, which is no complaint about its type
    named = re.search(r"\b(Traced|Mapped|Taken)\b" + (r"(?!\()" if raised else ""), str(error))
    if named is None:
        return None
    kind = UnknownNameError if isinstance(error, AttributeError) else TraceError
    value = "mapped" if named[1] == "Mapped" else "traced"
    return kind(
        f"a {value} value is used as something else: {str(error).splitlines()[0]}",
        place=line_in(error.__traceback__),
        hint="it has no number yet: use operators, fusepy's and Slang functions, or do this outside of the fused function",
    )


def _forward(op: str) -> Callable[..., Traced]:
    def record(self: Traced, other: Any, modulus: Any = None) -> Traced:
        if modulus is not None:
            raise no_modulus(self)
        if other is None:
            raise TraceError(
                f"operator {getattr(OPS[op], 'symbol', op)} with None", hint="ask `x is None`; operators take values"
            )
        return self._record(op, self, other)  # pyright: ignore[reportPrivateUsage]

    return record


def _backward(op: str) -> Callable[[Traced, Any], Traced]:
    return lambda self, other: self._record(op, other, self)  # pyright: ignore[reportPrivateUsage]


def _in_place(op: str, sign: str) -> Callable[[Traced, Any], Traced]:
    def record(self: Traced, other: Any) -> Traced:
        made = _forward(op)(self, other)
        overwrite(self, made, sign)
        return made

    return record


def _unary(op: str) -> Callable[[Traced], Traced]:
    return lambda self: self._record(op, self)  # pyright: ignore[reportPrivateUsage]


BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod", "pow": "pow",
    "matmul": "matmul", "and": "bitand", "or": "bitor", "xor": "bitxor", "lshift": "shl", "rshift": "shr",
}  # fmt: skip
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY = {"neg": "neg", "invert": "invert", "abs": "abs"}
for _name, _op in BINARY.items():
    setattr(Traced, f"__{_name}__", _forward(_op))
    setattr(Traced, f"__r{_name}__", _backward(_op))
    setattr(Traced, f"__i{_name}__", _in_place(_op, SIGNS[_name]))
for _name in COMPARISONS:
    setattr(Traced, f"__{_name}__", _forward(_name))
for _name, _op in UNARY.items():
    setattr(Traced, f"__{_name}__", _unary(_op))
