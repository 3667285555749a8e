"""Optimisers: the Slang function that updates one element of a parameter from its gradient, and its numbers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from fusepy.errors import ArgumentError, RangeError, did_you_mean
from fusepy.nn.rates import Rate, check_rate, rate_in


@dataclass(frozen=True)
class Optimiser:
    """The base class of optimisers: how one element of a parameter changes in a step.

    A step calls the Slang function `function` of ``fusepy/slang/fusepy_optimisers.slang`` with the element, its gradient, one
    ``inout`` value for each of `kept`, and the numbers of the step. An optimiser of your own sets `function` to a function of a
    module of yours, ``m.update``, with parameters in this order.

    Attributes:
        lr: the learning rate, or a function that gives it for the number of a step, from 1.
        maximize: True climbs: the step takes the gradient with the other sign.
        clip_value: each number of a gradient is limited to ``[-clip_value, clip_value]``.
        clip_norm: all gradients are multiplied by one number, so that the norm of all their numbers together is `clip_norm` at
            most. This comes after `clip_value`.
        kept: names of the values that are kept for each element from step to step; they are zero at first.
    """

    lr: Rate
    maximize: bool = field(default=False, kw_only=True)
    clip_value: float | None = field(default=None, kw_only=True)
    clip_norm: float | None = field(default=None, kw_only=True)
    function: ClassVar[Any] = ""
    kept: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *args: Any, **named: Any) -> Optimiser:
        """Raises `ArgumentError` for arguments that the class does not take: parameters, or options of torch's optimisers."""
        found = inspect.signature(cls.__init__).parameters
        names = list(found)[1:]
        unknown = next((name for name in named if name not in names), None)
        if unknown is not None and all(p.kind is not p.VAR_KEYWORD for p in found.values()):
            raise ArgumentError(
                f"{cls.__name__}() has no option {unknown!r}",
                expected=", ".join(names),
                hint=_ELSEWHERE.get(unknown) or did_you_mean(unknown, names),
            )
        allowed = [name for name in names if found[name].kind is found[name].POSITIONAL_OR_KEYWORD]
        if len(args) > len(allowed) and all(p.kind is not p.VAR_POSITIONAL for p in found.values()):
            raise ArgumentError(
                f"{cls.__name__}() takes {len(allowed)} options by position",
                saw=f"{len(args)} arguments",
                expected=", ".join(allowed),
                hint=f"write the others by name: {', '.join(f'{name}=…' for name in names if name not in allowed)}",
            )
        if args and names[:1] == ["lr"] and ("lr" in named or (np.iterable(args[0]) and not isinstance(args[0], str))):
            raise ArgumentError(
                f"{cls.__name__}() takes no parameters",
                saw=type(args[0]).__name__,
                hint=f"pass them to each step: step = fp.training_step(loss, fp.nn.{cls.__name__}(lr=1e-3)); step(parameters)",
            )
        if "__setattr__" in vars(cls):  # of a frozen dataclass: it raises an error without words
            setattr(cls, "__setattr__", _fixed)  # noqa: B010  # a class whose attribute it is knows another type
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_rate(type(self).__name__, self.lr)
        for name in ("clip_value", "clip_norm"):
            if getattr(self, name) is not None:
                self._positive(name)

    def rate(self, step: int) -> float:
        """Returns the learning rate of a step."""
        return rate_in(type(self).__name__, self.lr, step)

    def numbers(self, step: int) -> tuple[float, ...]:
        """Returns the numbers that the Slang function takes in a step, counted from 1."""
        return (self.rate(step),)

    def limits(self) -> dict[str, float]:
        """Returns the limits of gradients that are set, by name."""
        limits = {"clip_value": self.clip_value, "clip_norm": self.clip_norm}
        return {name: float(limit) for name, limit in limits.items() if limit is not None}

    def _positive(self, *names: str) -> None:
        """Raises `RangeError` for an option that is below 0, or no number."""
        for name in names:
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and value >= 0):
                what = f"{type(self).__name__}: {name} is a number from 0"
                raise RangeError(what, saw=repr(value)[:60], hint=f"write {name}=0.1, or leave it out")


def _fixed(self: Optimiser, name: str, value: Any) -> None:
    raise ArgumentError(
        f"{type(self).__name__}: {name} cannot be changed",
        saw=f"{name} = {value!r}"[:60],
        hint="write step.lr = 1e-4 for the steps that follow, or lr=lambda n: 1e-3 * 0.99**n when you make the optimiser"
        if name in ("lr", "learning_rate")
        else f"write step.optimiser = dataclasses.replace(step.optimiser, {name}=…)",
    )


