"""Squared distances from the mean, in one pass: the Slang functions of the folds ``var`` and ``spread``.

A run of elements keeps its first element, the sum of distances from it, and the sum of their squares. The first one is an element
of the run, so of 16 elements at most a factor of 16 cancels when the run's own mean is taken off. Runs are merged by their counts
(Chan's formula). Means are kept as distances from the first element of all, so that their rounding errors are relative to
the spread of the elements, not to their size: the result is at least as accurate as that of two passes.
"""

from __future__ import annotations

from fusepy.ir.types import BOOL, FLOAT, Type

PARTS = ("", "_first", "_squares", "_count")  # of a piece: sum or mean of distances from the first, the first, squares, elements


def spread_functions(type: Type) -> list[str]:
    """Returns the functions that take an element, add a run to an accumulator, and merge accumulators."""
    count = type.scalar
    if count is FLOAT:
        finite = [f"    {type.with_scalar(BOOL)} finite = (asuint(run) & 0x7f800000u) != 0x7f800000u;"]
    else:
        finite = ["    uint low, high;", "    asuint(run, low, high);", "    bool finite = (high & 0x7ff00000u) != 0x7ff00000u;"]
    mine = f"inout {type} mean, inout {type} first, inout {type} squares, inout {count} count"
    return [
        *(f"void fz_spread_take(inout {type} sum, inout {type} first, inout {type} squares, inout {count} count, {type} x)", "{"),
        f"    first = count == {count}(0) ? x : first;",
        f"    {type} apart = x - first;",
        "    sum += apart;",
        "    squares += apart * apart;",
        f"    count += {count}(1);",
        *("}", ""),
        f"void fz_spread_merge({mine}, {type} mean2, {type} first2, {type} squares2, {count} count2)",
        "{",
        f"    {count} share = count2 == {count}(0) ? {count}(0) : count2 / (count + count2);",
        f"    {type} start = count2 == {count}(0) ? first : first2;",
        f"    first = count == {count}(0) ? start : first;",
        f"    {type} apart = ((start - first) + mean2) - mean;",
        "    squares += squares2 + (apart * (count * share)) * apart;",
        "    mean += apart * share;",
        "    count += count2;",
        *("}", ""),
        f"void fz_spread_gather({mine}, {type} sum, {type} first2, {type} run, {count} count2, uint zero)",
        "{",
        *finite,
        f"    {type} mean2 = sum / (count2 == {count}(0) ? {count}(1) : count2);",
        # squares beyond infinity stay so, unless an element is infinite: then 0 times infinity is NaN
        f"    {type} lost = sum * select(finite, mean2, {type}({count}(zero)));",
        "    fz_spread_merge(mean, first, squares, count, mean2, first2, run - lost, count2);",
        "}",
    ]
