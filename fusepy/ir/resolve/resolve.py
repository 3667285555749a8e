"""Resolution of calls: the operands offer types, Slang resolves the overload, its answer is used.

A computed value offers its own type. A tensor of scalars also offers the vectors and matrices that its trailing axes could
fill. Slang accepts many implicit conversions, so an answer counts only if its parameter is *exactly* the offered type; only
Python numbers (weak values) and operands under `vcast` may convert. If several offers are left, the call is ambiguous.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fusepy.errors import ShapeError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.narrowing import Narrowing, is_default, narrowed
from fusepy.ir.oracle import INOUT, OUT, Answer, Oracle, Param, parts
from fusepy.ir.resolve.ambiguity import ambiguous
from fusepy.ir.resolve.answer import Resolution
from fusepy.ir.resolve.offers import Offer, fitting, named_offers, offers_of, whole_offers
from fusepy.ir.resolve.preference import Found, preferred
from fusepy.ir.resolve.questions import Question, exact
from fusepy.ir.resolve.refusals import count_error, member_refused, no_match, wrong_members
from fusepy.ir.types import VOID, Kind, Type, pair_of
from fusepy.ir.value import Value
from fusepy.ir.whole import writes


def resolve_call(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    place: str | None = None,
    dirs: tuple[str, ...] | None = None,
    strict: bool = False,
) -> Resolution:
    """Resolves one call of ``@module.function``.

    Args:
        dirs: the directions of the parameters; a call that passes outputs selects its overloads by them.
        strict: True to refuse arrays of NumPy's default dtypes if no parameter takes them as they are.

    Raises:
        ArgumentError: too many or too few arguments for every overload.
        NoMatchError: no offer was accepted; the message has the types of both sides and Slang's diagnostics.
        AmbiguousCallError: several offers were accepted; the message has the `vmap`/`vcast` that selects each.
        ShapeError: a mapping that does not fit its operand.
    """
    seen = tuple((v.type, v.dims, v.arrival, v.weak, v.name is None, v.copied) for v in operands)
    key = (module, function, seen, tuple(maps), dirs, strict)
    answer = None if oracle.settled is None else oracle.settled.get(key)
    if answer is None:
        answer = _resolve(oracle, module, function, operands, maps, place, dirs, strict)
        if oracle.settled is not None:
            oracle.settled[key] = answer
    return answer


def _resolve(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    place: str | None,
    dirs: tuple[str, ...] | None,
    strict: bool,
) -> Resolution:
    filled = {s: f for s in oracle.declared(module, function) if (f := s.filled(len(operands))) is not None}
    declared = [s for s, f in filled.items() if tuple(p.direction for p in f) == dirs] or list(filled)
    if not declared:
        raise count_error(oracle.declared(module, function), function, len(operands), place)
    names = [p.name for p in declared[0].filled(len(operands)) or () if p.direction != OUT]
    offers = [list(offers_of(v, m, function, names[i], place, oracle)) for i, (v, m) in enumerate(zip(operands, maps))]
    question = Question(oracle, module, function, operands, maps, offers)
    found: Found = {}
    ways = [Narrowing.NONE] if strict or not any(map(is_default, operands)) else list(Narrowing)
    for narrow, whole in itertools.product(ways, (False, True)):
        for choice, answer in question.bindings(declared, whole, narrow):
            found.setdefault((tuple((o.type, o.consumed) for o in choice), answer), (choice, answer))
        if found:
            found = preferred(found, operands)
            break
    if not found:
        raise no_match(question, declared, place)
    if len(found) > 1:
        raise ambiguous(question, names, list(found.values()), place)
    ((choice, answer),) = found.values()
    return _settle(answer, choice, operands, maps, function, names, place)


def resolve_members(
    oracle: Oracle,
    type: Type,
    names: Sequence[str],
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    path: str,
    place: str | None,
    strict: bool,
) -> Resolution:
    """Binds one operand to each named member of `type`; `path` is the user's name of the nested argument.

    Raises:
        ArgumentError: missing or unknown members.
        NoMatchError: an operand does not fit its member; names the path of the member.
        ShapeError: a mapping that does not fit its operand.
    """
    known = {p.name: p for p in parts(oracle, type) or ()}
    if set(names) != set(known):
        raise wrong_members(type, list(known), names, path, place)
    params = [known[name] for name in names]
    choice = [member_offer(oracle, value, map, param, path, place, strict) for value, map, param in zip(operands, maps, params)]
    return _settle(Answer(tuple(params), type), choice, operands, maps, path, names, place)


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
    for value, map, n, param, offer in zip(operands, maps, batch, inputs, choice):
        dims = map.dims if map.dims is not None else ArgMap.aligned(n, rank).dims
        settled.append(ArgMap(dims, _loaded(value, offer, param)))
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


def member_offer(oracle: Oracle, value: Value, map: ArgMap, param: Param, path: str, place: str | None, strict: bool) -> Offer:
    """Returns the only offer of `value` that fits a member.

    Raises:
        NoMatchError: if there is none, or several.
    """
    offers = list(offers_of(value, map, path, param.name, place, oracle))
    fits = _member_offers(oracle, value, map, param, offers)
    for how in (Narrowing.KIND, Narrowing.ANY):
        taken = value if strict or map.type is not None else narrowed(value, param, how)
        if fits or taken is value:
            continue
        fits = _member_offers(oracle, taken, map, param, list(offers_of(taken, map, path, param.name, place, oracle)))
    if len(fits) != 1 or (fits[0].type.kind is Kind.WHOLE and writes(fits[0].type)):
        raise member_refused(value, map, param, offers, path, place, oracle)
    return fits[0]


def _member_offers(oracle: Oracle, value: Value, map: ArgMap, param: Param, offers: Sequence[Offer]) -> list[Offer]:
    """Returns the offers that fit a member: elements, or a whole array if no element fits."""
    fits = [o for o in offers if exact(value, o, param, oracle)]
    if not fits and param.type is not None and map.type is None:
        fits = list(fitting([*whole_offers(value, param.type, told=True), *named_offers(value, param.type, oracle)], value, map))
    return fits


def _loaded(value: Value, offer: Offer, param: Param) -> Type | None:
    """Returns the type as which `value` is loaded, ``None`` for its own. For an interface this is the offered struct."""
    if offer.type.kind is Kind.WHOLE:
        return offer.type if offer.type is not value.type else None
    named = value.type.kind is Kind.NAMED and param.type is not None and param.type.kind is Kind.NAMED
    paired = value.arrival.paired and param.type is not None and pair_of(param.type) is not None
    return param.type if param.type is not value.type and (paired or not named) else None
