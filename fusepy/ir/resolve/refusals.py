"""Errors for calls that no overload takes, and for members that do not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.errors import ArgumentError, FusepyError, NoMatchError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import OUT, Oracle, Param, Signature
from fusepy.ir.resolve.ambiguity import MOST_SHOWN
from fusepy.ir.resolve.hints import binding_hint, components_hint, is_scalar_array, mapping_hint
from fusepy.ir.resolve.offers import Offer, array_offers, describe, fitting
from fusepy.ir.resolve.questions import Question, exact
from fusepy.ir.resolve.spelling import show
from fusepy.ir.types import Type
from fusepy.ir.value import Value


def count_error(declared: Sequence[Signature], function: str, given: int, place: str | None) -> ArgumentError:
    counts = sorted({sum(p.direction != OUT for p in s.params) for s in declared})
    most = " or ".join(map(str, counts))
    return ArgumentError(
        f"{function}() takes {most} argument{'s' * (counts != [1])}, {given} were given",
        place=place,
        saw=f"Too many arguments: expected {most}, got {given}" if given > counts[-1] else f"{given} arguments",
        expected="; ".join(show(function, s.params) for s in declared[:4]),
        hint="out parameters may be omitted; under @fuse they always are, and are returned",
    )


def no_match(question: Question, declared: Sequence[Signature], place: str | None) -> FusepyError:
    """Returns the error for a call that no overload takes: the argument that is missing or does not fit, or all overloads."""
    function, operands, offers = question.function, question.operands, question.offers
    inputs = [p for p in declared[0].filled(len(operands)) or () if p.direction != OUT]
    missing = [p.name for p in declared[0].params if p.direction != OUT][len(inputs) :]
    if missing and not _has_defaults(question, declared[0]):
        return ArgumentError(
            f"{function}() misses the argument {missing[0]!r}",
            place=place,
            saw=f"{len(operands)} arguments",
            expected=show(function, declared[0].params),
            hint=f"Parameter {missing[0]!r} not specified: pass {missing[0]}=… by position or name",
        )
    wrong = [i for i, param in enumerate(inputs) if not _fits(question, i, param)]
    if len(declared) == 1 and wrong:
        i = wrong[0]
        value, map, param = operands[i], question.maps[i], inputs[i]
        if value.arrival.missing:
            return none_error(f"{function}: argument {param.name!r}", place)
        binds = f"can bind as {' or '.join(str(o.type) for o in offers[i])}" if offers[i] else f"under {map} binds as nothing"
        return NoMatchError(
            f"{function}: argument {param.name!r} does not fit",
            place=place,
            saw=f"{describe(value)}, which {binds}. Argument {i} could not be resolved",
            expected=param.type or "an element of any type",
            hint=binding_hint(value, map, param, question.oracle) if offers[i] else mapping_hint(value, map, param),
        )
    types = [o[0].type if o else v.type for v, o in zip(operands, offers)]
    words = question.oracle.diagnose(question.module, function, types).strip()
    if (error := _array_error(function, words, operands, place)) is not None:
        return error
    return NoMatchError(
        f"{function}: no overload takes these arguments",
        place=place,
        saw=", ".join(describe(v) for v in operands),
        expected="; ".join(show(function, s.params, s.result) for s in declared[:6]),
        hint=_overload_hint(function, operands, declared, words) + (f"\n  Slang says: {words}" if words else ""),
    )


def _has_defaults(question: Question, signature: Signature) -> bool:
    """True if Slang takes the call with fewer arguments, as far as the types of the parameters are known."""
    types = [p.type for p in signature.filled(len(question.operands)) or ()]
    known = [t for t in types if t is not None]
    return len(known) < len(types) or question.oracle.resolve(question.module, question.function, known) is not None


def _array_error(function: str, words: str, operands: Sequence[Value], place: str | None) -> NoMatchError | None:
    """Returns the error for a parameter that is an array without a size, or with one that Slang knows only when it links."""
    found = re.search(r"'([\w<>, ]+)\[([A-Za-z_]\w*)?\]'", words)
    if found is None:
        return None
    type, size = found.groups()
    saw = ", ".join(describe(v) for v in operands)
    if size is not None:
        return NoMatchError(
            f"{function}: a parameter of type {type}[{size}] cannot be passed, since Slang knows {size} only when it links",
            place=place,
            saw=saw,
            expected=f"a size that Slang knows when it compiles, e.g. {type}[4]",
            hint=f"in Slang, write static const int {size} = 4; or {function}<let {size} : int>({type} a[{size}])",
        )
    return NoMatchError(  # Slang passes such a parameter by value; reads through a pointer to it give garbage
        f"{function}: a parameter of type {type}[] has no size, and cannot be passed",
        place=place,
        saw=saw,
        expected=f"a Tensor<{type},1> parameter, after import fusepy; in Slang",
        hint=f"in Slang, declare it so, or as a pointer, Ptr<{type}>, or with a size, e.g. {type}[4]",
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


def _fits(question: Question, i: int, param: Param) -> bool:
    """True if `param` takes operand `i`, as an element or as a whole, whatever the other arguments are."""
    value, map = question.operands[i], question.maps[i]
    whole = fitting(array_offers(value, map, param, ()), value, map) if param.type else ()
    return any(exact(value, offer, param, question.oracle) for offer in (*question.offers[i], *whole))


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
