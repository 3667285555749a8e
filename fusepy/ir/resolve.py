"""Bringing a Slang function and operands together: the operands offer types, Slang is asked, its answer is used.

A computed value offers its own type. A tensor of scalars also offers the vectors and matrices that its trailing axes could
fill. Slang accepts many implicit conversions, so an answer counts only where its parameter is *exactly* what was offered;
Python numbers (weak values) and operands under `vcast` may convert. If several offers survive, the call is ambiguous.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fusepy.errors import AmbiguousCallError, ArgumentError, NoMatchError, ResolveError, ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.oracle import INOUT, OUT, Answer, Oracle, Param, Signature
from fusepy.ir.types import VOID, Kind, Type

MAX_QUESTIONS = 4096


@dataclass(frozen=True)
class Offer:
    """One way to present an operand: the type asked for, and how many trailing axes that type consumes."""

    type: Type
    consumed: int
    cast: bool = False  # the user said vcast: conversion is wanted


@dataclass(frozen=True)
class Resolution:
    """Slang's answer to a call, with everything settled.

    Attributes:
        params: all parameters that the call fills, in order, outputs included.
        maps: one resolved map per operand (that is, per parameter that is not ``out``).
        results: name and type of the return value (``"return"``), then of every ``out`` and ``inout`` parameter.
        grid_rank: the number of grid dimensions.
    """

    params: tuple[Param, ...]
    maps: tuple[ArgMap, ...]
    results: tuple[tuple[str, Type], ...]
    grid_rank: int


def resolve_call(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    place: str | None = None,
) -> Resolution:
    """Resolves one call of ``@module.function``.

    Raises:
        ArgumentError: too many or too few arguments for every overload.
        NoMatchError: no offer was accepted; carries the types of both sides and Slang's own words.
        AmbiguousCallError: several were; names them and the `vmap`/`vcast` that chooses.
        ShapeError: a mapping that does not fit its operand.
    """
    declared = [s for s in oracle.declared(module, function) if fill(s, len(operands)) is not None]
    if not declared:
        raise _count_error(oracle.declared(module, function), function, len(operands), place)
    names = [p.name for p in fill(declared[0], len(operands)) or () if p.direction != OUT]
    offers = [list(_offers(v, m, function, names[i], place)) for i, (v, m) in enumerate(zip(operands, maps))]
    found: dict[tuple[object, ...], tuple[tuple[Offer, ...], Answer]] = {}
    for whole in (False, True):  # a whole array behind a pointer, or of fixed extent, only where no element fits
        for choice, answer in _ask(oracle, module, function, operands, maps, declared, offers, whole):
            found.setdefault((tuple((o.type, o.consumed) for o in choice), answer), (choice, answer))
        if found:
            break
    if not found:
        raise _no_match(oracle, module, function, operands, maps, declared, offers, place)
    if len(found) > 1:
        raise _ambiguous(function, names, list(found.values()), place)
    ((choice, answer),) = found.values()
    return _settle(answer, choice, operands, maps, function, names, place)


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


def _offers(value: Value, map: ArgMap, function: str, name: str, place: str | None) -> Iterator[Offer]:
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
    return _fitting(offers, value, map)


def _fitting(offers: Iterable[Offer], value: Value, map: ArgMap) -> Iterator[Offer]:
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
        yield from _whole_offers(value, want)


def _whole_offers(value: Value, type: Type) -> Iterator[Offer]:
    """A tensor as one argument for all threads (a pointer), or its last axis as an array of fixed extent."""
    if not value.container or value.container == "Grid" or type.element is None:
        return
    if type.kind is Kind.POINTER:
        unpacked = value.type.kind is Kind.SCALAR and type.element.is_numeric and type.element.scalar is value.type
        if type.element is value.type or unpacked:
            yield Offer(type, value.rank)
    elif type.kind is Kind.ARRAY and value.rank >= 1 and type.element is value.type:
        yield Offer(type, 1)


def _ask(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    declared: Sequence[Signature],
    offers: Sequence[Sequence[Offer]],
    whole: bool,
) -> Iterator[tuple[tuple[Offer, ...], Answer]]:
    """Every combination of offers with an exact answer."""
    asked = 0
    for signature in declared:
        params = fill(signature, len(operands)) or ()
        inputs = [p for p in params if p.direction != OUT]
        pools: list[list[Offer]] = []
        for value, map, param, plain in zip(operands, maps, inputs, offers):
            pool = [*plain]
            if whole and param.type is not None and map.type is None:
                pool += _fitting(_whole_offers(value, param.type), value, map)
            if param.type is not None:  # a question whose answer could not be exact is not worth asking
                pool = [o for o in pool if _exact(value, o, param, oracle)]
            pools.append(pool)
        for choice in itertools.product(*pools):
            asked += 1
            if asked > MAX_QUESTIONS:
                raise ResolveError(f"{function}: too many ways to bind the arguments", hint="say the types with vcast")
            offered = iter(zip(operands, choice))
            wanted = [p.type if p.direction == OUT else _asked(*next(offered), p) for p in params]
            if any(t is None for t in wanted):
                raise ResolveError(
                    f"{function}: the type of a generic out parameter cannot be inferred",
                    hint="call a specialisation, e.g. find_function('f<float>')",
                )
            answer = oracle.resolve(module, function, [t for t in wanted if t is not None])
            if answer is None:
                continue
            given = [p for p in answer.params[: len(params)] if p.direction != OUT]
            if len(given) == len(choice) and all(_exact(v, o, p, oracle) for v, o, p in zip(operands, choice, given)):
                yield choice, Answer(answer.params[: len(params)], answer.result)


def _asked(value: Value, offer: Offer, param: Param) -> Type:
    """What to ask Slang with: it converts nothing that is written to, but a number can start as what is wanted."""
    return param.type if param.direction == INOUT and value.weak and param.type is not None else offer.type


def _exact(value: Value, offer: Offer, param: Param, oracle: Oracle) -> bool:
    """Whether `param` takes `offer` as it is, or by a conversion that the user's value allows."""
    want = param.type
    if want is None or want is offer.type:
        return True
    if param.direction == INOUT and not value.weak:
        return False
    if offer.cast:
        return False  # the user named the type
    if value.weak and offer.type.is_numeric and want.is_numeric:
        if offer.type.is_float and not want.is_float:
            return False  # Slang would cut 0.5 to 0 without a word
        if offer.type.shape == want.shape:
            return True
        return not value.container and offer.type.kind is Kind.SCALAR and not value.rank
    return offer.type.kind is Kind.NAMED and want.kind is Kind.NAMED and oracle.conforms(offer.type, want)


