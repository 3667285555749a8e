"""`Symbolic`: the base of values that are not computed yet. `TRACING`: the trace that is running."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, NoReturn, cast

from fusepy.errors import FusepyError, TraceError

# Python's binary operators: the names of their methods, and their signs
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
TRACING: ContextVar[Any] = ContextVar("fusepy_trace", default=None)  # the `Trace` of the fused function that runs now


class Symbolic:
    """A value of a trace or of a graph. Its public attributes are members of the Slang value, so these methods are private."""

    __slots__ = ()

    def _axes(self) -> int:
        """Returns the number of axes, as far as it is known."""
        return 0

    def _argument(self) -> str:
        """Returns the name of the parameter, if this is a Python number that was passed as an argument; else ``""``."""
        return ""

    def _misplaced(self) -> FusepyError:
        """Returns the error for a value that is passed where a computed one is needed."""
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self  # values do not change

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __pos__(self) -> Any:
        return self

    def __divmod__(self: Any, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Any) -> tuple[Any, Any]:
        return other // self, other % self


def axes_of(value: Symbolic) -> int:
    """Returns the number of axes of a value, including those that a vcast takes as components."""
    return value._axes()  # pyright: ignore[reportPrivateUsage]  # a public name would hide a member


def misplaced(value: Symbolic) -> FusepyError:
    """Returns the error for a value of a trace or graph that is passed where it cannot be computed."""
    return value._misplaced()  # pyright: ignore[reportPrivateUsage]


def static_hint(values: Iterable[Any], otherwise: str) -> str:
    """Returns the hint where Python numbers are needed: to make an argument among `values` static, if there is one."""
    names = [value._argument() for value in values if isinstance(value, Symbolic)]  # pyright: ignore[reportPrivateUsage]
    name = next(filter(None, names), "")
    return f'write fp.fuse(f, static=["{name}"]): then {name} stays a Python value' if name else otherwise


def holds(value: Any, kinds: type[Any] | tuple[type[Any], ...] = Symbolic) -> bool:
    """True for a list or tuple that contains values of these classes, also in nested lists."""
    return isinstance(value, (list, tuple)) and any(isinstance(v, kinds) or holds(v, kinds) for v in cast("Any", value))


def no_array(value: Any, dtype: Any = None, copy: Any = None) -> NoReturn:
    """Raises `TraceError`, as ``__array__`` of traced and mapped values: else NumPy would make arrays of Python objects."""
    raise TraceError(
        "a NumPy array cannot be made of a traced or mapped value",
        saw=repr(value)[:80],
        hint=static_hint(
            [value], "NumPy computes now: use fusepy's, e.g. fp.where or fp.take(x, i), or leave NumPy's work to before the call"
        ),
    )


class Numberless:
    """A base of `Traced`, `Mapped` and `GraphValue` that refuses the Python operations which need a number."""

    __slots__ = ()

    def _refuse(self, what: str, hint: str) -> FusepyError:
        raise NotImplementedError

    def __hash__(self) -> int:
        raise self._refuse("the hash", "it has no number yet, and is no key of a dict or cache: write fusepy.where(x == key, …)")

    def __float__(self) -> float:
        raise self._refuse("float()", "it has no number yet; use fp.vcast(value, 'float') to convert it, and fp.sin for math.sin")

    def __int__(self) -> int:
        raise self._refuse("int()", "it has no number yet; use fp.vcast(value, 'int') to convert it")

    def __index__(self) -> int:
        hint = "it has no number yet: write fp.fori_loop(0, n, f, start) for a loop of n; for items[i] write fp.take(x, i)"
        raise self._refuse("the integer", hint)

    def __complex__(self) -> complex:
        raise self._refuse("complex()", "Slang has no complex numbers; compute with two values, or a float2")

    def __format__(self, spec: str) -> str:
        if spec:
            raise self._refuse("the digits", "it has no number yet: format what the call returns")
        return repr(self)

    def __round__(self, digits: Any = None) -> NoReturn:
        call = "value" if digits is None else f"value, {digits!r}"
        raise self._refuse("round()", f"use fusepy.round({call}), which gives a float, and fp.vcast(…, 'int') for an integer")

    def __floor__(self) -> NoReturn:
        raise self._refuse("math.floor()", "use fusepy.floor(value), which gives a float, and fp.vcast(…, 'int') for an integer")

    def __ceil__(self) -> NoReturn:
        raise self._refuse("math.ceil()", "use fusepy.ceil(value), which gives a float, and fp.vcast(…, 'int') for an integer")

    def __trunc__(self) -> NoReturn:
        raise self._refuse("math.trunc()", "use fusepy.trunc(value), which gives a float, and fp.vcast(…, 'int') for an integer")

    def __contains__(self, item: Any) -> bool:
        raise self._refuse("the truth of `in`", "write fp.any(value == x), and for a vector (v.x == x) | (v.y == x)")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise self._refuse("an assignment to an element", "values do not change: compute a new one, e.g. by fusepy.where(…)")

    def __delitem__(self, index: Any) -> None:
        raise self._refuse("`del` of an element", "values do not change: slice arrays before the call")

    def __bytes__(self) -> bytes:
        raise self._refuse("bytes()", "it has no contents yet: ask what the call returns")

    def __enter__(self) -> NoReturn:
        raise self._refuse("`with`", "only calls and operators take values")

    def __exit__(self, *error: Any) -> None: ...

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in ("map", "value"):
            raise self._refuse(f"an assignment to .{name}", "values do not change: make a new one, e.g. float3(…) of its parts")
        object.__setattr__(self, name, value)
