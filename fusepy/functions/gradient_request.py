"""`GradientRequest`: the gradients that a call of a backward pass asks for; `CallGradients` collects them from its arguments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import is_nested, leaves_of
from fusepy.backend.marshals.registry import gradients_of
from fusepy.errors import ArgumentError
from fusepy.ir.oracle import IN, OUT, Param
from fusepy.location import user_line
from fusepy.pytree import flatten


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
    """

    static: Hashable
    params: tuple[tuple[int, Param], ...]
    positional: int
    results: int
    seeds: tuple[str, ...]
    wanted: tuple[tuple[int, ...], ...]
    replaced: frozenset[int]


class CallGradients:
    """The gradients among the arguments of a call.

    Attributes:
        read: the gradients of results by path.
        written, wanted: the gradients of arguments, and the indices of the leaves that they belong to; by identity.
        replaced: the places of those that are replaced.
        paths: the paths of the leaves.
        results: the number of results in ``_result=``.
    """

    def __init__(self, params: Sequence[Param], values: Sequence[Any], result: Any):
        self.read: dict[str, Any] = {}
        self.written: dict[int, Any] = {}
        self.wanted: dict[int, list[int]] = {}
        self.replaced: list[int] = []
        self.paths: list[str] = []
        self.results = 0
        for param, value in zip(params, values):
            for path, leaf in leaves_of(value, param.name) if is_nested(value) else ((param.name, value),):
                both = gradients_of(unmapped(leaf))
                if param.direction != OUT:
                    if both is not None and both[1] is not None:
                        self._write(both[1], param.direction != IN and both[0] is both[1])
                    self.paths.append(path)
                if both is not None and param.direction != IN:
                    self._read(path, leaf, both)
        if result is not None:
            self._returned(result)

    def _write(self, grad: Any, replaced: bool) -> None:
        """Adds the gradient of the next leaf."""
        if id(grad) not in self.written:
            self.written[id(grad)], self.wanted[id(grad)] = grad, []
            if replaced:
                self.replaced.append(len(self.written) - 1)
        self.wanted[id(grad)].append(len(self.paths))

    def _read(self, path: str, value: Any, both: tuple[Any, Any]) -> None:
        """Adds the gradient of a result, under the mapping of the result."""
        grad = both[1] if both[0] is None else both[0]
        self.read[path] = Mapped(grad, value.map) if isinstance(value, Mapped) else grad

    def _returned(self, result: Any) -> None:
        """Adds the gradients of what the call returned.

        Raises:
            ArgumentError: for the name of a container.
        """
        if isinstance(result, (str, type)):
            raise ArgumentError(
                f"_result={result!r}: a backward pass returns nothing",
                place=user_line(),
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
