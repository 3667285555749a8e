"""Slang texts of quotients and remainders of integers, as NumPy has them: they round down, and a division by 0 gives 0."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.ir.ops.structure import has_select
from fusepy.ir.types import UINT, Kind, Type

# Slang truncates: if the remainder and the divisor differ in sign, floor is one less. Adding the divisor to every remainder
# and taking the remainder again would be shorter, but overflows. The remainder is written out, since SPIR-V's is undefined for
# negative operands (an H100 and lavapipe differ).
REST = "({0} - {0} / {d} * {1})"
SIGNS = f"({REST} != 0) & (({REST} ^ {{1}}) < 0)"

_LITERAL = re.compile(r"(?:\w+\()?-?0*[1-9]\d*\w*\)?$")  # other than 0
ANY = "{t}({1} != {t}(0))"  # 0 for a divisor of 0, as in NumPy


def divisor(operands: Sequence[str], type: Type) -> str:
    """Returns the divisor of integers: not 0, and not -1 below the least integer, which end the process on CPUs.

    Slang 2026.12 takes the variables of a loop as if they kept their first value, and refuses a division by one that
    is 0 then. It does not look into `max`, which drivers remove; nor into halves that are put together, for `uint64_t`, whose
    `max` on CUDA is one of `int64_t`.
    """
    text = operands[-1]
    if len(operands) < 2 or (_LITERAL.match(text) and "-" not in text):
        return text
    dtype = type.dtype
    assert dtype is not None
    refused = f"({text} == {type}(0))"
    if dtype.kind == "i":
        refused += f" | (({text} == {type}(-1)) & ({operands[0]} == ({type}(1) << {type}({8 * dtype.itemsize - 1}))))"
    if dtype.kind == "u" and dtype.itemsize == 8:
        half = type.with_scalar(UINT)
        kept = f"{type}({half}({text})) | ({type}({half}({text} >> {type}(32))) << {type}(32))"
    else:
        kept = f"max({text}, {text})"
    if type.kind is Kind.VECTOR and not has_select(type):
        # A choice component by component of 64 bits is garbage on NVIDIA's Vulkan driver (580) where the divisor is a constant.
        one = f"{type}({refused})"
        return f"(({kept}) + {one})" if dtype.kind == "u" else f"(({kept}) * ({type}(1) - {one}) + {one})"
    return f"select({refused}, {type}(1), {kept})"
