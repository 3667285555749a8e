"""The type of the gradient of a value."""

from __future__ import annotations

from fusepy.errors import GradientError
from fusepy.ir.graph import Value
from fusepy.ir.narrowing import is_default
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import FLOAT, Kind, Type


def differential(type: Type, oracle: Oracle | None) -> Type | None:
    """Returns the type of the gradient of a value; ``None`` if it has none."""
    if type.is_float:
        return type
    if type.kind is Kind.ARRAY and type.element is not None:
        inner = differential(type.element, oracle)
        return None if inner is None else Type.array(inner, type.shape[0])
    if type.kind is not Kind.NAMED or oracle is None:
        return None
    if type.name.endswith("::Differential"):  # its own, as Slang demands
        return type
    found = Type.parse(f"{type}::Differential")
    return None if oracle.layout(found) is None else found


def check_type(value: Value, given: Value, said: Type | None, what: str) -> None:
    """Checks the type of a gradient or tangent that a user passes; as for arguments, conversions are never silent.

    Args:
        said: the type of its ``vcast``, if it has one.
        what: what it is, for the message.

    Raises:
        GradientError: for one of another type than the value. Numbers of Python and NumPy's default types are converted.
    """
    want, type = value.type.scalar, said or given.type
    if value.weak and want is not None and not want.is_float:  # a Python integer, which means a float
        want = FLOAT
    if want is None or not want.is_float or type.scalar in (None, want) or given.weak:
        return
    if is_default(given) or ((is_default(value) or value.weak) and type.is_float):
        return
    raise GradientError(
        f"{what} has another type than the value",
        saw=type,
        expected=value.type.with_scalar(want),
        hint="convert it before: x.astype(np.float32), or the type of the value; a tensor of torch by x.to(torch.float32)",
    )
