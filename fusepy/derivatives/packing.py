"""The words of a struct of gradients: in kernels, threads add to such a struct word by word."""

from __future__ import annotations

from fusepy.derivatives.differential import differential
from fusepy.errors import GradientError
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import DOUBLE, FLOAT, HALF, Kind, Type
from fusepy.ir.whole import innermost

_FLOAT, _HALF, _HALFS, _DOUBLE, _GAP = range(5)  # as `_add_words` of the Slang module reads them
_WORDS = 32  # words that can be other than floats


def packed(element: Type, oracle: Oracle, loc: str | None) -> str:
    """Returns what the words of the gradient of an element are, as four numbers of eight words each, the first one lowest.

    Raises:
        GradientError: for a struct with a matrix, and for a large one of other numbers than floats.
    """
    derived = differential(element, oracle)
    if derived is None or innermost(derived).kind is not Kind.NAMED:
        return "0,0,0,0"
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
    words = [kinds[i] for i in range(size)]
    if size > _WORDS:
        if any(kind not in (_FLOAT, _GAP) for kind in words):
            raise GradientError(
                f"the gradient of {element} has halfs or doubles, and more than {4 * _WORDS} bytes",
                place=loc,
                saw=f"{4 * size} bytes",
                hint=f"make two structs of {element}, each in a Tensor of its own; one of floats only may be of any size",
            )
        words = [_FLOAT] * _WORDS
    words += [_FLOAT] * (_WORDS - len(words))
    return ",".join(str(sum(kind << 4 * i for i, kind in enumerate(words[at : at + 8]))) for at in range(0, _WORDS, 8))


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
        kinds[word] = _HALFS if offset % 4 else _HALF
    elif type is DOUBLE:
        kinds[word], kinds[word + 1] = _DOUBLE, _GAP
    else:
        assert type is FLOAT, type
        kinds[word] = _FLOAT


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
