"""`training_step`: loss, gradients and the update of all parameters as one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError
from fusepy.functions.fused import FusedFunction
from fusepy.inspect.explain import Explanation
from fusepy.ir.types import FLOAT
from fusepy.nn.groups import NO_GROUPS, Groups, GroupsOfStep, assigned, checked_groups, expect_same_groups, expect_same_program
from fusepy.nn.optimisers import Optimiser
from fusepy.nn.parameters import expect_tensors, names_of
from fusepy.nn.programs import ParameterGroup, program_of_step
from fusepy.nn.rates import Rate
from fusepy.nn.updates import update_of, zeros_like
from fusepy.pytree import Structure, flatten
from fusepy.trace.arity import by_position

_LOSS = element_of(FLOAT)


class TrainingStep(Sealed):
    """A step of training; made by `training_step`.

    Attributes:
        count: the number of steps taken.
        state: what the optimisers keep, a list of tensors for each parameter.
    """

    _assigning = {"": "make another one: fp.training_step(loss, fp.nn.Adam(lr=1e-3))"}

    __slots__ = ("_groups", "_loss", "_names", "_optimiser", "_patterns", "_programs", "count", "state")

    def __init__(self, loss: Callable[..., Any], optimiser: Optimiser, groups: Groups):
        self._loss = loss
        self._optimiser = optimiser
        self._groups = checked_groups(groups, optimiser)
        self.count = 0
        self.state: list[list[Tensor]] = []
        self._names: list[str] = []  # of the parameters
        self._patterns: list[str | None] = []  # of the groups that they are in
        self._programs: dict[tuple[Structure, int], FusedFunction] = {}

    @property
    def optimiser(self) -> Optimiser:
        """The optimiser of parameters in no group; another one with the same kept values takes its place for the steps that
        follow, in the same program. Its limits of gradients hold for all groups.

        Raises:
            ArgumentError: if another one is of another class, or has other options than other numbers.
        """
        return self._optimiser

    @optimiser.setter
    def optimiser(self, optimiser: Optimiser) -> None:
        expect_same_program(optimiser, self._optimiser)
        self._optimiser, limits = optimiser, {"clip_value": optimiser.clip_value, "clip_norm": optimiser.clip_norm}
        self._groups = {pattern: replace(own, **limits) for pattern, own in self._groups.items()}

    @property
    def groups(self) -> dict[str, Optimiser]:
        """The optimisers of groups, by pattern. ``step.groups |= {"*.bias": …}`` sets one for the steps that follow.

        Raises:
            ArgumentError: if a pattern is another one, or an optimiser needs another program.
        """
        return GroupsOfStep(self._groups)

    @groups.setter
    def groups(self, groups: Groups) -> None:
        groups = checked_groups(groups, self._optimiser)
        expect_same_groups(groups, self._groups)
        self._groups = groups

    @property
    def lr(self) -> float:
        """The learning rate of the next step, outside of groups. A number that is set holds for the steps that follow; no
        kernel is compiled."""
        return self._optimiser.rate(self.count + 1)

    @lr.setter
    def lr(self, rate: Rate) -> None:
        self._optimiser = replace(self._optimiser, lr=rate)

    def __call__(self, parameters: Any = None, *batch: Any, **named: Any) -> Tensor:
        """Takes one step: changes `parameters` in place.

        Args:
            parameters: the first argument of the loss: tensors in any structure, see ``fp.nn.parameters``.
            batch, named: its other arguments, by position or name.

        Returns:
            the loss before the step, a tensor on the device; ``float(loss)`` waits for it.

        Raises:
            ArgumentError: for parameters that are no tensors, or not those of the step before.
            GradientError: if the loss has no gradient, or cannot depend on the parameters.
        """
        program, args, written = self._call(parameters, batch, named)
        loss = Tensor(written[0].device, _LOSS, ())  # of this step: a list of losses holds different ones
        program(*args, _result=(loss, *written))
        self.count += 1
        return loss

    @property
    def optimisers(self) -> list[Optimiser]:
        """The optimiser of each parameter; none before the first step."""
        return [self._of(pattern) for pattern in self._patterns]

    def start(self, parameters: Any) -> None:
        """Makes the state of the optimisers, zeros, unless it exists. The first step and `fp.nn.load` call it.

        Raises:
            ArgumentError: if a group has no parameters.
        """
        if not self._names:
            leaves, structure = flatten(parameters)
            self._patterns = assigned(names_of(structure), self._groups)
            self._names = names_of(structure)
            self.state = [[zeros_like(leaf) for _ in own.kept] for leaf, own in zip(leaves, self.optimisers)]

    def explain(self, parameters: Any = None, *batch: Any, **named: Any) -> Explanation:
        """Returns the kernels of a step, and the reasons for them, without running it."""
        program, args, _ = self._call(parameters, batch, named)
        return program.explain(*args).in_short()

    def source(self, parameters: Any = None, *batch: Any, **named: Any) -> str:
        """Returns the Slang of the kernels of a step."""
        program, args, _ = self._call(parameters, batch, named)
        return program.source(*args)

    def _call(
        self, parameters: Any, batch: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[FusedFunction, list[Any], list[Tensor]]:
        """Returns the program, all of its arguments, and the tensors that it writes behind the loss."""
        batch = by_position(self._loss, (parameters, *batch), named)[1:] if named else batch
        leaves, structure = flatten(parameters)
        expect_tensors(parameters, leaves)
        self.start(parameters)
        program = self._programs.get((structure, len(batch)))
        same = program is not None or names_of(structure) == self._names
        if not same or any(kept and kept[0].shape != leaf.shape for leaf, kept in zip(leaves, self.state)):
            raise ArgumentError(
                "these are other parameters than in the first step",
                saw=f"{len(leaves)} parameters: {', '.join(names_of(structure))}"[:80],
                expected=f"{len(self.state)} parameters, of the same names and shapes: {', '.join(self._names)}"[:120],
                hint="make another training step for other parameters",
            )
        limits, numbers = (
            self._optimiser.limits(),
            {p: self._of(p).numbers(self.count + 1) for p in dict.fromkeys(self._patterns)},
        )
        if program is None:
            groups = [
                ParameterGroup(p, self._of(p), update_of(self._of(p), leaves[0].device), len(found))
                for p, found in numbers.items()
            ]
            program = program_of_step(self._loss, structure, self._patterns, groups, list(limits), len(batch))
            self._programs[structure, len(batch)] = program
        kept = [tensor for tensors in self.state for tensor in tensors]
        written = [t for leaf, tensors in zip(leaves, self.state) for t in (leaf, *tensors)]
        values = [*(number for found in numbers.values() for number in found), *limits.values()]
        return program, [*leaves, *kept, *values, *batch], written

    def _of(self, pattern: str | None) -> Optimiser:
        """Returns the optimiser of a group; that of the step for ``None``."""
        return self._optimiser if pattern is None else self._groups[pattern]


def training_step(loss: Callable[..., Any], optimiser: Optimiser, groups: Groups = NO_GROUPS) -> TrainingStep:
    """Returns a function that takes steps of training: the loss, its gradients and the update of all parameters, one program.

    Args:
        loss: a function of the parameters and of the arguments of a batch; gives one number.
        optimiser: an optimiser such as ``fp.nn.Adam(lr=1e-2)``.
        groups: optimisers of parameters that have another one, by patterns of their names in ``fp.nn.named``:
            ``{"*.bias": fp.nn.Adam(lr=1e-3)}``. The first pattern that fits counts. The limits of gradients are those of
            `optimiser`, over all parameters.

    Returns:
        ``step(parameters, *batch)``, which changes the parameters in place and returns the loss.

    Raises:
        ArgumentError: if `optimiser` or a group is no `Optimiser`, or `loss` no function; in the first step, if a group has no
            parameters.

    Example:
        >>> import fusepy as fp, numpy as np
        >>> def loss(p, x, y):
        ...     return fp.mean((p["a"] * x + p["b"] - y) ** 2)
        >>> params = fp.nn.parameters({"a": 0.0, "b": 0.0})
        >>> step = fp.training_step(loss, fp.nn.SGD(lr=0.5))
        >>> x = np.linspace(-1, 1, 64, dtype=np.float32)
        >>> for _ in range(100):
        ...     last = step(params, x, 3 * x + 1)
        >>> round(float(params["a"]), 3), round(float(params["b"]), 3)
        (3.0, 1.0)
    """
    if not isinstance(cast("object", optimiser), Optimiser) or not callable(loss):
        raise ArgumentError(
            "training_step() takes a loss and an optimiser",
            saw=f"{type(loss).__name__} and {type(optimiser).__name__}",
            hint="write fp.training_step(loss, fp.nn.Adam(lr=1e-3))",
        )
    return TrainingStep(loss, optimiser, groups)
