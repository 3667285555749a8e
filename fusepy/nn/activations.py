"""Activations: functions of one number between the layers of a network; inside fused functions and of arrays.

The Slang module ``fusepy_nn`` has the same as structs: ``ReLU``, ``LeakyReLU``, ``GELU``, ``SiLU``, ``Sigmoid``, ``Tanh``,
``Softplus``, ``Exp``, ``Sine`` and ``Identity``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.fused import fuse
from fusepy.language import math as _math
from fusepy.language.math import exp, tanh


@fuse
def relu(x: Any) -> Any:
    """Returns x where it is positive, else 0. The gradient at 0 is 0.

    Example:
        >>> import fusepy as fp
        >>> fp.nn.relu([-1.0, 2.0])
        [0.0, 2.0]
    """
    return _math.relu(x)


@fuse
def leaky_relu(x: Any) -> Any:
    """Returns x where it is positive, else ``0.01 * x``."""
    return _math.where(x <= 0, 0.01 * x, x)


@fuse
def sigmoid(x: Any) -> Any:
    """Returns ``1 / (1 + exp(-x))``, for numbers of any size."""
    e = exp(-_math.abs(x))
    return _math.where(x < 0, e, 1.0) / (1.0 + e)


@fuse
def silu(x: Any) -> Any:
    """Returns ``x * sigmoid(x)``, also called swish."""
    return x * sigmoid(x)


@fuse
def gelu(x: Any) -> Any:
    """Returns ``x`` times the normal distribution at ``x``, in the usual approximation by ``tanh``, off by at most 5e-4."""
    return x * sigmoid(1.5957691 * (x + 0.044715 * x * x * x))


@fuse
def softplus(x: Any) -> Any:
    """Returns ``log(1 + exp(x))``, for numbers of any size."""
    return _math.maximum(x, 0.0) + _math.log(1.0 + exp(-_math.abs(x)))


@fuse
def sine(x: Any) -> Any:
    """Returns ``sin(x)``."""
    return _math.sin(x)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "gelu": gelu,
    "silu": silu,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "softplus": softplus,
    "exp": exp,
    "sine": sine,
}


def activation_of(given: object, what: str) -> Callable[[Any], Any] | None:
    """Returns an activation by its name, or the function that is given; ``None`` stays ``None``.

    Raises:
        ArgumentError: for an unknown name, or no function.
    """
    if given is None or callable(given):
        return given
    if isinstance(given, str) and given in ACTIVATIONS:
        return ACTIVATIONS[given]
    near = did_you_mean(given, ACTIVATIONS) if isinstance(given, str) else ""
    raise ArgumentError(
        f"{what}: there is no such activation",
        saw=repr(given)[:60],
        expected=", ".join(ACTIVATIONS),
        hint=near or "pass one of these names, or a function of traced values",
    )
