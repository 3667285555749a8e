"""Division by a number that is known before a launch: a product and a shift, in place of some twenty instructions of a GPU."""

from __future__ import annotations


def reciprocal(divisor: int) -> tuple[int, int]:
    """Returns a factor of 32 bits and a shift: ``n * factor >> shift`` is ``n // divisor`` for all n below 2^31.

    Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994, theorem 4.2.

    Example:
        >>> factor, shift = reciprocal(7)
        >>> 48 * factor >> shift, 49 * factor >> shift
        (6, 7)
    """
    shift = 31 + (divisor - 1).bit_length()
    return -(-(1 << shift) // divisor), shift
