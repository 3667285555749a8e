"""Compensated addition: a sum and the rounding errors that it has left out (Knuth's two-sum).

``fz_hold`` is an identity that compilers cannot simplify: Mesa makes ``b`` of ``(a + b) - a``. CUDA's compiler changes no sum, so
there is none, and a sum is held by a comparison with the largest number in place of its bits: 6 instructions in place of 10.
"""

from __future__ import annotations

from fusepy.ir.types import BOOL, FLOAT, Type

_MOST = {True: "3.4028235e38f", False: "1.7976931348623157e308lf"}


def settled_error(sum: str, type: Type) -> str:
    """Returns the statement that leaves the error of a finite sum, and else 0.

    Then ``(sum + x) + error`` is the sum with a run of few elements ``x``, up to the last place.
    """
    return f"{sum}_c = select(abs({sum}) <= {_MOST[type.scalar is FLOAT]}, {sum}_c, {type}(0));"


def sum_functions(type: Type, cuda: bool) -> list[str]:
    """Returns ``fz_add``, which adds to a sum and its error, and ``fz_total``, which puts both together."""
    narrow = type.scalar is FLOAT
    bools = type.with_scalar(BOOL)
    held = "{}" if cuda else "fz_hold({}, zero)"
    if cuda:
        ends = [f"    {bools} finite = abs(sum) <= {_MOST[narrow]};"]
    elif narrow:
        ends = [f"    {bools} finite = (asuint(sum) & 0x7f800000u) != 0x7f800000u;"]
    else:
        ends = ["    uint low, high;", "    asuint(sum, low, high);", "    bool finite = (high & 0x7ff00000u) != 0x7ff00000u;"]
    return [
        *([] if cuda else _hold(type, narrow)),
        *(f"void fz_add(inout {type} sum, inout {type} error, {type} x, uint zero)", "{"),
        f"    {type} whole = {held.format('sum + x')};",
        f"    {type} part = {held.format('whole - sum')};",
        "    error += (sum - (whole - part)) + (x - part);",
        "    sum = whole;",
        *("}", ""),
        *(f"{type} fz_total({type} sum, {type} error)", "{"),
        *ends,
        "    return select(finite, sum + error, sum);",  # beyond infinity there is no error
        "}",
    ]


def _hold(type: Type, narrow: bool) -> list[str]:
    if narrow:
        body = ["    return asfloat(asuint(x) ^ zero);"]
    else:
        body = ["    uint low, high;", "    asuint(x, low, high);", "    return asdouble(low ^ zero, high);"]
    return [f"{type} fz_hold({type} x, uint zero)", "{", *body, "}", ""]
