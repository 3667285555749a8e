"""Loops and branches outside of a fused function: each call is a program of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fusepy.derivatives.control import unlimited
from fusepy.functions.autograd import any_tracked
from fusepy.functions.fused import FusedFunction
from fusepy.language.movement.graph_calls import called
from fusepy.location import user_line
from fusepy.pytree import LEAF
from fusepy.trace.structure import flatten_values

_NOTHING = object()


class Arguments:
    """The arguments of a call outside of a fused function, as leaves."""

    def __init__(self, op: str, values: Mapping[str, Any], init: Any = _NOTHING):
        self.op = op
        self.carries = init is not _NOTHING
        found, self.structure = flatten_values(init if self.carries else None, op)
        self.plain = dict(values)
        names = ["init"] if self.structure is LEAF else [f"init_{i}" for i in range(len(found))]
        self.leaves = dict(zip(names, found))

    def run(self, function: Callable[..., Any]) -> Any:
        """Runs `function` of the values, and of `init` in its structure if there is one, as a fused function."""
        given = {**self.plain, **self.leaves}

        def traced(*values: Any, **named: Any) -> Any:
            named.update(zip(given, values))  # a node of a graph passes them by position
            structure = [self.structure.fill([named[n] for n in self.leaves])] if self.carries else []
            return function(*(named[n] for n in self.plain), *structure)

        traced.__name__ = self.op
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        vars(traced)["__signature__"] = inspect.Signature([inspect.Parameter(name, kind) for name in given])
        return called(FusedFunction(traced), self.op, *given.values())


def is_reversible(op: str, counted: bool, max_steps: int | None, body: Callable[..., Any], init: Any) -> bool:
    """True if gradients of a loop outside of a trace will be asked for, and its bounds are Python integers.

    Raises:
        GradientError: if gradients will be asked for, and the number of steps has no limit.
    """
    around = inspect.getclosurevars(body) if inspect.isfunction(body) else None
    values = [] if around is None else [*around.nonlocals.values(), *around.globals.values()]
    if not any_tracked([init, *values]):
        return False
    if not counted and max_steps is None:
        raise unlimited(op, user_line())
    return counted
