"""New values of parameters: gradients within limits, number by number and by their norm, and the function of the optimiser."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.arguments.mapping import vcast
from fusepy.backend.device.device import Device
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.sources.libraries import FOLDER
from fusepy.ir.types import DOUBLE, FLOAT, HALF, Type
from fusepy.language.math import clip, dot, minimum, sqrt
from fusepy.language.reductions import sum as sum_of
from fusepy.modules.libraries import library
from fusepy.modules.module import Module
from fusepy.nn.optimisers import Optimiser

_LEAST = 1e-6  # is added to the norm, as PyTorch does, so that gradients of zero stay zero


def wide(type: Type) -> Type:
    """Returns the type in which a parameter is updated: a half has no 1e-8, and no square of a small gradient."""
    return type.with_scalar(FLOAT) if type.scalar is HALF else type


@dataclass(frozen=True)
class Rule:
    """The change of one parameter in a step.

    Attributes:
        optimiser: the optimiser of the parameter.
        update: its Slang function.
        numbers: the numbers of the step, traced.
        kept: what it keeps for this parameter, traced.
    """

    optimiser: Optimiser
    update: Callable[..., Any]
    numbers: Sequence[Any]
    kept: Sequence[Any]


def updated(leaves: Sequence[Any], gradients: Sequence[Any], rules: Sequence[Rule], limits: Mapping[str, Any]) -> list[Any]:
    """Records the new values of parameters, each followed by what its optimiser keeps for it.

    Args:
        limits: see `limited`.
    """
    types = [wide(leaf.type) for leaf in leaves]
    slopes = limited([g._fusepy_cast(type) for g, type in zip(gradients, types)], limits)
    made: list[Any] = []
    for leaf, slope, type, rule in zip(leaves, slopes, types, rules):
        slope = -slope if rule.optimiser.maximize else slope
        args = [vcast(v._fusepy_cast(type), type) for v in (leaf, slope, *rule.kept)]  # numbers stay numbers
        found = rule.update(*args, *rule.numbers)
        new, *others = found if rule.kept else (found,)
        made += [new._fusepy_cast(leaf.type), *others]
    return made


def limited(gradients: Sequence[Any], limits: Mapping[str, Any]) -> list[Any]:
    """Records the gradients within the limits of an optimiser.

    Args:
        gradients: traced gradients of floats or doubles, or of vectors of these.
        limits: ``clip_value`` and ``clip_norm``, traced numbers; each may be missing.
    """
    if "clip_value" in limits:
        limit = limits["clip_value"]
        gradients = [clip(g, -limit, limit) for g in gradients]
    if "clip_norm" in limits:
        wide = DOUBLE if any(g.type.scalar is DOUBLE for g in gradients) else FLOAT
        norm = sqrt(sum(_squares(g)._fusepy_cast(wide) for g in gradients))
        factor = minimum(limits["clip_norm"] / (norm + _LEAST), 1.0)
        gradients = [g * factor._fusepy_cast(g.type.scalar) for g in gradients]
    return list(gradients)


def _squares(gradient: Any) -> Any:
    """Records the sum of the squares of all numbers of a gradient."""
    squares = dot(gradient, gradient) if gradient.type.shape else gradient * gradient
    return sum_of(squares) if gradient.rank else squares


def update_of(optimiser: Optimiser, device: Device) -> Any:
    """Returns the Slang function of an optimiser on a device."""
    if not isinstance(optimiser.function, str):
        return optimiser.function
    module = library(device, "optimisers", lambda d: Module.load_from_file(d, str(FOLDER / "fusepy_optimisers.slang")))
    return getattr(module, optimiser.function)


def zeros_like(like: Tensor) -> Tensor:
    """Returns what an optimiser keeps for a parameter, before the first step."""
    return Tensor.zeros(like.device, like.shape, wide(like.dtype))


def with_names(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """Gives a function of any number of arguments the signature that a trace needs."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    unique = [f"{word}_{names[:i].count(word)}" if word in names[:i] else word for i, word in enumerate(names)]
    vars(function)["__signature__"] = inspect.Signature([inspect.Parameter(name, kind) for name in unique])
    return function
