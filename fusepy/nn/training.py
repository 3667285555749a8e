"""`training_step`: loss, gradients and the update of all parameters as one program."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fusepy.backend.device.device import Device
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, GradientError
from fusepy.functions.fused import FusedFunction, of_object
from fusepy.inspect.explain import Explanation
from fusepy.ir.types import FLOAT
from fusepy.language.gradients import differentiated
from fusepy.nn.optimisers import Optimiser, Rate
from fusepy.nn.parameters import parameters as tensors_of
from fusepy.nn.updates import library_on, program_of, updated, with_names, zeros_like
from fusepy.pytree import Structure, flatten
from fusepy.trace.arity import by_position, of_count


class TrainingStep:
    """A step of training; made by `training_step`.

    Attributes:
        count: the number of steps taken.
        state: what the optimiser keeps, a list of tensors for each parameter.
    """

    __slots__ = ("_loss", "_optimiser", "_programs", "count", "state")

    def __init__(self, loss: Callable[..., Any], optimiser: Optimiser):
        self._loss = loss
        self._optimiser = optimiser
        self.count = 0
        self.state: list[list[Tensor]] = []
        self._programs: dict[tuple[Structure, int], FusedFunction] = {}

    @property
    def optimiser(self) -> Optimiser:
        """The optimiser; another one with the same kept values takes its place for the steps that follow, in the same program.

        Raises:
            ArgumentError: if another one is of another class, or has other options than other numbers.
        """
        return self._optimiser

    @optimiser.setter
    def optimiser(self, optimiser: Optimiser) -> None:
        if program_of(optimiser) != program_of(self._optimiser):
            raise ArgumentError(
                "a step keeps its program, and another optimiser needs another one",
                saw=type(optimiser).__name__,
                expected=f"{type(self._optimiser).__name__}, with the same options except for their numbers",
                hint="make another step: fp.training_step(loss, optimiser)",
            )
        self._optimiser = optimiser

    @property
    def lr(self) -> float:
        """The learning rate of the next step. A number that is set holds for the steps that follow; no kernel is compiled."""
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
        numbers = self._numbers()
        batch = by_position(self._loss, (parameters, *batch), named)[1:] if named else batch
        program, args, written = self._call(parameters, batch, len(numbers))
        loss = Tensor.empty(written[0].device, (), "float")  # of this step: a list of losses holds different ones
        program(*args, *numbers, *batch, _result=(loss, *written))
        self.count += 1
        return loss

    def start(self, leaves: Sequence[Tensor]) -> None:
        """Makes the state of the optimiser, zeros, unless it exists. The first step and `fp.nn.load` call it."""
        if not self.state:
            self.state = [[zeros_like(leaf) for _ in self._optimiser.kept] for leaf in leaves]

    def explain(self, parameters: Any = None, *batch: Any, **named: Any) -> Explanation:
        """Returns the kernels of a step, and the reasons for them, without running it."""
        program, args = self._described(parameters, batch, named)
        return program.explain(*args).in_short()

    def source(self, parameters: Any = None, *batch: Any, **named: Any) -> str:
        """Returns the Slang of the kernels of a step."""
        program, args = self._described(parameters, batch, named)
        return program.source(*args)

    def _numbers(self) -> list[float]:
        """Returns the numbers of the next step: those of the optimiser, and the limits of gradients."""
        return [*self._optimiser.numbers(self.count + 1), *self._optimiser.limits().values()]

    def _described(self, parameters: Any, batch: Sequence[Any], named: Mapping[str, Any]) -> tuple[FusedFunction, list[Any]]:
        """Returns the program of a step and all of its arguments."""
        batch = by_position(self._loss, (parameters, *batch), named)[1:] if named else batch
        numbers = self._numbers()
        program, args, _ = self._call(parameters, batch, len(numbers))
        return program, [*args, *numbers, *batch]

    def _call(self, parameters: Any, batch: Sequence[Any], numbers: int) -> tuple[FusedFunction, list[Any], list[Tensor]]:
        """Returns the program, its arguments before the numbers, and the tensors that it writes behind the loss."""
        leaves, structure = flatten(parameters)
        for leaf, tensor in zip(leaves, flatten(tensors_of(parameters))[0]):
            if leaf is not tensor:
                raise ArgumentError(
                    "a training step changes its parameters in place, and they are no tensors",
                    saw=type(leaf).__name__,
                    expected="Tensors in any structure",
                    hint="make them once, before the first step: params = fp.nn.parameters(params)",
                )
        if not leaves:
            raise ArgumentError("a training step without parameters", hint="pass the parameters as the first argument")
        if len(set(map(id, leaves))) < len(leaves):
            raise ArgumentError(
                "two parameters are one tensor, and each would be changed by itself",
                saw=f"{len(leaves)} parameters, {len(set(map(id, leaves)))} tensors",
                hint="give it one name, and use that wherever the loss needs it",
            )
        self.start(leaves)
        shapes = [kept[0].shape for kept in self.state if kept]
        if len(leaves) != len(self.state) or (shapes and shapes != [leaf.shape for leaf in leaves]):
            raise ArgumentError(
                "these are other parameters than in the first step",
                saw=f"{len(leaves)} parameters",
                expected=f"{len(self.state)} parameters, of the same shapes",
                hint="make another training step for other parameters",
            )
        program = self._programs.get((structure, len(batch)))
        if program is None:
            program = self._programs[structure, len(batch)] = self._program(structure, leaves[0].device, len(batch), numbers)
        kept = [tensor for tensors in self.state for tensor in tensors]
        written = [t for leaf, tensors in zip(leaves, self.state) for t in (leaf, *tensors)]
        return program, [*leaves, *kept], written

    def _program(self, structure: Structure, device: Device, batch: int, numbers: int) -> FusedFunction:
        """Returns the fused function of a step: from parameters, state, numbers and batch to the loss and their new values."""
        loss_of, *owner = of_object(self._loss) or (self._loss,)  # a method is made a function of its object, see `of_object`
        both, optimiser = differentiated(loss_of, len(owner), False, True, "training_step"), self._optimiser
        count, each = structure.leaves, len(optimiser.kept)
        update = optimiser.function
        update = getattr(library_on(device), update) if isinstance(update, str) else update
        own = of_count(inspect.signature(self._loss), 1 + batch).parameters
        first, *others = [*own, *(f"batch_{i}" for i in range(batch))][: 1 + batch]
        names = [re.sub(r"\W+", "_", path).strip("_") for path in structure.paths(first)]
        names += [f"{name}_{kept}" for name in names for kept in optimiser.kept]
        limits = list(optimiser.limits())
        of_update = update.tracer.parameter_names()[2 + each : 2 + each + numbers - len(limits)]
        names = [*["owner_"] * len(owner), *names, *of_update, *limits, *others]

        def step(*given: Any) -> Any:
            own, given = given[: len(owner)], given[len(owner) :]
            leaves, values = given[:count], given[count : count * (1 + each) + numbers]
            loss, gradients = both(*own, structure.fill(leaves), *given[len(given) - batch :])
            if loss.rank or loss.type.shape:
                raise GradientError(
                    "the loss of a training step is one number",
                    saw=f"{loss.type} over {loss.rank} axes",
                    hint="return fp.mean(…) of numbers; vectors become numbers by fp.dot(v, v)",
                )
            new = updated(optimiser, update, leaves, flatten(gradients)[0], values)
            return loss._fusepy_cast(FLOAT), *new

        step.__name__ = f"step_of_{getattr(self._loss, '__name__', 'loss')}"
        made = FusedFunction(with_names(step, names))
        return made.__get__(owner[0]) if owner else made


def training_step(loss: Callable[..., Any], optimiser: Optimiser) -> TrainingStep:
    """Returns a function that takes steps of training: the loss, its gradients and the update of all parameters, one program.

    Args:
        loss: a function of the parameters and of the arguments of a batch; gives one number.
        optimiser: an optimiser such as ``fp.nn.Adam(lr=1e-2)``.

    Returns:
        ``step(parameters, *batch)``, which changes the parameters in place and returns the loss.

    Raises:
        ArgumentError: if `optimiser` is no `Optimiser`, or `loss` no function.

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
    return TrainingStep(loss, optimiser)
