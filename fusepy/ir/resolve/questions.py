"""`Question`: the combinations of offers that Slang accepts for a call exactly, without a conversion."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fusepy.errors import ResolveError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.narrowing import Narrowing, narrowed
from fusepy.ir.oracle import INOUT, OUT, Answer, Oracle, Param, Signature
from fusepy.ir.resolve.offers import Offer, array_offers, fitting, fixed_offers, named_offers, offers_of
from fusepy.ir.types import FLOAT, HALF, INT, Kind, Type
from fusepy.ir.value import Value

_OPERATOR = re.compile(r"(^|::)operator\W")
MAX_QUESTIONS = 4096
Binding = tuple[tuple[Offer, ...], Answer]


@dataclass(frozen=True)
class Question:
    """A call of ``@module.function`` whose operands are matched with parameters.

    Attributes:
        offers: for each operand its offers as an element.
    """

    oracle: Oracle
    module: str
    function: str
    operands: Sequence[Value]
    maps: Sequence[ArgMap]
    offers: Sequence[Sequence[Offer]]

    def bindings(self, declared: Sequence[Signature], whole: bool, narrow: Narrowing = Narrowing.NONE) -> Iterator[Binding]:
        """Yields every combination of offers with an exact answer.

        Args:
            whole: True to add the offers for calls where no element fits: whole arrays for generic parameters that could be
                anything, and values that convert to an enum or an ``Optional``.
            narrow: the arrays of NumPy's default dtypes that are converted to the type of a parameter.
        """
        asked = 0
        generic = True in [p.type is None and (whole or p.array) for s in declared for p in s.params]
        libraries = self.oracle.array_libraries(self.module) if generic else ()
        for signature in declared:
            params = signature.filled(len(self.operands)) or ()
            inputs = [p for p in params if p.direction != OUT]
            values = list(self.operands)
            if narrow:
                values = [narrowed(v, p, narrow) if m.type is None else v for v, m, p in zip(values, self.maps, inputs)]
                if all(v is o for v, o in zip(values, self.operands)):
                    continue
            pools = [self._pool(i, value, param, whole, libraries) for i, (value, param) in enumerate(zip(values, inputs))]
            for choice in itertools.product(*pools):
                asked += 1
                if asked > MAX_QUESTIONS:
                    raise ResolveError(f"{self.function}: too many ways to bind the arguments", hint="say the types with vcast")
                yield from ((choice, answer) for answer in self._answers(params, values, choice))

    def _pool(self, i: int, value: Value, param: Param, whole: bool, libraries: Sequence[str]) -> list[Offer]:
        """Returns the offers of operand `i`, as `value`, for a parameter."""
        map, pool = self.maps[i], list(self.offers[i])
        if value is not self.operands[i]:
            pool = list(offers_of(value, map, self.function, param.name, None, self.oracle))
        wholes = list(fitting(array_offers(value, map, param, libraries), value, map))
        if param.type is None and _OPERATOR.search(self.function):  # Slang has operators of pointers; these are for elements
            wholes = []
        if not whole:  # those that consume axes which an element maps to the grid: the call may mean either
            wholes = [o for o in wholes if o.consumed and (param.type is not None or param.array) and map.type is None]
        pool += wholes
        if (whole or param.array) and map.type is None:
            further = fixed_offers(value) if param.type is None else named_offers(value, param.type, self.oracle)
            pool += fitting(further, value, map)
        if param.type is None:
            return pool
        return [o for o in pool if exact(value, o, param, self.oracle)]  # other offers have no exact answer

    def _answers(self, params: Sequence[Param], values: Sequence[Value], choice: Sequence[Offer]) -> list[Answer]:
        """Returns the answers that take these offers exactly; only those without a conversion, if there are any.

        Raises:
            ResolveError: if there are several, for a generic `out` parameter.
        """
        offered = iter(zip(values, choice))
        asked = [p.type if p.direction == OUT else _asked(*next(offered), p) for p in params]
        found: dict[Answer, bool] = {}  # True if the answer converts nothing
        for types in _with_generic_outs(asked, choice):
            answer = self.oracle.resolve(self.module, self.function, types)
            if answer is None:
                continue
            answer = Answer(answer.params[: len(params)], answer.result)
            inputs = [p for p in answer.params if p.direction != OUT]
            if len(inputs) == len(choice) and all(exact(v, o, p, self.oracle) for v, o, p in zip(values, choice, inputs)):
                found[answer] = all(o.type is p.type for o, p in zip(choice, inputs))
        best = [answer for answer, same in found.items() if same] or list(found)
        if len(best) > 1:
            raise ResolveError(
                f"{self.function}: the type of a generic out parameter cannot be inferred",
                saw=" or ".join(f"{p.type} {p.name}" for a in best for p in a.params if p.direction == OUT),
                hint="call a specialisation, e.g. find_function('f<float>')",
            )
        return best


def _with_generic_outs(wanted: Sequence[Type | None], choice: Sequence[Offer]) -> Iterator[list[Type]]:
    """Yields argument types that guess the type of generic `out` parameters from the inputs: ``copy<T>(T from, out T to)``.

    Slang corrects a wrong guess if the inputs determine the type; if they do not, the answers differ.
    """
    guesses = dict.fromkeys([*(o.type for o in choice), FLOAT, HALF, INT])
    for guessed in itertools.product(guesses, repeat=sum(t is None for t in wanted)):
        left = iter(guessed)
        yield [next(left) if t is None else t for t in wanted]


def _asked(value: Value, offer: Offer, param: Param) -> Type:
    """Returns the type to ask Slang with. Slang converts no `inout` argument, but a Python number can have the wanted type."""
    return param.type if param.direction == INOUT and value.weak and param.type is not None else offer.type


def exact(value: Value, offer: Offer, param: Param, oracle: Oracle) -> bool:
    """True if `param` takes `offer` as it is, or by a conversion that the user's value allows."""
    want = param.type
    if want is None or want is offer.type:
        return True
    if param.direction == INOUT and not value.weak:
        return False
    if offer.type.kind is Kind.NAMED and want.kind is Kind.NAMED and oracle.conforms(offer.type, want):  # an interface
        return True
    if offer.cast:
        return False  # the user named the type
    if value.weak and offer.type.is_numeric and want.is_numeric:
        if offer.type.is_float and not want.is_float:
            return False  # Slang would cut 0.5 to 0 silently
        if offer.type.shape == want.shape:
            return True
        return value.arrival.plain and offer.type.kind is Kind.SCALAR and not value.rank
    return offer.type.kind is Kind.WHOLE and want.kind is Kind.NAMED and oracle.conforms(offer.type, want)
