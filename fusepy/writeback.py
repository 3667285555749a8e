"""`out` and `inout` arguments of eager calls: which results are written to which argument, leaf by leaf for nested ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusepy.backend.targets import is_texture
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import OUT, Param
from fusepy.mapping import Mapped
from fusepy.nested import is_nested
from fusepy.tensor import Tensor
from fusepy.trace import Trace
from fusepy.traced import Traced


@dataclass(frozen=True)
class Written:
    """An argument with its parameter, what `declare` said, its leaves with their paths, and the position of the first."""

    param: Param
    value: Any
    said: ArgMap | None
    leaves: Sequence[tuple[str, Any]]
    start: int


@dataclass(frozen=True)
class Output:
    """A result of the program, and the position of the argument that it is written to; ``None`` returns it."""

    value: Traced
    target: int | None = None


def written_back(trace: Trace, function: str, slot: Written, result: Traced) -> list[Output]:
    """The result of one `out` or `inout` parameter as outputs.

    Raises:
        UnsupportedArgumentError: where an `out` argument cannot be written to.
        ShapeError: where it is mapped otherwise than in the order of the grid.
    """
    nested = is_nested(slot.value)
    outputs: list[Output] = []
    for k, (path, leaf) in enumerate(slot.leaves):
        inner, said = (leaf.value, leaf.map) if isinstance(leaf, Mapped) else (leaf, slot.said)
        if isinstance(inner, (Tensor, np.ndarray)) or is_texture(inner):
            _check_order(function, path, said)
            part = _part(trace, result, path) if nested else result
            outputs.append(Output(part, slot.start + k))
        elif slot.param.direction == OUT:
            raise UnsupportedArgumentError(
                f"{function}: out argument {path!r} cannot be written to a {type(inner).__name__}",
                saw=repr(inner)[:60],
                expected="a Tensor, a NumPy array or a Texture",
                hint="leave the argument away to have it returned",
            )
    return outputs or [Output(result)]  # an inout argument that cannot be written to is returned instead


def _part(trace: Trace, result: Traced, path: str) -> Traced:
    """The leaf of a struct at a path: ``ray.position.z`` is ``.position.z`` of the result."""
    for name in path.split(".")[1:]:
        result = trace.record("member", [result], {"name": name})
    return result


def _check_order(function: str, path: str, said: ArgMap | None) -> None:
    if said is not None and said.dims is not None and said.dims != tuple(range(len(said.dims))):
        raise ShapeError(
            f"{function}: argument {path!r} is written to, in the order of the grid",
            saw=said,
            expected=f"vmap{tuple(range(len(said.dims)))}",
            hint="leave it away and transpose what is returned",
        )
