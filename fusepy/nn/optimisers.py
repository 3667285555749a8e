"""Optimisers: the Slang function that updates one element of a parameter from its gradient, and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from fusepy.errors import ArgumentError, RangeError

Rate = float | Callable[[int], float]  # a number, or a function of the number of the step, which is 1 at first


@dataclass(frozen=True)
class Optimiser:
    """The base class of optimisers: how one element of a parameter changes in a step.

    A step calls the Slang function `function` of ``fusepy/slang/fusepy_optimisers.slang`` with the element, its gradient, one
    ``inout`` value for each of `kept`, and the numbers of the step. An optimiser of your own sets `function` to a function of a
    module of yours, ``m.update``, with parameters in this order.

    Attributes:
        lr: the learning rate, or a function that gives it for the number of a step, from 1.
        kept: names of the values that are kept for each element from step to step; they are zero at first.
    """

    lr: Rate
    function: ClassVar[Any] = ""
    kept: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        lr = cast("object", self.lr)
        if not callable(lr) and not (isinstance(lr, (int, float)) and lr >= 0):
            raise ArgumentError(
                f"{type(self).__name__}: lr is no learning rate",
                saw=repr(self.lr)[:60],
                hint="pass a number such as 1e-3, or a function of the number of the step",
            )

    def rate(self, step: int) -> float:
        """Returns the learning rate of a step."""
        return float(self.lr(step) if callable(self.lr) else self.lr)

    def numbers(self, step: int) -> tuple[float, ...]:
        """Returns the numbers that the Slang function takes in a step, counted from 1."""
        return (self.rate(step),)


@dataclass(frozen=True)
class SGD(Optimiser):
    """Gradient descent, with momentum if `momentum` is not 0.

    Args:
        lr: the learning rate.
        momentum: the part of the velocity that is kept from step to step.
        weight_decay: is multiplied by the parameter and added to its gradient.
    """

    lr: Rate = 1e-2
    momentum: float = 0.0
    weight_decay: float = 0.0

    @property
    def function(self) -> str:  # type: ignore[override]
        return "sgd_momentum" if self.momentum else "sgd"

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("velocity",) if self.momentum else ()

    def numbers(self, step: int) -> tuple[float, ...]:
        found = (self.rate(step), float(self.weight_decay))
        return (*found, float(self.momentum)) if self.momentum else found


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam: a direction from running means of the gradient and of its square (Kingma and Ba, 2015).

    Args:
        lr: the learning rate.
        betas: the parts of both means that are kept from step to step; at least 0 and below 1.
        eps: is added to the root of the mean square.
    """

    lr: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    function: ClassVar[Any] = "adam"
    kept: ClassVar[tuple[str, ...]] = ("mean", "square")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(cast("object", self.betas), (tuple, list)) or len(self.betas) != 2:
            what = f"{type(self).__name__}: betas are two numbers"
            raise ArgumentError(what, saw=repr(self.betas)[:60], hint="write betas=(0.9, 0.999)")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise RangeError(f"{type(self).__name__}: betas are from 0 to below 1", saw=self.betas, hint="(0.9, 0.999) is usual")

    def numbers(self, step: int) -> tuple[float, ...]:
        b1, b2 = (float(np.float32(beta)) for beta in self.betas)  # as the kernel has them, so that the means are not biased
        return self.rate(step), self._decay(), b1, b2, 1 / (1 - b1**step), 1 / (1 - b2**step), self.eps

    def _decay(self) -> float:
        return 0.0


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with weight decay that does not pass through the means (Loshchilov and Hutter, 2019)."""

    weight_decay: float = 1e-2

    def _decay(self) -> float:
        return float(self.weight_decay)
