"""`Scatter`: the arrays to which calls add the gradients of arrays that they read whole, at the indices that they read.

Threads add to a struct word by word; `packed` says what its words are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.refused import read_in_body
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.graph import Attr, Node, Value
from fusepy.ir.ops.exact import A_DOUBLE, A_FLOAT, A_HALF, GAP, HALFS, size
from fusepy.ir.oracle import Oracle
from fusepy.ir.resources import is_sampled
from fusepy.ir.types import DOUBLE, FLOAT, HALF, UINT, Kind, Type
from fusepy.ir.whole import scattered

_WORDS = 32  # words that can be other than floats


class Scatter:
    """The arrays to which calls add gradients, by value and by type of element.

    Attributes:
        exact: an element is the exact sums of its numbers, so that the order in which threads add does not matter.
        given: the arrays that a body gets as inputs.
    """

    def __init__(self, terms: Terms, oracle: Oracle):
        self.terms = terms
        self.oracle = oracle
        self.exact = terms.extents.shapes.exact
        self.given: dict[Value, Value] = {}
        self._arrays: dict[Value, dict[Type, tuple[Value, Type]]] = {}  # with the type as which the value is read

    def __contains__(self, value: Value) -> bool:
        return value in self._arrays or value in self.given

    def array(self, value: Value, type: Type) -> Term:
        """Returns the array to which calls add the gradients of `value`, which they read whole as a `type`."""
        t = self.terms
        if value in self.given:
            return Term(t, self.given[value], ())
        into = self.into(type, value)
        stored = into.element
        assert stored is not None, type
        parts = value.rank > into.rank and stored.scalar is not None  # trailing axes of the value are components
        if parts and not self.exact:
            stored = stored.scalar or stored
        known = self._arrays.setdefault(value, {})
        if stored not in known:
            attrs: dict[str, Attr] = {"type": stored.name, "of": value.type.name}
            points = Term(t, value, tuple(range(value.rank)))
            if self.exact:
                attrs["sums"] = self.words(type, value)
                points = Term(t, value, tuple(range(into.rank)), type.element if parts else None)
            known[stored] = t.op("gradient_array", points, **attrs).value, type
        return Term(t, known[stored][0], (), into)

    def arrays(self, node: Node, types: Sequence[Type], i: int) -> list[Term]:
        """Returns `array` of an operand that a node reads whole as one of `types`; of a texture those of all mip levels.

        Raises:
            GradientError: for a gradient that is taken in the body of a loop or branch.
        """
        value, type = node.operands[i], types[i]
        further = self.terms.extents.shapes.levels(value) if is_sampled(type) and value not in self.given else ()
        if further is None:
            raise read_in_body(node, type)
        return [self.array(each, type) for each in (value, *further)]

    def into(self, type: Type, value: Value) -> Type:
        """Returns the type as which a call that reads `value` as a `type` takes the array to which it adds gradients."""
        whole = type.kind is Kind.WHOLE
        if self.exact:
            element = Type.array(UINT, size(self.words(type, value)))
            return Type.whole("fusepy::RWTensor", element, type.rank if whole else value.rank)
        if not whole:
            return Type.whole("fusepy::AtomicTensor", value.type.with_scalar(_scalar(value.type)), value.rank)
        return scattered(type, self.derived(type))

    def derived(self, type: Type) -> Type:
        """Returns the type of the gradient of an element of a whole array."""
        found = None if type.element is None else differential(type.element, self.oracle)
        assert found is not None, type
        return found

    def words(self, type: Type, value: Value) -> tuple[str, ...]:
        """Returns what the words of the gradient of an element are, see `added_words`."""
        element = value.type.with_scalar(_scalar(value.type)) if type.kind is not Kind.WHOLE else type.element
        assert element is not None, type
        return tuple(map(str, added_words(element, self.oracle, self.terms.loc)))

    def taken(self, value: Value) -> list[Term]:
        """Returns the gradients in the arrays of a value, to which nothing will be added any more."""
        t = self.terms
        found: list[Term] = []
        for made, type in self._arrays.pop(value).values():
            term = Term(t, made, tuple(range(made.rank)))
            if self.exact:
                term = self._rounded(term, value, type)
            if value.type.scalar is HALF and term.type.is_numeric:  # they were added as floats
                term = t.exact(term, term.type.with_scalar(HALF))
            found.append(term)
        return found

    def _rounded(self, sums: Term, value: Value, type: Type) -> Term:
        derived = value.type if type.kind is not Kind.WHOLE else self.derived(type)
        if derived.is_numeric:
            derived = derived.with_scalar(_scalar(derived))
        term = self.terms.op("round_sums", sums, type=derived.name, sums=self.words(type, value))
        return self.terms.ungrouped(term, len(sums.dims)) if value.rank > len(sums.dims) else term


def _scalar(type: Type) -> Type:
    """Returns the scalar as which gradients are added: halfs, and Python integers that mean floats, as floats."""
    scalar = type.scalar
    return FLOAT if scalar is None or scalar is HALF or not type.is_float else scalar


# ---- words ----------------------------------------------------------------------------------------------------------


def packed(element: Type, oracle: Oracle, loc: str | None) -> str:
    """Returns what the words of the gradient of an element are, as four numbers of eight words each, the first one lowest.

    Raises:
        GradientError: for a struct with a matrix, and for a large one of other numbers than floats.
    """
    words = _words(element, oracle, loc)
    if len(words) > _WORDS:
        if any(kind not in (A_FLOAT, GAP) for kind in words):
            raise GradientError(
                f"the gradient of {element} has halfs or doubles, and more than {4 * _WORDS} bytes",
                place=loc,
                saw=f"{4 * len(words)} bytes",
                hint=f"make two structs of {element}, each in a Tensor of its own; one of floats only may be of any size",
            )
        words = []
    words += [GAP if A_DOUBLE in words else A_FLOAT] * (_WORDS - len(words))  # a double pads the end of its struct
    return ",".join(str(sum(kind << 4 * i for i, kind in enumerate(words[at : at + 8]))) for at in range(0, _WORDS, 8))


def added_words(element: Type, oracle: Oracle, loc: str | None) -> list[int]:
    """Returns the kinds of the words of an element's gradient to which threads add, in order; numbers have one word per
    component.

    Raises:
        GradientError: see `packed`.
    """
    if element.is_numeric:
        return [A_DOUBLE if element.scalar is DOUBLE else A_FLOAT] * math.prod(element.shape)
    return _words(element, oracle, loc)


def _words(element: Type, oracle: Oracle, loc: str | None) -> list[int]:
    """Returns the kinds of the words of a struct's or array's gradient; nothing for numbers, vectors and matrices."""
    derived = differential(element, oracle)
    if derived is None or derived.is_numeric:
        return []
    kinds: dict[int, int] = {}
    _pack(derived, 0, kinds, oracle, loc)
    size = max(kinds, default=-1) + 1
    if len(kinds) < size:
        raise GradientError(
            f"the gradient of {element} has a gap before a double, and Slang cannot add to one with gaps",
            place=loc,
            saw=f"a gap at byte {4 * min(set(range(size)) - set(kinds))} of {derived}",
            hint="declare the doubles before the other members",
        )
    return [kinds[i] for i in range(size)]


def _pack(type: Type, offset: int, kinds: dict[int, int], oracle: Oracle, loc: str | None) -> None:
    """Adds the words of a value at an offset in bytes."""
    if type.kind is Kind.MATRIX:
        raise GradientError(
            f"a struct that is read whole has a member {type}, to whose gradient threads cannot add",
            place=loc,
            saw=type,
            expected="numbers, vectors, arrays, and structs of them",
            hint="declare it as an array of vectors, float3 rows[2]; or pass the matrices as a Tensor of their own",
        )
    if type.kind is Kind.NAMED:
        layout = oracle.layout(type)
        for field in () if layout is None else layout.fields:
            _pack(field.type, offset + field.offset, kinds, oracle, loc)
        return
    if type.kind in (Kind.ARRAY, Kind.VECTOR) and type.element is not None:
        inner = type.element
        step = _stride(inner, oracle)
        for k in range(type.shape[0]):
            _pack(inner, offset + k * step, kinds, oracle, loc)
        return
    word = offset // 4
    if type is HALF:
        kinds[word] = HALFS if offset % 4 else A_HALF
    elif type is DOUBLE:
        kinds[word], kinds[word + 1] = A_DOUBLE, GAP
    else:
        assert type is FLOAT, type
        kinds[word] = A_FLOAT


def _stride(type: Type, oracle: Oracle) -> int:
    """Returns the distance of two elements of an array, in bytes."""
    if type.kind is Kind.NAMED:
        layout = oracle.layout(type)
        assert layout is not None, type
        return layout.stride
    if type.kind in (Kind.ARRAY, Kind.VECTOR, Kind.MATRIX) and type.element is not None:
        count = type.shape[0] * (type.shape[1] if type.kind is Kind.MATRIX else 1)
        return count * _stride(type.element, oracle)
    assert type.dtype is not None, type
    return type.dtype.itemsize
