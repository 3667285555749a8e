"""Programs that are not drawn: what Slang itself cannot compile and fusepy refuses, and faults that are being mended (none)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.program import Step
from tests.fuzz.values import Val

LACKING = "textures on CUDA lack"  # kinds of textures that Slang's CUDA does not have
KERNELS_NUMBER = "a number that a kernel computes is out of range"  # of integers that need 64 bits: call by call they have them
NARROW = {"int8_t", "uint8_t", "int16_t", "uint16_t", "int64_t", "uint64_t"}


def is_long(value: Val) -> bool:
    """Whether an integer needs 64 bits."""
    return value.v.dtype.kind in "iuO" and any(abs(int(x)) >= 1 << 31 for x in value.v.flat)


def has_no_class(scalar: str, comp: Sequence[int]) -> bool:
    """Whether slangpy has no class for a vector or matrix of numbers, so that an array of NumPy stands for it."""
    return len(comp) == 2 or scalar in NARROW or scalar == "double"


def is_array(value: Val) -> bool:
    """Whether a value is such an array."""
    return value.named and has_no_class(value.scalar, value.comp)


def known(step: Step, operands: Sequence[Val], results: Sequence[Val]) -> str | None:
    """Why a step is not drawn."""
    narrow = any(len(x.comp) == 2 and x.scalar in NARROW for x in [*operands, *results])
    if narrow and (step.op in ("reduce", "scan", "call") or (step.op == "index" and len(operands) > 1)):
        return "narrow matrix"
    if step.op in ("reduce", "scan") and step.attrs.get("vectors") and is_array(operands[0]):
        return "an array of NumPy, whose elements are numbers"
    return None
