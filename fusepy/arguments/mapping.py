"""Mappings from the axes of an argument to the grid: `vmap`, `vcast`, `vdim`, and `vmapping` for `declare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np

from fusepy.arguments.field_tensor import without_fields
from fusepy.arguments.mapped import Mapped, Taken
from fusepy.arguments.spelled import type_of
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.structs import as_structs, holds_numbers, holds_structs
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap, check_dims
from fusepy.ir.types import Kind, Type
from fusepy.pytree import Container, container_of, register

AS_A_WHOLE = (Kind.ARRAY, Kind.WHOLE, Kind.POINTER, Kind.RESOURCE)  # types that take an array without converting it


def _said_again(like: Mapped, parts: Mapping[str, Any]) -> Any:
    """Returns another value under the mapping of `like`; a traced value records the conversion."""
    inner, map = parts["value"], like.map
    if map.type is not None and map.type.kind is Kind.NAMED:  # the call knows the struct
        return Mapped(inner, map)
    inner = inner if map.type is None else vcast(inner, map.type)
    return inner if map.dims is None else vmap(inner, map.dims)


register(Mapped, Container(lambda mapped: {"value": mapped.value}, _said_again))


def vmap(value: Any, dims: int | Sequence[int] = (), *more: int, **of_jax: Any) -> Any:
    """Maps the leading axes of `value` to these grid dimensions; the element type is inferred.

    Args:
        dims: one grid dimension per leading axis; trailing axes are left to the parameter's type.

    Raises:
        ArgumentError: for dimensions that are no tuple; for a function: calls run for every element without it, unlike in JAX.
        ShapeError: for a negative or repeated dimension.

    Example:
        >>> vmap([1.0, 2.0], (0,))
        [1.0, 2.0] vmap(d0)
    """
    if of_jax or isinstance(value, FunctionType) or hasattr(cast("object", value).__class__, "append_to"):
        raise ArgumentError(
            "fusepy.vmap maps the axes of an argument; it takes no function, as JAX's and torch's do",
            saw=", ".join([getattr(value, "__name__", type(value).__name__), *(f"{k}=" for k in of_jax)]),
            hint="write fp.fuse(f)(x), which runs for every element; fp.vmap(x, (1, 0)) says along which dimensions",
        )
    if more:
        raise ArgumentError(
            "vmap() takes all dimensions as one argument", saw=(dims, *more), hint=f"write fp.vmap(x, {(dims, *more)})"
        )
    checked = check_dims(_listed(dims))
    inner, map = _unwrap(value)
    if map.dims is not None:
        raise ShapeError("a value is mapped twice", saw=f"{map} and {checked}", hint="write one vmap")
    return without_fields(Mapped(inner, ArgMap(checked, map.type)))


def vcast(value: Any, type: Any) -> Any:
    """Takes `value` as elements of `type`; the mapping is inferred.

    A tensor of scalars gives its trailing axes to a vector or matrix; otherwise components are converted, as in C. Cast to a
    struct, an array of numbers is read as an array of structs: ``(N, 6)``, ``(N, 2, 3)`` or ``(N*6,)`` floats are N rays of two
    float3. On a traced value the conversion is recorded.

    Args:
        type: a type of a module (``m.float3``), a `Type`, or its name; or a NumPy dtype or its name.

    Raises:
        UnsupportedArgumentError: if `value` cannot become `type`; mostly raised by the call.

    Example:
        >>> vcast(0.5, "half")
        0.5 vcast(half)
    """
    target = type_of(type)
    cast = getattr(value, "_fusepy_cast", None)
    # a traced value records a conversion; a cast to its own type, or to a whole array, belongs to one use of it
    if cast is not None and target.kind not in AS_A_WHOLE:
        known = value.type is target and not isinstance(value, Taken)
        return Taken(value, ArgMap(None, target)) if known else cast(target, type)._fusepy_element()
    inner, map = _unwrap(value)
    if map.type is not None:
        raise ShapeError("a value is cast twice", saw=f"{map.type} and {target}", hint="write one vcast")
    if target.kind is Kind.NAMED and holds_structs(inner):
        element = getattr(type, "element", None)
        if not isinstance(element, Element):
            raise ArgumentError(
                f"vcast to {target} needs the struct itself", saw=repr(type), hint=f"pass the type of a module: m.{target}"
            )
        return Mapped(as_structs(inner, element), ArgMap(map.dims, target))
    return without_fields(Mapped(inner, ArgMap(map.dims, target)))


def vdim(value: Any, count: int) -> Any:
    """Maps the first `count` axes: ``vmap(value, (0, 1, …, count - 1))``.

    Example:
        >>> vdim([1.0], 1)
        [1.0] vmap(d0)
    """
    return vmap(value, tuple(range(count)))


def vmapping(*dims: int | Sequence[int]) -> ArgMap:
    """Returns a mapping for `declare`: ``vmapping(0, 1)`` and ``vmapping((0, 1))`` are the same.

    Example:
        >>> print(vmapping(0, 1))
        vmap(d0,d1)
    """
    return ArgMap(check_dims(tuple(d for dim in dims for d in _listed(dim)), "vmapping"))


def _listed(dims: Any) -> tuple[Any, ...]:
    """Returns dimensions as a tuple, also for a single number."""
    array = bool(getattr(dims, "ndim", 0))
    listed = isinstance(dims, Sequence) and not isinstance(dims, (str, bytes))
    return tuple(cast("Sequence[Any]", dims)) if array or listed else (cast("Any", dims),)


def spec_of(spec: Any) -> ArgMap | None:
    """Returns one argument of `declare` as a mapping; ``None`` means one value for all threads.

    Raises:
        ArgumentError: for anything else.
    """
    if spec is None or isinstance(spec, ArgMap):
        return spec
    if isinstance(spec, (int, tuple, list)):
        raise ArgumentError(
            "declare() takes mappings and types", saw=repr(cast("Any", spec)), hint=f"write vmapping({cast('Any', spec)!r})"
        )
    return ArgMap(None, type_of(spec))


def is_struct(spec: Any) -> bool:
    """True if a spec of `declare` is a struct of a module. Arrays of numbers can be read as its elements."""
    type = getattr(spec, "type", None)
    return isinstance(type, Type) and type.kind is Kind.NAMED and type.optional is None and hasattr(spec, "module")


def cast_numbers(value: Any, struct: Any) -> Any:
    """Casts an array of numbers to elements of a struct; returns any other value as it is."""
    return vcast(value, struct) if holds_numbers(value) else value


def plain_spec(spec: Any) -> Any:
    """Returns one argument of `map` as an argument of `declare`: dimensions become a mapping, ``None`` says nothing."""
    if spec is None:
        return UNSAID
    return vmapping(cast("Any", spec)) if isinstance(spec, (int, tuple, list)) else spec


def _unwrap(value: Any) -> tuple[Any, ArgMap]:
    return (value.value, value.map) if isinstance(value, Mapped) else (value, ArgMap())


class PackedArg:
    """A snapshot of an argument, made by `pack`."""

    __slots__ = ("_value",)

    def __init__(self, value: Any):
        self._value = _snapshot(value)

    def get_this(self) -> Any:
        """Returns the argument that it stands for."""
        return self._value


def pack(module: Any, value: Any) -> PackedArg:
    """Returns an argument that stands for `value` as it is now, as in slangpy. Tensors and textures are kept by reference.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_pack", "float twice(float x) { return 2 * x; }")
        >>> numbers = [1.0, 2.0]
        >>> packed = fp.pack(m, numbers)
        >>> numbers[0] = 5.0
        >>> m.twice(packed)
        [2.0, 4.0]
    """
    return PackedArg(value)


def _snapshot(value: Any) -> Any:
    if value.__class__ is np.ndarray:
        return value.copy()
    if isinstance(value, (dict, list, tuple)):
        container = container_of(cast("Any", value))
        assert container is not None
        return container.rebuild(value, {k: _snapshot(v) for k, v in container.parts(value).items()})
    return value