def _settle(
    answer: Answer,
    choice: Sequence[Offer],
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    function: str,
    names: Sequence[str],
    place: str | None,
) -> Resolution:
    batch = [v.rank - o.consumed for v, o in zip(operands, choice)]
    rank = max((max(m.min_grid_rank, n if m.dims is None else 0) for m, n in zip(maps, batch)), default=0)
    settled: list[ArgMap] = []
    inputs = [p for p in answer.params if p.direction != OUT]
    for value, map, n, param in zip(operands, maps, batch, inputs):
        dims = map.dims if map.dims is not None else ArgMap.aligned(n, rank).dims
        # a struct that goes where an interface is asked for is loaded as itself
        converts = param.type is not value.type and value.type.kind is not Kind.NAMED
        settled.append(ArgMap(dims, param.type if converts else None))
    covered = {d for m in settled for d in m.dims or ()}
    if len(covered) != rank:
        missing = ", ".join(f"d{d}" for d in range(rank) if d not in covered)
        raise ShapeError(
            f"{function}: no argument runs along grid dimension {missing}",
            place=place,
            saw=", ".join(f"{n}: {m}" for n, m in zip(names, settled)),
            hint="count grid dimensions from 0 without gaps",
        )
    results = [("return", answer.result)] if answer.result is not VOID else []
    for param in answer.params:
        if param.direction in (OUT, INOUT):
            assert param.type is not None
            results.append((param.name, param.type))
    return Resolution(answer.params, tuple(settled), tuple(results), rank)


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


