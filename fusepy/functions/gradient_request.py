"""`GradientRequest`: the gradients that a call of a backward pass asks for; `CallGradients` collects them from its arguments."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import flat, is_nested, leaves_of
from fusepy.backend.marshals.registry import gradients_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, GradientError
from fusepy.functions.accumulators import accumulated
from fusepy.functions.autograd import has_autograd
from fusepy.functions.parts import Config
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import IN, OUT, Param
from fusepy.pytree import flatten
from fusepy.trace.gradients import GradientTarget
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.writeback import part_of


@dataclass(frozen=True)
class GradientRequest:
    """The gradients that a call asks for: everything beside the kinds of its arguments that its program depends on.

    Attributes:
        static: the key of the static arguments.
        params: the parameters of the arguments, with their positions for `Config.spec`.
        positional: the number of arguments by position.
        results: the number of results in ``_result=``.
        seeds: the paths of the results whose gradients are given; the others are 1.
        wanted: for each gradient that is written, the indices of the leaves whose gradients it gets. One tensor may be several.
        replaced: the gradients that are replaced, and not added to.
        kinds: the accumulators of these gradients, or ``None``.
        fresh: those that an accumulator gives another shape, so that they become new tensors.
    """

    static: Hashable
    params: tuple[tuple[int, Param], ...]
    positional: int
    results: int
    seeds: tuple[str, ...]
    wanted: tuple[tuple[int, ...], ...]
    replaced: frozenset[int]
    kinds: tuple[str | None, ...] = ()
    fresh: frozenset[int] = frozenset()

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.static, self.params, self.results, self.seeds, self.wanted, self.kinds))

    def target(self, trace: Trace, i: int, held: Traced | None) -> GradientTarget:
        """Returns the gradient number `i` as it is computed."""
        kind = self.kinds[i]
        values = [trace.builder.inputs[k] for k in self.wanted[i]]
        accumulate = None if kind is None else functools.partial(accumulated, trace, kind=kind)
        return GradientTarget(values, None if i in self.replaced else held, accumulate)

    def ends(
        self,
        trace: Trace,
        name: str,
        results: Sequence[tuple[Traced, int | None]],
        leaves: Sequence[Sequence[tuple[str, Any]]],
        config: Config,
        given: Mapping[str, tuple[Any, Any]],
    ) -> list[tuple[Traced, Any, ArgMap]]:
        """Returns the results, those in nested arguments leaf by leaf, with their gradients and the mappings of these.

        Args:
            given: the gradients by the paths of the results: traced, and as they were passed.

        Raises:
            ArgumentError: if ``_result=`` has another number of results.
        """
        count = sum(place is None for _, place in results)
        if self.results not in (0, count):
            raise ArgumentError(
                f"{name}: {self.results} results are given, there are {count}",
                hint="pass all that the call returned, in the same order, or omit _result=",
            )
        parts: list[tuple[str, Traced, ArgMap]] = []
        returned = iter([path_of(i, count) for i in range(count)])
        for result, place in results:
            if place is None:
                parts.append((next(returned), result, UNSAID))
                continue
            position, param = self.params[place]
            for path, _ in leaves[place]:
                part = result if path == param.name else part_of(trace, result, path)
                parts.append((path, part, config.spec(position, param.name) or UNSAID))
        found: list[tuple[Traced, Any, ArgMap]] = []
        for path, part, said in parts:
            grad, passed = given.get(path, (None, None))
            found.append((part, grad, passed.map if isinstance(passed, Mapped) else said))
        return found


class KnownRequest(NamedTuple):
    """A request, and the gradients that it names: each with the number of its leaf, and its place among those of the leaf."""

    request: GradientRequest
    grads: tuple[tuple[str, int, int], ...]
    owners: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(request: GradientRequest, leaves: Sequence[Any], named: Mapping[str, Any], owners: Any) -> KnownRequest:
        """Returns the request of a call with its gradients by name, and the leaves that get new ones."""
        tensors = [(i, leaf) for i, leaf in enumerate(leaves) if leaf.__class__ is Tensor]
        places = {id(grad): (i, half) for i, leaf in tensors for half, grad in enumerate(leaf.grads or ())}
        at = {id(leaf): i for i, leaf in tensors}
        grads = tuple((name, *places[id(grad)]) for name, grad in named.items())
        return KnownRequest(request, grads, tuple(tuple(at[id(owner)] for owner in found) for found in owners))


class CallGradients:
    """The gradients among the arguments of a call.

    Attributes:
        read: the gradients of results by path.
        written, wanted: the gradients of arguments, and the indices of the leaves that they belong to; by identity.
        replaced: the places of those that are replaced.
        owners: the arguments that they belong to; by identity.
        paths: the paths of the leaves.
        results: the number of results in ``_result=``.
    """

    def __init__(self, params: Sequence[Param], values: Sequence[Any], result: Any):
        self.read: dict[str, Any] = {}
        self.written: dict[int, Any] = {}
        self.wanted: dict[int, list[int]] = {}
        self.replaced: list[int] = []
        self.owners: dict[int, list[Any]] = {}
        self.paths: list[str] = []
        self.results = 0
        for param, value in zip(params, values):
            for path, leaf in leaves_of(value, param.name) if is_nested(value) else ((param.name, value),):
                both = gradients_of(unmapped(leaf))
                if param.direction != OUT:
                    if both is not None and both[1] is not None:
                        self._write(unmapped(leaf), both[1], param.direction != IN and both[0] is both[1])
                    self.paths.append(path)
                if both is not None and param.direction != IN:
                    self._read(path, leaf, both)
        if result is not None:
            self._returned(result)

    def _write(self, owner: Any, grad: Any, replaced: bool) -> None:
        """Adds the gradient of the next leaf."""
        if id(grad) not in self.written:
            self.written[id(grad)], self.wanted[id(grad)], self.owners[id(grad)] = grad, [], []
            if replaced:
                self.replaced.append(len(self.written) - 1)
        self.wanted[id(grad)].append(len(self.paths))
        self.owners[id(grad)].append(owner)

    def kinds(self, function: str, asked: Mapping[int, str | None]) -> dict[int, str | None]:
        """Returns the accumulators of gradients: those that are asked for, and those of their arguments.

        Raises:
            GradientError: for a gradient of another shape than its argument, without accumulator.
        """
        found: dict[int, str | None] = {}
        for k, kind in asked.items():
            owner = self.owners[k][0]
            found[k] = kind or getattr(owner, "accumulator", None)
            if found[k] is None and not getattr(owner, "paired", True):
                raise GradientError(
                    f"{function}: the gradient of {self.paths[self.wanted[k][0]]!r} has another shape, which an accumulator made",
                    saw=list(self.written[k].shape),
                    expected=list(owner.shape),
                    hint="attach a new one, x = x.with_grads(); or accumulate again",
                )
        return found

    def _read(self, path: str, value: Any, both: tuple[Any, Any]) -> None:
        """Adds the gradient of a result, under the mapping of the result."""
        grad = both[1] if both[0] is None else both[0]
        self.read[path] = Mapped(grad, value.map) if isinstance(value, Mapped) else grad

    def _returned(self, result: Any) -> None:
        """Adds the gradients of the results of the call.

        Raises:
            ArgumentError: for the name of a container.
        """
        if isinstance(result, (str, type)):
            raise ArgumentError(
                f"_result={result!r}: a backward pass returns nothing",
                hint="pass the result of the call, whose .grad is its gradient; or omit _result=",
            )
        leaves, _ = flatten(result, lambda v: isinstance(v, Mapped))
        self.results = len(leaves)
        for i, leaf in enumerate(leaves):
            both = gradients_of(unmapped(leaf))
            if both is not None:
                self._read(path_of(i, len(leaves)), leaf, both)


def path_of(i: int, count: int) -> str:
    """Returns the path of a returned result."""
    return "_result" if count == 1 else f"_result.{i}"


def without_gradients(name: str, args: Sequence[Any]) -> GradientError:
    """Returns the error of a call without a gradient among its arguments."""
    hint = "attach one before the call, x = x.with_grads(); what is computed is added to x.grad"
    if any(has_autograd(unmapped(leaf)) for leaf in flat(args)):
        hint = "call the function itself with tensors that require gradients, and backward() of its result"
    expected = "a Tensor with gradients among the arguments"
    return GradientError(f"{name}(): no argument has a gradient", expected=expected, hint=hint)
