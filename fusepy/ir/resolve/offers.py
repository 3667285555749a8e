"""`Offer`: a type in which an operand can be passed to Slang; and all offers of a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.narrowing import narrowed
from fusepy.ir.oracle import Oracle, Param, enum_scalar
from fusepy.ir.resources import casts_texel, natural, sees, takes
from fusepy.ir.types import Kind, Type, pair_of
from fusepy.ir.value import Value, is_open, is_stored
from fusepy.ir.whole import candidates, holds


@dataclass(frozen=True)
class Offer:
    """One way to pass an operand: a type, and the number of trailing axes that it consumes."""

    type: Type
    consumed: int
    cast: bool = False  # the user wrote vcast: conversion is wanted


def offers_of(value: Value, map: ArgMap, function: str, name: str, place: str | None, oracle: Oracle) -> Iterator[Offer]:
    """Returns the offers of `value` under the user's vmap and vcast."""
    if map.dims is not None and len(map.dims) > value.rank:
        raise ShapeError(
            f"{function}: argument {name!r}: vmap names {len(map.dims)} axes of a value with {value.rank}",
            place=place,
            saw=f"rank {value.rank}",
            hint="name one grid dimension per leading axis of the value",
        )
    if map.type is not None:
        offers = list(cast_offers(value, map.type, oracle))
        if not offers:
            raise UnsupportedArgumentError(
                f"{function}: argument {name!r}: {describe(value)} cannot be cast to {map.type}",
                place=place,
                saw=describe(value),
                expected=map.type,
                hint="vcast takes trailing axes into a vector, or converts between scalars or vectors of one length",
            )
    else:
        offers = list(_plain_offers(value))
    return fitting(offers, value, map)


def fitting(offers: Iterable[Offer], value: Value, map: ArgMap) -> Iterator[Offer]:
    """Returns the offers that consume exactly the axes that vmap leaves over."""
    return (o for o in offers if map.dims is None or o.consumed == value.rank - len(map.dims))


def _plain_offers(value: Value) -> Iterator[Offer]:
    offers = list(_value_offers(value))
    yield from offers
    if value.arrival.paired:  # a tensor with gradients: also as pairs of value and gradient
        yield from (Offer(Type.pair(o.type), o.consumed) for o in offers)


def _value_offers(value: Value) -> Iterator[Offer]:
    yield Offer(value.type, 0)
    if value.arrival.plain or value.type.kind is not Kind.SCALAR:
        return
    if is_open(value):
        yield from (Offer(Type.vector(value.type, n), 0) for n in range(2, 5))
    *_, rows, cols = (None, None, *value.dims)
    if cols is not None and cols > 1:  # a vector of one is its element
        yield Offer(Type.vector(value.type, cols), 1)
        if rows is not None:
            yield Offer(Type.matrix(value.type, rows, cols), 2)


def cast_offers(value: Value, want: Type, oracle: Oracle) -> Iterator[Offer]:
    """Yields the offers of `value` under ``vcast(value, want)``."""
    have = value.type
    inner = pair_of(want)
    if inner is not None and value.arrival.paired:
        yield from (replace(o, type=want) for o in cast_offers(value, inner, oracle))
    elif have is want or (value.arrival.texels and casts_texel(have, want)):
        yield Offer(want, 0, cast=True)
    elif have.kind is Kind.SCALAR and want.is_numeric:
        consumed = len(want.shape)
        if not consumed or is_open(value) or (value.arrival.plain and not value.rank):
            yield Offer(want, 0, cast=True)  # a conversion, or one number in every component
        elif value.arrival.memory and value.rank >= consumed:  # coordinates have no axes
            yield Offer(want, consumed, cast=True)
    elif (have.is_numeric and want.is_numeric and have.shape == want.shape) or _through_enum(have, want, oracle):
        yield Offer(want, 0, cast=True)
    else:
        yield from whole_offers(narrowed(value, Param("", want)) if want.kind is Kind.ARRAY else value, want)
        yield from named_offers(value, want, oracle)


def named_offers(value: Value, type: Type, oracle: Oracle) -> Iterator[Offer]:
    """Yields the offers of a Python integer as an enum, and of a value or ``None`` as an ``Optional``."""
    if type.kind is not Kind.NAMED or value.type is type:
        return
    inner = type.optional
    if inner is None:
        fits = value.weak and _is_enum_number(value.type) and enum_scalar(oracle, type) is not None
    else:
        fits = value.arrival.missing or value.type is inner or (value.weak and _converts(value.type, inner))
        fits = fits or any(named_offers(value, inner, oracle))
    if fits:
        yield Offer(type, 0)


