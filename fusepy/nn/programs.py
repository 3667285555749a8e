"""The program of a training step."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fusepy.errors import GradientError
from fusepy.functions.fused import FusedFunction, of_object
from fusepy.ir.types import FLOAT
from fusepy.language.gradients import differentiated
from fusepy.nn.optimisers import Optimiser
from fusepy.nn.updates import Rule, updated, with_names
from fusepy.pytree import Structure, flatten
from fusepy.trace.arity import of_count


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that change by one rule.

    Attributes:
        pattern: of their names; ``None`` for those in no other group.
        optimiser: their optimiser.
        update: its Slang function.
        numbers: the count of its numbers.
    """

    pattern: str | None
    optimiser: Optimiser
    update: Any
    numbers: int


def program_of_step(
    loss: Callable[..., Any],
    structure: Structure,
    patterns: Sequence[str | None],
    groups: Sequence[ParameterGroup],
    limits: Sequence[str],
    batch: int,
) -> FusedFunction:
    """Returns the fused function of a step: from parameters, kept values, numbers, limits and batch to the loss and new values.

    Args:
        structure: of the parameters, each of which is in the group with its entry of `patterns`.
        limits: the names of the limits of gradients.
        batch: the number of arguments of the loss behind the parameters.
    """
    loss_of, *owner = of_object(loss) or (loss,)  # a method is made a function of its object, see `of_object`
    both, by_pattern = differentiated(loss_of, len(owner), False, True, "training_step"), {g.pattern: g for g in groups}
    mine = [by_pattern[pattern] for pattern in patterns]

    def step(*given: Any) -> Any:
        rest = iter(given)

        def take(count: int) -> list[Any]:
            return list(islice(rest, count))

        own, leaves, kept = take(len(owner)), take(structure.leaves), [take(len(g.optimiser.kept)) for g in mine]
        numbers = {g.pattern: take(g.numbers) for g in groups}
        limited = dict(zip(limits, take(len(limits))))
        value, gradients = both(*own, structure.fill(leaves), *rest)
        if value.rank or value.type.shape:
            raise GradientError(
                "the loss of a training step is one number",
                saw=f"{value.type} over {value.rank} axes",
                hint="return fp.mean(…) of numbers; vectors become numbers by fp.dot(v, v)",
            )
        rules = [Rule(g.optimiser, g.update, numbers[g.pattern], of) for g, of in zip(mine, kept)]
        return value._fusepy_cast(FLOAT), *updated(leaves, flatten(gradients)[0], rules, limited)

    step.__name__ = f"step_of_{getattr(loss, '__name__', 'loss')}"
    given, *others = [*of_count(inspect.signature(loss), 1 + batch).parameters, *(f"batch_{i}" for i in range(batch))][
        : 1 + batch
    ]
    names = [_word(path) for path in structure.paths(given)]
    names += [f"{name}_{kept}" for name, group in zip(names, mine) for kept in group.optimiser.kept]
    names += [name for group in groups for name in _numbers(group)]
    made = FusedFunction(with_names(step, [*["owner_"] * len(owner), *names, *limits, *others]))
    return made.__get__(owner[0]) if owner else made


def _numbers(group: ParameterGroup) -> list[str]:
    """Returns the names of the numbers of a group."""
    first = 2 + len(group.optimiser.kept)
    names = group.update.tracer.parameter_names()[first : first + group.numbers]
    return [_word(f"{group.pattern or ''}_{name}") for name in names]


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_")
