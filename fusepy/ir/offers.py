"""What an operand can be presented as to Slang, and when an answer counts as exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.oracle import INOUT, OUT, Oracle, Param, Signature
from fusepy.ir.types import Kind, Type


@dataclass(frozen=True)
class Offer:
    """One way to present an operand: the type asked for, and how many trailing axes that type consumes."""

    type: Type
    consumed: int
    cast: bool = False  # the user said vcast: conversion is wanted


def fill(signature: Signature, count: int) -> tuple[Param, ...] | None:
    """The leading parameters that `count` arguments fill, outputs in between and after them included.

    ``None`` if there are more arguments than inputs. Parameters left over need defaults, which only Slang knows.
    """
    taken: list[Param] = []
    left = count
    for param in signature.params:
        if param.direction != OUT:
            if left == 0:
                break
            left -= 1
        taken.append(param)
    return None if left else tuple(taken)


def offers_of(value: Value, map: ArgMap, function: str, name: str, place: str | None) -> Iterator[Offer]:
    """What `value` can be presented as, given what the user said with vmap and vcast."""
    if map.dims is not None and len(map.dims) > value.rank:
        raise ShapeError(
            f"{function}: argument {name!r}: vmap names {len(map.dims)} axes of a value with {value.rank}",
            place=place,
            saw=f"rank {value.rank}",
            hint="name one grid dimension per leading axis of the value",
        )
    if map.type is not None:
        offers = list(_cast_offers(value, map.type))
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
    """The offers that consume just the axes that vmap leaves over."""
    return (o for o in offers if map.dims is None or o.consumed == value.rank - len(map.dims))


def _plain_offers(value: Value) -> Iterator[Offer]:
    yield Offer(value.type, 0)
    if not value.container or value.type.kind is not Kind.SCALAR:
        return
    *_, rows, cols = (None, None, *value.dims)
    if cols is not None and cols > 1:  # a vector of one is its element, which is offered already
        yield Offer(Type.vector(value.type, cols), 1)
        if rows is not None:
            yield Offer(Type.matrix(value.type, rows, cols), 2)


def _cast_offers(value: Value, want: Type) -> Iterator[Offer]:
    have = value.type
    if have is want:
        yield Offer(want, 0, cast=True)
    elif have.kind is Kind.SCALAR and want.is_numeric:
        consumed = len(want.shape)
        if not consumed or (not value.container and not value.rank):
            yield Offer(want, 0, cast=True)  # a conversion, or one number in every component
        elif value.container and value.rank >= consumed:
            yield Offer(want, consumed, cast=True)
    elif have.is_numeric and want.is_numeric and have.shape == want.shape:
        yield Offer(want, 0, cast=True)
    else:
        yield from whole_offers(value, want)


def whole_offers(value: Value, type: Type) -> Iterator[Offer]:
    """A tensor as one argument for all threads (a pointer), or its last axis as an array of fixed extent."""
    if not value.container or value.container == "Grid" or type.element is None:
        return
    if type.kind is Kind.POINTER:
        unpacked = value.type.kind is Kind.SCALAR and type.element.is_numeric and type.element.scalar is value.type
        if type.element is value.type or unpacked:
            yield Offer(type, value.rank)
    elif type.kind is Kind.ARRAY and value.rank >= 1 and type.element is value.type:
        yield Offer(type, 1)


def array_offers(value: Value) -> Iterator[Offer]:
    """The last axis as an array, for a generic ``float[N]``, where its extent is known: beyond 4, `vcast` says it."""
    if value.container and value.container != "Grid" and value.rank and value.dims[-1] is not None:
        yield Offer(Type.array(value.type, value.dims[-1]), 1)


def exact(value: Value, offer: Offer, param: Param, oracle: Oracle) -> bool:
    """Whether `param` takes `offer` as it is, or by a conversion that the user's value allows."""
    want = param.type
    if want is None or want is offer.type:
        return True
    if param.direction == INOUT and not value.weak:
        return False
    if offer.type.kind is Kind.NAMED and want.kind is Kind.NAMED and oracle.conforms(offer.type, want):
        return True
    if offer.cast:
        return False  # the user named the type
    if value.weak and offer.type.is_numeric and want.is_numeric:
        if offer.type.is_float and not want.is_float:
            return False  # Slang would cut 0.5 to 0 without a word
        if offer.type.shape == want.shape:
            return True
        return not value.container and offer.type.kind is Kind.SCALAR and not value.rank
    return False


def describe(value: Value) -> str:
    """A value as error messages name it: ``Tensor<float>[?,3]``, ``Python number (float)``, ``float3``."""
    dims = ",".join("?" if d is None else str(d) for d in value.dims)
    if value.container:
        return f"{value.container}<{value.type}>[{dims}]"
    if value.weak:
        return f"Python number ({value.type})"
    return f"{value.type} over a grid of {value.rank}" if value.rank else str(value.type)


def show(function: str, params: Sequence[Param], result: Type | None = None) -> str:
    """A signature on one line: ``tonemap(float3 color, float gain) -> float3``."""
    listed = ", ".join(f"{'' if p.direction == 'in' else p.direction + ' '}{p.type or 'generic'} {p.name}" for p in params)
    return f"{function}({listed})" + (f" -> {result}" if result else "")