def _count_error(declared: Sequence[Signature], function: str, given: int, place: str | None) -> ArgumentError:
    wanted = sorted({sum(p.direction != OUT for p in s.params) for s in declared})
    return ArgumentError(
        f"{function}() takes {' or '.join(map(str, wanted))} argument{'s' * (wanted != [1])}, {given} were given",
        place=place,
        saw=f"{given} arguments",
        expected="; ".join(show(function, s.params) for s in declared[:4]),
        hint="out parameters may be left away; under @fuse they always are, and are returned",
    )


def _no_match(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    declared: Sequence[Signature],
    offers: Sequence[Sequence[Offer]],
    place: str | None,
) -> ResolveError:
    signature = declared[0]
    params = fill(signature, len(operands)) or ()
    inputs = [p for p in params if p.direction != OUT]
    if len(inputs) < sum(p.direction != OUT for p in signature.params):
        required = [p.name for p in signature.params if p.direction != OUT][len(inputs) :]
        outs = [p.type for p in params if p.direction == OUT]
        plain = [p.type for p in inputs]
        if all(t is not None for t in [*plain, *outs]) and (
            oracle.resolve(module, function, [p.type for p in params if p.type is not None]) is None
        ):
            return ArgumentError(  # type: ignore[return-value]  # both derive from TypeError and FusepyError
                f"{function}() misses the argument {required[0]!r}",
                place=place,
                saw=f"{len(operands)} arguments",
                expected=show(function, signature.params),
                hint=f"pass {required[0]}=… by position or name",
            )
    wrong = [i for i, (v, p, o) in enumerate(zip(operands, inputs, offers)) if not any(_exact(v, x, p, oracle) for x in o)]
    if len(declared) == 1 and wrong:
        i = wrong[0]
        value, param = operands[i], inputs[i]
        binds = f"can bind as {' or '.join(str(o.type) for o in offers[i])}" if offers[i] else f"under {maps[i]} binds as nothing"
        return NoMatchError(
            f"{function}: argument {param.name!r} does not fit",
            place=place,
            saw=f"{describe(value)}, which {binds}",
            expected=f"{param.type}",
            hint=_binding_hint(value, param),
        )
    words = oracle.diagnose(module, function, [o[0].type if o else v.type for v, o in zip(operands, offers)]).strip()
    return NoMatchError(
        f"{function}: no overload takes these arguments",
        place=place,
        saw=", ".join(describe(v) for v in operands),
        expected="; ".join(show(function, s.params, s.result) for s in declared[:6]),
        hint="convert with vcast(value, type), or say the mapping with vmap" + (f"\n  Slang says: {words}" if words else ""),
    )


def _binding_hint(value: Value, param: Param) -> str:
    want = param.type
    if want is None:
        return "choose a type with vcast(value, type)"
    if (
        value.type.kind is Kind.SCALAR
        and want.kind in (Kind.VECTOR, Kind.MATRIX)
        and value.type is want.scalar
        and value.container
    ):
        extents = " x ".join(map(str, want.shape))
        return f"a {want} takes trailing axes of {extents}; reshape the array, or vcast to the type that it holds"
    if value.type.is_numeric and want.is_numeric and value.type.shape == want.shape:
        dtype = want.dtype
        return f"conversions are never silent: pass .astype(np.{dtype}), or say vcast(value, m.{want.name})"
    if value.type.is_numeric and want.is_numeric and value.type.shape and want.shape:
        return "cut components with a swizzle such as .xyz, or build the vector that is wanted"
    return f"pass a {want}, or vcast(value, m.{want.name})"


def _ambiguous(
    function: str, names: Sequence[str], found: Sequence[tuple[tuple[Offer, ...], Answer]], place: str | None
) -> AmbiguousCallError:
    shown = [f"{show(function, a.params, a.result)}" for _, a in found]
    first, second = found[0][0], found[1][0]
    differing = next((i for i, (a, b) in enumerate(zip(first, second)) if (a.type, a.consumed) != (b.type, b.consumed)), 0)
    choices = sorted({c[differing].type.name for c, _ in found})
    name = names[differing] if differing < len(names) else "value"
    return AmbiguousCallError(
        f"{function}: the arguments bind in {len(found)} ways",
        place=place,
        saw="\n            ".join(shown[:8]),
        expected="one",
        hint=f"choose for {name!r}: " + " or ".join(f"fp.vcast({name}, m.{c})" for c in choices),
    )
