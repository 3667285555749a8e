"""`differentiable` and `stop_gradient`: values with a gradient of their own, for ``f.bwds``, and values without any."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.marshals.registry import host_array, kind_of_class
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError
from fusepy.location import user_line
from fusepy.pytree import flatten
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced


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
            place=user_line(),
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
    if isinstance(unmapped(leaf), Traced):
        return trace.record("stop_gradient", [leaf])
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
