"""Asking Slang about a call: in which of the ways that operands can be presented does it take them as they are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from fusepy.errors import ResolveError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.narrowing import Narrowing, narrowed
from fusepy.ir.oracle import INOUT, OUT, Answer, Oracle, Param, Signature
from fusepy.ir.resolve.offers import Offer, array_offers, exact, fill, fitting, fixed_offers, named_offers, offers_of
from fusepy.ir.types import FLOAT, HALF, INT, Type
from fusepy.ir.value import Value

_OPERATOR = re.compile(r"(^|::)operator\W")
MAX_QUESTIONS = 4096


def bindings(
    oracle: Oracle,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    declared: Sequence[Signature],
    offers: Sequence[Sequence[Offer]],
    whole: bool,
    narrow: Narrowing = Narrowing.NONE,
) -> Iterator[tuple[tuple[Offer, ...], Answer]]:
    """Every combination of offers with an exact answer.

    Args:
        offers: for each operand what it can be presented as, as an element.
        whole: whether what fits only where no element does is offered as well: whole arrays for generic parameters, which could
            be anything, and what converts to an enum or an ``Optional``.
        narrow: which arrays of NumPy's default dtypes are converted to what a parameter holds.
    """
    asked = 0
    generic = whole and any(p.type is None for s in declared for p in s.params)
    libraries = oracle.array_libraries(module) if generic else ()
    for signature in declared:
        params = fill(signature, len(operands)) or ()
        inputs = [p for p in params if p.direction != OUT]
        values, plains = list(operands), list(offers)
        if narrow:
            values = [narrowed(v, p, narrow) if m.type is None else v for v, m, p in zip(operands, maps, inputs)]
            if all(v is o for v, o in zip(values, operands)):
                continue
            plains = [
                offers[i] if v is operands[i] else list(offers_of(v, maps[i], function, inputs[i].name, None, oracle))
                for i, v in enumerate(values)
            ]
        pools: list[list[Offer]] = []
        for value, map, param, plain in zip(values, maps, inputs, plains):
            pool = [*plain]
            wholes = list(fitting(array_offers(value, map, param, libraries), value, map))
            if param.type is None and _OPERATOR.search(function):  # Slang has operators of pointers, and these are for elements
                wholes = []
            if not whole:  # which take in axes that an element would run along: one of two meanings that the call may have
                wholes = [o for o in wholes if o.consumed and param.type is not None and map.type is None]
            pool += wholes
            if whole and param.type is not None and map.type is None:
                pool += fitting(named_offers(value, param.type, oracle), value, map)
            if whole and param.type is None and map.type is None:
                pool += fitting(fixed_offers(value), value, map)
            if param.type is not None:  # a question whose answer could not be exact is not worth asking
                pool = [o for o in pool if exact(value, o, param, oracle)]
            pools.append(pool)
        for choice in itertools.product(*pools):
            asked += 1
            if asked > MAX_QUESTIONS:
                raise ResolveError(f"{function}: too many ways to bind the arguments", hint="say the types with vcast")
            offered = iter(zip(values, choice))
            wanted = [p.type if p.direction == OUT else _asked(*next(offered), p) for p in params]
            found: dict[Answer, bool] = {}  # and whether it takes what was offered as it is
            for types in _with_generic_outs(wanted, choice):
                answer = oracle.resolve(module, function, types)
                if answer is None:
                    continue
                given = [p for p in answer.params[: len(params)] if p.direction != OUT]
                if len(given) == len(choice) and all(exact(v, o, p, oracle) for v, o, p in zip(values, choice, given)):
                    found[Answer(answer.params[: len(params)], answer.result)] = all(
                        o.type is p.type for o, p in zip(choice, given)
                    )
            best = [answer for answer, same in found.items() if same] or list(found)
            if len(best) > 1:
                raise ResolveError(
                    f"{function}: the type of a generic out parameter cannot be inferred",
                    saw=" or ".join(f"{p.type} {p.name}" for a in best for p in a.params if p.direction == OUT),
                    hint="call a specialisation, e.g. find_function('f<float>')",
                )
            yield from ((choice, answer) for answer in best)


def _with_generic_outs(wanted: Sequence[Type | None], choice: Sequence[Offer]) -> Iterator[list[Type]]:
    """Questions about a call whose `out` parameters of unknown type are like its inputs: ``copy<T>(T from, out T to)``.

    Slang corrects a wrong guess where the inputs leave it no choice; where they do leave one, the answers differ.
    """
    guesses = dict.fromkeys([*(o.type for o in choice), FLOAT, HALF, INT])
    for guessed in itertools.product(guesses, repeat=sum(t is None for t in wanted)):
        left = iter(guessed)
        yield [next(left) if t is None else t for t in wanted]


def _asked(value: Value, offer: Offer, param: Param) -> Type:
    """What to ask Slang with: it converts nothing that is written to, but a number can start as what is wanted."""
    return param.type if param.direction == INOUT and value.weak and param.type is not None else offer.type
