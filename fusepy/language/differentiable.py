"""`differentiable` and `stop_gradient`: values with a gradient of their own, for ``f.bwds``, and values without any.

`paired` puts the leaves of a tangent, or of the gradient of a result, beside those of the value; ``None`` in it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import is_nested
from fusepy.backend.marshals.registry import host_array, kind_of_class
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError
from fusepy.functions.nodes import GraphValue, Use
from fusepy.ir.types import Kind
from fusepy.language.movement.joins import stack
from fusepy.location import user_line
from fusepy.pytree import ITEMS, LEAF, TYPE, container_of, flatten, is_mapping
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.aliases import viewed


def differentiable(value: Any, needs_grad: bool = True) -> Any:
    """Returns `value` as a tensor with a gradient, which ``f.bwds`` adds to.

    Args:
        value: a number, which becomes a float without axes; a list or array, which is copied; or a tensor, which shares
            its memory.
        needs_grad: without it, the tensor has no gradient.

    Raises:
        ArgumentError: for anything else.
        GradientError: for elements without derivatives, such as integers.

    Example:
        >>> import fusepy as fp
        >>> a = fp.differentiable(5)
        >>> float(a), float(a.grad)
        (5.0, 0.0)
        >>> fp.fuse(lambda a, x: a * x).bwds(a, [1.0, 2.0])
        >>> float(a.grad)
        3.0
    """
    if hasattr(value, "with_grads"):
        return value.with_grads() if needs_grad else value.detach()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = np.asarray(value, np.float32)
    if isinstance(value, (list, tuple)) or host_array(value) is not None:
        made = Tensor(value)
    else:
        raise ArgumentError(
            f"differentiable() of a {type(value).__name__}",
            saw=repr(value)[:60],
            expected="a number, a list or array of floats, or a Tensor",
            hint="pass its numbers: Tensor.from_numpy(device, array).with_grads()",
        )
    return made.with_grads() if needs_grad else made


def stop_gradient(value: Any) -> Any:
    """Returns `value` unchanged, as a constant of every derivative: no gradient flows through it.

    Args:
        value: a value of a fused function, a tensor or array, or tuples, lists, dicts and dataclasses of these. Outside of a
            fused function, tensors come back without their gradient, as by ``detach()``, and share their memory.

    Example:
        >>> import fusepy as fp
        >>> fp.grad(lambda x: fp.sum(x * fp.stop_gradient(x)))([1.0, 3.0])
        [1.0, 3.0]
    """
    trace = current_trace()
    leaves, structure = flatten(value, lambda v: isinstance(v, Mapped))
    return structure.fill([_constant(trace, leaf) for leaf in leaves])


def _constant(trace: Any, leaf: Any) -> Any:
    if isinstance(own := unmapped(leaf), Traced):
        return viewed(own, trace.record("stop_gradient", [leaf]))  # it shares memory, as what `detach` returns
    if isinstance(own, GraphValue):
        return Use(stop_gradient, "stop_gradient", (leaf,), {}, user_line()).returning(LEAF)
    return leaf.detach() if hasattr(leaf, "detach") else leaf


def is_differentiable_like(value: Any) -> bool:
    """True for values that can carry a gradient in ``.grad``: tensors, also those of slangpy and torch.

    Example:
        >>> import fusepy as fp
        >>> is_differentiable_like(fp.Tensor([1, 2])), is_differentiable_like(5.0)
        (True, False)
    """
    kind = kind_of_class(value.__class__)
    carries = kind is not None and kind.gradients is not None
    return carries or (hasattr(value, "grad") and (hasattr(value, "needs_grad") or hasattr(value, "requires_grad")))


def paired(value: Any, other: Any, is_leaf: Callable[[Any], bool]) -> list[tuple[Any, Any]] | None:
    """Returns the leaves of a value, each with that of another value; ``None`` if that one has another structure.

    ``None`` in the other value, in place of a leaf or of a container, stands for ``None`` at each of these leaves.

    Example:
        >>> paired({"a": 1, "b": [2, 3]}, {"a": 4, "b": None}, lambda value: False)
        [(1, 4), (2, None), (3, None)]
    """
    if value is None:
        return [] if other is None else None
    container = None if is_leaf(value) else container_of(value)
    same = None if other is None or (container is None and is_leaf(other)) else container_of(other)
    if container is None:
        return [(value, other)] if same is None else None
    if other is None:
        return [(leaf, None) for leaf in flatten(value, is_leaf)[0]]
    if same is None or (same.cls or other.__class__) is not (container.cls or value.__class__):
        return None
    parts, others = container.parts(value), same.parts(other)
    if list(parts) != list(others):
        return None
    found = [paired(part, others[k], is_leaf) for k, part in parts.items() if k != TYPE or not is_mapping(value)]
    return None if any(part is None for part in found) else [pair for part in found for pair in part or ()]


def is_one(value: Any) -> bool:
    """True for a list that is one array, such as a list of numbers or of equal arrays, and for a value under `vmap`."""
    return isinstance(value, Mapped) or (
        isinstance(value, (list, tuple)) and container_of(value) is ITEMS and not is_nested(value)
    )


def completed(primal: Any, tangent: Any) -> Any:
    """Returns a tangent with zeros for ``None`` in lists that are one array."""
    if isinstance(primal, Traced) and isinstance(tangent, (list, tuple)):  # a list of equal arrays is one traced value
        rows: list[Any] = list(cast("Sequence[Any]", tangent))
        if primal.type.kind is not Kind.SCALAR or not any(row is None or isinstance(row, Traced) for row in rows):
            return rows
        zeros = np.zeros(primal.shape[1:], primal.type.dtype)
        return stack([zeros if row is None else row for row in rows])
    container = container_of(primal)
    if container is None or tangent is None or (container.cls or primal.__class__) is not tangent.__class__:
        return tangent
    parts, given = container.parts(primal), container.parts(tangent)
    if parts.keys() != given.keys():
        return tangent
    one = is_one(primal)
    made = {k: _zeros(parts[k]) if one and d is None else completed(parts[k], d) for k, d in given.items()}
    return container.rebuild(tangent, made)


def _zeros(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_zeros(part) for part in cast("Sequence[Any]", value)]
    return np.zeros_like(np.asarray(value)) if np.shape(value) else 0.0
