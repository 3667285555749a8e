"""Constructors of Slang's vectors and matrices: ``fusepy.float2(u, v)``.

Numbers make slangpy's object of that name; traced values record Slang's constructor.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import slangpy as spy

from fusepy.errors import ArgumentError
from fusepy.functions.fused import FusedFunction
from fusepy.functions.nodes import GraphValue, Use
from fusepy.ir.ranges import check_range
from fusepy.ir.types import BOOL, Kind, Type
from fusepy.location import user_line
from fusepy.pytree import LEAF
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

_SCALARS = ("float", "int", "uint", "half", "double", "bool")
_SLANGPY = {"half": "float16_t"}  # slangpy's name of the scalar


class Constructor(type):
    """The class of ``fusepy.float3`` and its like. It equals slangpy's class of that name, and makes its instances.

    Attributes:
        type: the Slang type.
        made: slangpy's class; ``None`` if there is none, then NumPy arrays are made.
    """

    type: Type
    made: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        args = tuple(map(_plain, args))
        given = (*args, *kwargs.values())
        if any(isinstance(a, Traced) for a in given) or ((cls.made is None or not _of_slangpy(given)) and current_trace()):
            if kwargs:
                raise ArgumentError(
                    f"{cls.__name__} takes its components by position where they are traced",
                    saw=", ".join(kwargs),
                    hint=f"write {cls.__name__}(x, y, …)",
                )
            return recorded(cls.type, args)
        if not kwargs and not _of_slangpy(args) and (made := of_arrays(cls.type, args)) is not None:
            return made
        if cls.made is None:
            return numbers_as(cls.type, args)
        try:
            return cls.made(*args, **kwargs)
        except TypeError:  # raised by slangpy's binding
            pass
        if kwargs:
            raise _no_numbers(cls.type, given)
        numbers_as(cls.type, given)  # raises a better error for wrong numbers
        raise ArgumentError(
            f"slangpy makes no {cls.__name__} of {len(given)} numbers",
            hint="give True or False for each component" if cls.type.scalar is BOOL else "pass the components as one list",
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.made is not None and isinstance(instance, cls.made)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return cls.made is not None and issubclass(subclass, cls.made)

    def __getattr__(cls, name: str) -> Any:  # static methods of slangpy's class, such as `float4x4.identity`
        if name.startswith("_") or cls.made is None:
            raise AttributeError(f"{cls.__name__} has no attribute {name!r}")
        return getattr(cls.made, name)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls.made is not None and cls.made is other)

    def __hash__(cls) -> int:
        return type.__hash__(cls) if cls.made is None else hash(cls.made)

    def __repr__(cls) -> str:
        return f"<Slang type {cls.type}>" if cls.made is None else repr(cls.made)


def recorded(type: Type, args: Sequence[Any]) -> Traced:
    """Records a value of `type` in a trace, from traced values, arrays and numbers; one number fills every component of a vector.

    Raises:
        LeakedTracerError: for a value of a trace that has ended.
        TraceError: if the components do not add up.
        ArgumentError: for a Python float as an integer.
    """
    first = next((a for a in args if isinstance(a, Traced)), None)
    trace = current_trace() if first is None else first._recorder  # pyright: ignore[reportPrivateUsage]
    assert trace is not None, "what is not traced comes here in a trace only"
    values = [trace.operand(a, "captured", user_line())[0] for a in args]
    if not type.is_float and any(v.weak and v.type.is_float for v in values):
        hint = f"convert it, with fp.vcast(number, '{type.scalar}')"
        raise ArgumentError(f"{type}() would cut a float", place=user_line(), saw="a Python float", hint=hint)
    if not type.shape:
        return trace.record("cast", args, {"type": type.name})
    if len(args) == 1 and type.kind is Kind.VECTOR and values[0].type.kind is Kind.SCALAR:
        args = [args[0]] * type.shape[0]
    named = {"named": True} if all(v.weak for v in values) else {}
    made = trace.record("construct", args, {"type": type.name, **named})
    # call by call this is slangpy's object, which is a vector, or an array of numbers where slangpy has no such class
    trace.plain.name(made._value, class_of(type) is not None)  # pyright: ignore[reportPrivateUsage]
    return made


def of_arrays(type: Type, args: Sequence[Any]) -> Any:
    """Returns values of `type` made of arrays of components, or the node of values of a graph; ``None`` without these."""
    if any(isinstance(a, GraphValue) for a in args):
        return Use(_of_components(type), str(type), args, {}, user_line()).returning(LEAF)
    return _of_components(type)(*args) if any(getattr(a, "ndim", 0) for a in args) else None


@functools.cache
def _of_components(type: Type) -> FusedFunction:
    """Returns the constructor of a type as a function of arrays."""

    def made(*parts: Any) -> Traced:
        return recorded(type, parts)

    made.__name__ = str(type)
    return FusedFunction(made)


def numbers_as(type: Type, args: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Makes one value of Python or NumPy numbers, as an array of its components.

    Raises:
        ArgumentError, RangeError: if an argument is no number or does not fit, or if there are too few.
    """
    args = tuple(map(_plain, args))
    if not all(isinstance(a, (bool, int, float)) for a in args) or len(args) not in (1, math.prod(type.shape)):
        raise _no_numbers(type, args)
    for value in args:
        if isinstance(value, float) and not type.is_float:
            raise ArgumentError(f"{type}({value}) would cut a float", hint="round it first")
        check_range(value, type, f"{type}({value})")
    return np.resize(np.asarray(args, type.dtype), type.shape)


