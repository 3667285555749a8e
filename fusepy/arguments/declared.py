"""Arguments of a fused function that another one calls, as its `declare` says. A call by itself has them as inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.mapping import vcast
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.types import Kind
from fusepy.symbolic import Symbolic, axes_of


def as_declared(
    spec: Callable[[int, str], ArgMap | None], names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Returns the arguments of a call under what is declared for them.

    Args:
        spec: of the parameter at a position with a name; ``None`` is "one for all threads".
        names: of the parameters.
    """
    first = [_under(spec(i, names[i] if i < len(names) else ""), a) for i, a in enumerate(args)]
    return first, {k: _under(spec(names.index(k) if k in names else len(names), k), v) for k, v in kwargs.items()}


def _under(spec: ArgMap | None, value: Any) -> Any:
    """Returns an argument under a spec. A `vmap` or `vcast` of its own comes first."""
    if spec is UNSAID or value is None or isinstance(value, (Mapped, str)) or callable(value):
        return value
    spec = ArgMap(()) if spec is None else spec
    container = fields_of(value)
    if container is not None:  # a struct takes its type by itself
        if spec.dims is None:
            return value
        return container.rebuild(value, {k: _under(ArgMap(spec.dims), v) for k, v in container.parts(value).items()})
    if not (axes_of(value) if isinstance(value, Symbolic) else len(getattr(value, "shape", ()))):
        return value if spec.type is None else vcast(value, spec.type)  # one value for all threads
    known = spec.dims is not None or (spec.type is not None and spec.type.kind is Kind.NAMED)  # the call knows the struct
    return Mapped(value, spec) if known else vcast(value, spec.type)
