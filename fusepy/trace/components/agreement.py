"""The common types of the results of both sides of a branch."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import TraceError
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.promotion import promote
from fusepy.ir.types import Type
from fusepy.trace.bodies import BodyTrace
from fusepy.trace.carries import adapts, as_type


def agreed(branches: Sequence[BodyTrace], path: str, a: Value, b: Value, loc: str | None) -> tuple[Value, Value]:
    """Converts one leaf of the results of two branches to a common type.

    Raises:
        TraceError: if there is none; names both types.
    """
    want = a.type if not a.weak else b.type
    if a.weak and b.weak:
        scalar = promote([(a.type, True), (b.type, True)])
        want = b.type if scalar is None else (a.type if a.type.shape else b.type).with_scalar(scalar)
    if (a.weak or a.type is want) and (b.weak or b.type is want) and adapts(a, want) and adapts(b, want):
        x, y = (v if v.type is want else _as(inner, v, want, a.weak and b.weak, loc) for inner, v in zip(branches, (a, b)))
        return x, y
    raise TraceError(
        f"cond: {path} is a {a.type} in one branch and a {b.type} in the other",
        place=loc,
        saw=f"{a.type} from if_true, {b.type} from if_false",
        expected="one type",
        hint="convert one of them, e.g. with vcast",
    )


def _as(inner: BodyTrace, value: Value, type: Type, weak: bool, loc: str | None) -> Value:
    if weak and value.type.shape == type.shape:  # the result of two Python numbers stays weak: a cast would fix its type
        return inner.builder.add(OPS["construct"], [value], None, {"type": type.name}, loc)[0]
    return as_type(inner, value, type, loc)