def of_numbers(type: Type, args: Sequence[Any]) -> Any:
    """Makes one value of numbers: slangpy's object where there is one, which is a vector in the next call, else an array.

    Raises:
        ArgumentError, RangeError: see `numbers_as`.
    """
    array = numbers_as(type, args)
    made = class_of(type)
    return array if made is None else made(array if type.kind is Kind.MATRIX else array.tolist())


def class_of(type: Type) -> Any:
    """Returns slangpy's class of a type; ``None`` where arrays take its place."""
    return getattr(CONSTRUCTORS.get(type.name), "made", None)


def _no_numbers(type: Type, args: Sequence[Any]) -> ArgumentError:
    return ArgumentError(
        f"{type}() outside of a fused function takes {math.prod(type.shape)} numbers",
        saw=", ".join(a.__class__.__name__ for a in args) or "nothing",
        hint="give one number, or one array or number for each component",
    )


def _plain(value: Any) -> Any:
    """Converts a NumPy number to a Python number."""
    return cast("Any", value).item() if isinstance(value, (np.number, np.bool_)) else value


def _of_slangpy(args: Sequence[Any]) -> bool:
    """True if slangpy's class takes these arguments: numbers, its own vectors and matrices, or one sequence of numbers."""
    if len(args) == 1 and isinstance(args[0], (list, tuple, np.ndarray)):
        return True
    return all(isinstance(a, (bool, int, float)) or a.__class__.__module__.startswith("slangpy") for a in args)


def _names() -> list[str]:
    """Returns the names of all vectors and matrices that have a short name in Slang."""
    matrices = [f"{rows}x{cols}" for rows in range(2, 5) for cols in range(2, 5)]
    return [f"{scalar}{size}" for scalar in _SCALARS for size in (*"1234", *(matrices if scalar != "bool" else ()))]


def _constructor(name: str, made: Any) -> Constructor:
    doc = f"Slang's {name}: {'a NumPy array' if made is None else 'an object of slangpy'} of numbers, or a traced value."
    found = Constructor(name, (), {"__module__": "fusepy", "__doc__": doc})
    found.type, found.made = Type.parse(name), made
    return found


def _all() -> dict[str, Constructor]:
    found: dict[str, Constructor] = {}
    for name in _names():
        scalar = name.rstrip("1234x")
        theirs = _SLANGPY.get(scalar, scalar) + name[len(scalar) :]
        found[name] = _constructor(name, getattr(spy.math, theirs, None))
        if theirs != name:
            found[theirs] = found[name]
    return found


CONSTRUCTORS = _all()