def _through_enum(have: Type, want: Type, oracle: Oracle) -> bool:
    """True if one of the types is an enum and the other a scalar that it converts from or to."""
    if _is_enum_number(have):
        return enum_scalar(oracle, want) is not None
    return want.kind is Kind.SCALAR and enum_scalar(oracle, have) is not None


def _is_enum_number(type: Type) -> bool:
    return type.kind is Kind.SCALAR and _is_integer(type)


def _converts(have: Type, want: Type) -> bool:
    """True if a Python number becomes this scalar without losing its fraction."""
    return want.kind is Kind.SCALAR and have.kind is Kind.SCALAR and (want.is_float or not have.is_float)


def whole_offers(value: Value, type: Type, told: bool = False) -> Iterator[Offer]:
    """Yields the offers of a tensor as a pointer, buffer, whole array or fixed array, and of a texture as one object."""
    listed = value.arrival.coordinates and type.kind is Kind.ARRAY and len(type.shape) == 1 and _is_integer(type)
    if listed and (not value.arrival.grid or type.shape == (value.rank,)):
        yield Offer(type, 0)  # coordinates in the order of the dimensions; a vector has the reverse order
    if type.kind is Kind.RESOURCE and takes(value, type):
        yield Offer(type, value.rank)
    address = value.arrival.plain and value.weak and _is_enum_number(value.type)
    if (value.arrival.raw or address) and type.kind is Kind.POINTER:
        yield Offer(type, 0)
    if type.element is None or not (value.arrival.memory or (is_stored(value) and type.kind is Kind.WHOLE)):
        return
    if type.kind is Kind.WHOLE and holds(value, type, told):
        yield Offer(type, value.rank)
    if type.kind is Kind.POINTER:
        if sees(_stored(value, type.element), type.element):
            yield Offer(type, value.rank)
    elif type.kind is Kind.ARRAY:
        axes = type.fills(_stored(value, type))
        if axes is not None and axes <= value.rank:
            yield Offer(type, axes)


def _stored(value: Value, held: Type) -> Type:
    """Returns the element type of `value` in memory that is read as `held`: numbers in a list are converted without loss."""
    scalar = held.scalar
    return scalar if value.weak and scalar is not None and _converts(value.type, scalar) else value.type


def array_offers(value: Value, map: ArgMap, param: Param, libraries: Sequence[str]) -> Iterator[Offer]:
    """Yields the offers of a tensor for all threads, if `param` wants, or could be, a whole array."""
    want = param.type or natural(value)
    if want is not None and want.kind is not Kind.WHOLE:
        if map.type is None:
            yield from whole_offers(value, want)
        return
    for type in [param.type] if param.type is not None else candidates(value, libraries):
        if map.type is None or (map.type is type.element and param.type is not None):
            yield from whole_offers(value, type, told=map.type is None)
    if param.type is None and map.type is None and value.arrival.memory:
        for held in _elements(value):
            for type in (Type.pointer(held), Type.resource("StructuredBuffer", held), Type.resource("RWStructuredBuffer", held)):
                yield from whole_offers(value, type)


def _elements(value: Value) -> Iterator[Type]:
    """Yields the element types that memory of `value` can be read as: its own, or vectors and matrices of the last axes."""
    yield value.type
    *_, rows, columns = (None, None, *value.dims)
    if value.type.kind is Kind.SCALAR and columns is not None and columns > 1:
        yield Type.vector(value.type, columns)
        if rows is not None:
            yield Type.matrix(value.type, rows, columns)


def fixed_offers(value: Value) -> Iterator[Offer]:
    """Yields the last axes as an array, for a generic ``float[N]`` or ``T[2]``, if their extents are known; beyond 4 a `vcast`
    states them."""
    *_, rows, columns = (None, None, *value.dims)
    if not value.arrival.memory or columns is None:
        return
    yield Offer(Type.array(value.type, columns), 1)
    if value.type.kind is Kind.SCALAR and rows is not None and columns > 1:
        yield Offer(Type.array(Type.vector(value.type, columns), rows), 2)


def describe(value: Value) -> str:
    """Returns a value as error messages name it: ``Tensor<float>[?,3]``, ``Python number (float)``, ``float3``."""
    dims = ",".join("?" if d is None else str(d) for d in value.dims)
    if value.arrival.missing:
        return "None"
    if not value.arrival.plain:
        return f"{value.arrival.name}<{value.type}>[{dims}]"
    if value.weak:
        return f"Python number ({value.type})"
    return f"{value.type} over a grid of {value.rank}" if value.rank else str(value.type)


def _is_integer(type: Type) -> bool:
    return type.dtype is not None and type.dtype.kind in "iu"