_ONE_PROGRAM = "leave it out: a step is one planned program anyway"
_ELSEWHERE = {  # options of torch's optimisers and optax's that have another name here, or no use
    **dict.fromkeys(("foreach", "fused", "capturable", "differentiable"), _ONE_PROGRAM),
    **dict.fromkeys(("params", "parameters"), "pass the parameters to each step: step(parameters, *batch)"),
    **dict.fromkeys(("learning_rate", "rate", "alpha"), "write lr=1e-3"),
    **dict.fromkeys(("b1", "b2", "beta1", "beta2"), "write betas=(0.9, 0.999)"),
    "decoupled_weight_decay": "write fp.nn.AdamW(lr=1e-3, weight_decay=0.01)",
    **dict.fromkeys(("max_norm", "clip", "clip_grad_norm", "grad_clip"), "write clip_norm=1.0"),
}


@dataclass(frozen=True)
class SGD(Optimiser):
    """Gradient descent, with momentum if `momentum` is not 0.

    Args:
        lr: the learning rate.
        momentum: the part of the velocity that is kept from step to step.
        weight_decay: is multiplied by the parameter and added to its gradient.
        dampening: the part of a gradient, from the second step on, that does not enter the velocity.
        nesterov: True looks ahead: the step adds `momentum` times the new velocity to the gradient.
    """

    lr: Rate = 1e-2
    momentum: float = 0.0
    weight_decay: float = 0.0
    dampening: float = field(default=0.0, kw_only=True)
    nesterov: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("momentum", "weight_decay", "dampening")
        if self.nesterov and (not self.momentum or self.dampening):
            raise ArgumentError(
                "SGD: nesterov needs a momentum, and no dampening",
                saw=f"momentum={self.momentum}, dampening={self.dampening}",
                hint="write fp.nn.SGD(lr=0.01, momentum=0.9, nesterov=True)",
            )

    @property
    def function(self) -> str:  # type: ignore[override]
        return "sgd_nesterov" if self.nesterov else "sgd_momentum" if self.momentum else "sgd"

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("velocity",) if self.momentum else ()

    def numbers(self, step: int) -> tuple[float, ...]:
        found = (self.rate(step), float(self.weight_decay))
        taken = 1 - self.dampening if step > 1 else 1.0
        return (*found, float(self.momentum), float(taken)) if self.momentum else found


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam: a direction from running means of the gradient and of its square (Kingma and Ba, 2015).

    Args:
        lr: the learning rate.
        betas: the parts of both means that are kept from step to step; at least 0 and below 1.
        eps: is added to the root of the mean square.
        weight_decay: is multiplied by the parameter and added to its gradient; `AdamW` takes it from the parameter itself.
        amsgrad: True divides by the root of the largest mean square so far (Reddi and others, 2018).
    """

    lr: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = cast("object", self.betas)
        numbers = isinstance(given, (tuple, list)) and all(isinstance(beta, (int, float)) for beta in cast("list[Any]", given))
        if not numbers or len(self.betas) != 2:
            what = f"{type(self).__name__}: betas are two numbers"
            raise ArgumentError(what, saw=repr(self.betas)[:60], hint="write betas=(0.9, 0.999)")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise RangeError(f"{type(self).__name__}: betas are from 0 to below 1", saw=self.betas, hint="(0.9, 0.999) is usual")
        self._positive("eps", "weight_decay")

    @property
    def function(self) -> str:  # type: ignore[override]
        return "adam_amsgrad" if self.amsgrad else "adam"

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("mean", "square", "largest") if self.amsgrad else ("mean", "square")

    def numbers(self, step: int) -> tuple[float, ...]:
        b1, b2 = (float(np.float32(beta)) for beta in self.betas)  # as the kernel has them, so that the means are not biased
        return self.rate(step), *self._decays(), b1, b2, 1 / (1 - b1**step), 1 / (1 - b2**step), self.eps

    def _decays(self) -> tuple[float, float]:
        """Returns what is taken from the parameter, and what is added to its gradient."""
        return 0.0, float(self.weight_decay)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with weight decay that does not pass through the means (Loshchilov and Hutter, 2019)."""

    weight_decay: float = 1e-2

    def _decays(self) -> tuple[float, float]:
        return float(self.weight_decay), 0.0
