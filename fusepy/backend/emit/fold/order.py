"""Floats as whole numbers in NumPy's order, for folds to the largest and smallest: every NaN is beyond all numbers.

Drivers may take for granted that there is no NaN. NVIDIA's Vulkan driver does, and drops it where a comparison of floats or
``isnan`` decides. Nothing can be taken for granted of whole numbers. They are unsigned, with 0 for the identity of the largest
and all bits for that of the smallest.
"""

from __future__ import annotations

from fusepy.ir.types import FLOAT, UINT, Type

_WIDE = Type.parse("uint64_t")
_LOW = {  # what is subtracted from bits in order, by what is looked for; then the number of the infinity next to NaN
    ("max", 32): (0x807FFFFF, 0xFF000001),
    ("min", 32): (0x7F800001, 0x00FFFFFE),
    ("max", 64): (0x800FFFFFFFFFFFFF, 0xFFE0000000000001),
    ("min", 64): (0x7FF0000000000001, 0x001FFFFFFFFFFFFE),
}


def order_type(type: Type) -> Type:
    """The type that holds a float, a vector of floats or a double in order."""
    return type.with_scalar(UINT) if type.scalar is FLOAT else _WIDE


def order_identity(type: Type, which: str) -> str:
    """What every number is larger (``"max"``) or smaller (``"min"``) than, as `order_type`."""
    ones = "0xffffffffu" if type.scalar is UINT else "0xffffffffffffffffull"
    return f"{type}({0 if which == 'max' else ones})"


def order_functions(j: int, which: str, type: Type, *, equals: bool) -> list[str]:
    """The functions ``fz_order_`` and ``fz_number_`` of fold `j` from a float `type` to its order and back.

    Args:
        equals: makes all NaN one, and both zeros, as a search for the first place needs. The way back is not written then.
    """
    have, bits = type, order_type(type)
    wide = bits is _WIDE
    size, end = (64, "ull") if wide else (32, "u")
    low, last = (f"{n:#x}{end}" for n in _LOW[which, size])
    signed = bits.with_scalar(Type.parse("int64_t" if wide else "int"))
    flip = f"({bits}({signed}({{0}}) >> {size - 1}) >> 1)"  # the order of negative numbers is that of their bits turned around
    if wide:
        loaded = ["uint low, high;", "asuint(x, low, high);", f"{bits} bits = {bits}(high) << 32 | {bits}(low);"]
        back = "asdouble(uint(bits), uint(bits >> 32))"
    else:
        loaded, back = [f"{bits} bits = asuint(x);"], "asfloat(bits)"
    lines = [*loaded]
    if equals:
        lines.append(f"bits = (bits << 1) == {bits}(0) ? {bits}(0) : bits;")
    lines.append(f"bits = (bits ^ {flip.format('bits')}) - {bits}({low});")
    if equals and which == "max":
        lines.append(f"bits = bits > {bits}({last}) ? {bits}({last}) + 1 : bits;")
    elif equals:
        lines.append(f"bits = bits < {bits}({last}) ? {bits}({last}) - 1 : bits;")
    text = [f"{bits} fz_order_{j}({have} x)", "{", *(f"    {line}" for line in lines), "    return bits;", "}"]
    if equals:
        return text
    return [
        *text,
        f"{have} fz_number_{j}({bits} bits)",
        "{",
        f"    bits += {bits}({low});",
        f"    bits ^= {flip.format('bits')};",
        f"    return {back};",
        "}",
    ]


def truth_function(j: int, type: Type) -> list[str]:
    """The function ``fz_truth_`` of fold `j` that tells from the bits which floats are not 0: NaN is not."""
    truth = type.with_scalar(UINT)
    if type.scalar is FLOAT:
        body = [f"    return {truth}((asuint(x) << 1) != {truth}(0));"]
    else:
        body = ["    uint low, high;", "    asuint(x, low, high);", "    return uint(((high << 1) | low) != 0);"]
    return [f"{truth} fz_truth_{j}({type} x)", "{", *body, "}"]
