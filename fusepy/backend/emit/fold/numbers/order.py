"""Floats as integers in NumPy's order, for ``max`` and ``min``: every NaN is beyond all numbers.

Drivers may assume that there is no NaN. NVIDIA's Vulkan driver does, and drops NaN in comparisons of floats and ``isnan``. For
integers there is no such assumption. They are unsigned; the identity of ``max`` is 0, that of ``min`` has all bits set.

CUDA has an instruction for floats, so only the identities are made so there. This also avoids a fault of ptxas 12.8: it makes 0
of the -0 in ``-(x > 0 ? 0.0 : 1.0)``, but the compiler before it takes all signs as set, and gives that 0 the order of a NaN.
"""

from __future__ import annotations

from fusepy.ir.ops.math import KEEPS_NAN
from fusepy.ir.ops.structure import has_select, select_components
from fusepy.ir.types import FLOAT, UINT, Type

_WIDE = Type.parse("uint64_t")
_LOW = {  # the offset that is subtracted from ordered bits; then the integer of the infinity next to NaN
    ("max", 32): (0x807FFFFF, 0xFF000001),
    ("min", 32): (0x7F800001, 0x00FFFFFE),
    ("max", 64): (0x800FFFFFFFFFFFFF, 0xFFE0000000000001),
    ("min", 64): (0x7FF0000000000001, 0x001FFFFFFFFFFFFE),
}
_NATIVE = {"max": "0xff800000u", "min": "0x807fffffu"}  # turns the bits of the infinity below, or above, into the identity


def order_type(type: Type) -> Type:
    """Returns the integer type for a float, a vector of floats or a double."""
    return type.with_scalar(UINT) if type.scalar is FLOAT else _WIDE


def order_identity(type: Type, which: str) -> str:
    """Returns the identity of ``"max"`` or ``"min"``, as `order_type`."""
    ones = "0xffffffffu" if type.scalar is UINT else "0xffffffffffffffffull"
    return f"{type}({0 if which == 'max' else ones})"


def order_functions(j: int, which: str, type: Type, *, equals: bool) -> list[str]:
    """Returns the functions ``fz_order_`` and ``fz_number_`` of fold `j` from a float `type` to its order and back.

    Args:
        equals: map all NaN to one integer, and both zeros to one, for ``argmax`` and ``argmin``. Then ``fz_number_`` is omitted.
    """
    have, bits = type, order_type(type)
    wide = bits is _WIDE
    size, end = (64, "ull") if wide else (32, "u")
    low, last = (f"{n:#x}{end}" for n in _LOW[which, size])
    signed = bits.with_scalar(Type.parse("int64_t" if wide else "int"))
    flip = f"({bits}({signed}({{0}}) >> {size - 1}) >> 1)"  # negative numbers are ordered by their inverted bits
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


def extreme_functions(j: int, which: str, type: Type, number: Type | None, cuda: bool) -> list[str]:
    """Returns ``fz_most_`` of fold `j`, which chooses one of two values, and the functions from a `number` to `type` and back."""
    head = f"{type} fz_most_{j}({type} a, {type} b)"
    if cuda and number is not None and number.scalar is FLOAT:
        changed = f"{type}({_NATIVE[which]})"
        return [
            *(f"{type} fz_order_{j}({number} x)", "{", f"    return asuint(x) ^ {changed};", "}"),
            *(f"{number} fz_number_{j}({type} bits)", "{", f"    return asfloat(bits ^ {changed});", "}"),
            *(head, "{", f"    return fz_order_{j}({KEEPS_NAN}{which}(fz_number_{j}(a), fz_number_{j}(b)));", "}"),
        ]
    first = f"a {'>' if which == 'max' else '<'}= b"
    chosen = f"select({first}, a, b)" if has_select(type) else select_components(f"({first})", "a", "b", type)
    ordered = order_functions(j, which, number, equals=False) if number else []
    return [*ordered, head, "{", f"    return {chosen};", "}"]


def truth_function(j: int, type: Type) -> list[str]:
    """Returns the function ``fz_truth_`` of fold `j`. It tests by bits if floats differ from 0; NaN does."""
    truth = type.with_scalar(UINT)
    if type.scalar is FLOAT:
        body = [f"    return {truth}((asuint(x) << 1) != {truth}(0));"]
    else:
        body = ["    uint low, high;", "    asuint(x, low, high);", "    return uint(((high << 1) | low) != 0);"]
    return [f"{truth} fz_truth_{j}({type} x)", "{", *body, "}"]
