"""Errors of `ir.resolve.resolve` for calls that do not match."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.errors import AmbiguousCallError, ArgumentError, FusepyError, NoMatchError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import OUT, Answer, Oracle, Param, Signature
from fusepy.ir.resolve.hints import binding_hint, components_hint, is_scalar_array, mapping_hint, python_name, python_type
from fusepy.ir.resolve.offers import Offer, array_offers, describe, exact, fill, fitting, show
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Dims, Value
from fusepy.ir.whole import spelled


def count_error(declared: Sequence[Signature], function: str, given: int, place: str | None) -> ArgumentError:
    counts = sorted({sum(p.direction != OUT for p in s.params) for s in declared})
    return ArgumentError(
        f"{function}() takes {' or '.join(map(str, counts))} argument{'s' * (counts != [1])}, {given} were given",
        place=place,
        saw=f"{given} arguments",
        expected="; ".join(show(function, s.params) for s in declared[:4]),
        hint="out parameters may be omitted; under @fuse they always are, and are returned",
    )


def no_match(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    declared: Sequence[Signature],
    offers: Sequence[Sequence[Offer]],
    place: str | None,
) -> FusepyError:
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
            return ArgumentError(
                f"{function}() misses the argument {required[0]!r}",
                place=place,
                saw=f"{len(operands)} arguments",
                expected=show(function, signature.params),
                hint=f"pass {required[0]}=… by position or name",
            )
    wrong = [i for i, (v, m, p, o) in enumerate(zip(operands, maps, inputs, offers)) if not _fits(v, m, p, o, oracle)]
    if len(declared) == 1 and wrong:
        i = wrong[0]
        value, param = operands[i], inputs[i]
        if value.arrival.missing:
            return none_error(f"{function}: argument {param.name!r}", place)
        binds = f"can bind as {' or '.join(str(o.type) for o in offers[i])}" if offers[i] else f"under {maps[i]} binds as nothing"
        return NoMatchError(
            f"{function}: argument {param.name!r} does not fit",
            place=place,
            saw=f"{describe(value)}, which {binds}",
            expected=f"{param.type}",
            hint=binding_hint(value, maps[i], param, oracle) if offers[i] else mapping_hint(value, maps[i], param),
        )
    words = oracle.diagnose(module, function, [o[0].type if o else v.type for v, o in zip(operands, offers)]).strip()
    unsized = re.search(r"'([\w<>, ]+)\[\]'", words)
    if unsized:  # Slang passes such a parameter by value; reads through a pointer to it give garbage
        return NoMatchError(
            f"{function}: a parameter of type {unsized[1]}[] has no size, and cannot be passed",
            place=place,
            saw=", ".join(describe(v) for v in operands),
            expected=f"a Tensor<{unsized[1]},1> parameter, after import fusepy; in Slang",
            hint=f"in Slang, declare it so, or as a pointer, Ptr<{unsized[1]}>, or with a size, e.g. {unsized[1]}[4]",
        )
    return NoMatchError(
        f"{function}: no overload takes these arguments",
        place=place,
        saw=", ".join(describe(v) for v in operands),
        expected="; ".join(show(function, s.params, s.result) for s in declared[:6]),
        hint=_overload_hint(function, operands, declared, words) + (f"\n  Slang says: {words}" if words else ""),
    )


def _overload_hint(function: str, operands: Sequence[Value], declared: Sequence[Signature], words: str) -> str:
    if "could not specialize generic" in words:
        return f'say what it is made of, e.g. m["{function}<float>"]'
    generic = any(p.type is None for s in declared for p in s.params)
    array = next((v for v in operands if not v.arrival.plain and v.rank and v.dims[-1] is None), None)
    if "could not infer generic argument" in words and generic and array is not None:
        return f"say the extent that the array has, e.g. of 8: fp.vcast(value, '{array.type}[8]')"
    for i, value in enumerate(operands):  # a vcast of a computed value would fill all components with the same number
        vectors = [p[i].type for s in declared if (p := [q for q in s.params if q.direction != OUT])[i : i + 1]]
        vector = next((t for t in vectors if t is not None and t.shape and t.scalar is value.type), None)
        if vector is not None and is_scalar_array(value) and value.arrival.plain:
            return components_hint(value, vector)
    return "pass what an overload takes: fp.vcast(value, type) converts, fp.vmap(value, dims) maps"


def none_error(what: str, place: str | None) -> UnsupportedArgumentError:
    """Returns the error for ``None`` as an argument of a parameter that is not ``Optional``."""
    return UnsupportedArgumentError(
        f"{what}: a NoneType cannot be passed to Slang",
        place=place,
        saw="None",
        expected="numbers, lists of numbers, NumPy arrays, Tensors; None for an Optional parameter only",
        hint="omit the argument if the parameter has a default; a fused function takes None as a static argument",
    )


def _fits(value: Value, map: ArgMap, param: Param, offers: Sequence[Offer], oracle: Oracle) -> bool:
    """True if `param` takes `value`, as an element or as a whole, whatever the other arguments are."""
    whole = fitting(array_offers(value, map, param, ()), value, map) if param.type else ()
    return any(exact(value, offer, param, oracle) for offer in (*offers, *whole))


def ambiguous(
    function: str,
    names: Sequence[str],
    found: Sequence[tuple[tuple[Offer, ...], Answer]],
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    place: str | None,
) -> AmbiguousCallError:
    """Returns the error for several bindings; the hint has a Python call for each of them."""
    shown = [f"{show(function, a.params, a.result)}" for _, a in found]
    differ = " and ".join(repr(names[i]) for i in differing([c for c, _ in found]))
    return AmbiguousCallError(
        f"{function}: the arguments bind in {len(found)} ways",
        place=place,
        saw=_LINES.join(shown[:MOST_SHOWN]),
        expected="one",
        hint=f"choose for {differ}:{_LINES}" + _LINES.join(suggestions(function, names, found, operands, maps)[:MOST_SHOWN]),
    )


_LINES = "\n            "
MOST_SHOWN = 8


def differing(choices: Sequence[Sequence[Offer]]) -> list[int]:
    """Returns the operands whose offers differ between bindings."""
    return [i for i, offers in enumerate(zip(*choices)) if len({(o.type, o.consumed) for o in offers}) > 1]


def suggestions(
    function: str,
    names: Sequence[str],
    found: Sequence[tuple[tuple[Offer, ...], Answer]],
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
) -> list[str]:
    """Returns for each binding a call that selects it: with `vcast`, and with `vmap` if there are axes to map."""
    differ = differing([c for c, _ in found])
    lines: list[str] = []
    takes = [[o.consumed for o in choice] for choice, _ in found]
    for choice, answer in found:
        inputs = [p for p in answer.params if p.direction != OUT]
        batch = [v.rank - o.consumed for v, o in zip(operands, choice)]
        if not any(m.dims for m in maps) and not _broadcast([v.dims[:n] for v, n in zip(operands, batch)]):
            continue  # Slang would take it, but the shapes do not broadcast
        grid = max([m.min_grid_rank for m in maps] + batch)
        typed, mapped = list(names[: len(operands)]), list(names[: len(operands)])
        for i in differ:
            offered, want = choice[i].type, inputs[i].type
            type = offered if want is None or offered.kind is Kind.NAMED else want  # for an interface, the struct itself
            typed[i] = f"fp.vcast({names[i]}, {python_type(spelled(type))})"
            mapped[i] = f"fp.vmap({names[i]}, {tuple(range(grid - batch[i], grid))})"
        calls = [f"{python_name(function)}({', '.join(args)})" for args in (typed, mapped)]
        unmapped = all(operands[i].rank and maps[i].dims is None for i in differ)
        alone = takes.count([o.consumed for o in choice]) == 1  # else the mapping does not select the binding
        lines.append(" or ".join(calls if unmapped and alone else calls[:1]))
    return lines


def _broadcast(shapes: Sequence[Dims]) -> bool:
    """True if batch shapes broadcast, as far as their extents are known."""
    for axis in range(1, 1 + max(map(len, shapes), default=0)):
        if len({s[-axis] for s in shapes if len(s) >= axis} - {None, 1}) > 1:
            return False
    return True


def wrong_members(type: Type, known: Sequence[str], given: Sequence[str], path: str, place: str | None) -> ArgumentError:
    """Returns the error for members that are missing or that the struct does not have."""
    unknown = [n for n in given if n not in known]
    missing = [n for n in known if n not in given]
    what = f"{path} has no member {unknown[0]!r}" if unknown else f"{path} misses {', '.join(map(repr, missing))}"
    if not known:
        what = f"{path} is given by members, and {type} has none"
    return ArgumentError(
        what,
        place=place,
        saw=", ".join(given) or "nothing",
        expected=f"{type} {{ {', '.join(known)} }}",
        hint=did_you_mean(unknown[0], missing or known) if unknown else f"give every member of {type}",
    )


def member_refused(
    value: Value, map: ArgMap, param: Param, offers: Sequence[Offer], path: str, place: str | None, oracle: Oracle
) -> NoMatchError:
    """Returns the error for a leaf of a nested argument that does not fit its member."""
    types = None if param.type is None else oracle.conforming(param.type)
    binds = f"can bind as {' or '.join(str(o.type) for o in offers)}" if offers else f"under {map} binds as nothing"
    return NoMatchError(
        f"{path}.{param.name} does not fit",
        place=place,
        saw=f"{describe(value)}, which {binds}",
        expected=f"{param.type or 'a value whose type is known'}" if types is None else implementing(param.type, types),
        hint=mapping_hint(value, map, param)
        if not offers or (map.dims == () and value.rank)
        else binding_hint(value, map, param, oracle)
        if types is None
        else say_struct(types),
    )


def implementing(interface: Type | None, types: Sequence[Type]) -> str:
    """Returns what an interface parameter expects: ``a struct that implements IShape: Circle or Square``."""
    known = " or ".join(map(str, types[:MOST_SHOWN]))
    return f"a struct that implements {interface}" + (f": {known}" if known else "")


def say_struct(types: Sequence[Type]) -> str:
    """Returns the hint to name the struct of a nested argument."""
    return f"say which struct it is: {{'_type': '{types[0] if types else 'Name'}', …}}"
