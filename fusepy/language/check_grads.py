"""`check_grads`: the gradient of a function, compared with differences and with forward mode."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import unmapped
from fusepy.errors import ArgumentError, CompileError, GradientError
from fusepy.functions.fused import FusedFunction
from fusepy.language import gradients
from fusepy.language.forward import jvp
from fusepy.language.gradients import check_given, parameter_named, signature_of, vjp
from fusepy.language.points import Array, Point, difference, is_checked, numbers
from fusepy.trace.arity import of_count
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

__all__ = ["check_grads"]

# by the itemsize of the narrowest float: the step of differences, and how close they and the two modes are
STEPS = {2: (0.125, 0.1, 0.05), 4: (2**-7, 0.02, 2e-3), 8: (2**-16, 1e-5, 1e-8)}
HINT = (
    "rewrite the Slang function as docs/guide/gradients.md says under 'Derivatives that Slang computes wrongly', "
    "or give it a derivative of your own with [BackwardDerivative(…)]"
)
CUT_OFF = "no_diff or stop_gradient cuts it off: if you want that, check the others only, by argnums= of check_grads; if not, "


def check_grads(
    function: Callable[..., Any],
    *args: Any,
    argnums: int | str | Sequence[int | str] | None = None,
    points: int = 6,
    seed: int = 0,
) -> None:
    """Checks the gradient of ``function(*args)`` by each argument of floats against central differences and forward mode.

    It is checked at `args` and at random points near them and on the other side of zero, which take other branches; integers
    among the arguments become equal at some points, since Slang loses gradients of elements that are read twice. Points where a
    result is not finite are skipped, and so are differences across a kink or a jump. A check needs a few kernels and calls.

    Args:
        function: a Slang function, a fused function, or a Python function that calls them.
        args: its arguments; structures too. Tensors of structs are passed unchanged.
        argnums: the arguments whose gradients are checked, by position or name; by default all that have floats.
        points: the number of points.
        seed: of the random numbers.

    Raises:
        GradientError: if a gradient, or forward mode, is wrong; names the argument and shows the numbers. Also if there is no
            gradient; see `grad`.
        ArgumentError: if `function` takes another number of arguments, or has none of those in `argnums`.

    Example:
        >>> import fusepy as fp
        >>> fp.check_grads(lambda a, x: fp.sum(fp.sin(a * x)), 3.0, [2.0, 1.0])
    """
    check_given("check_grads", "fp.check_grads({f}, {x})", function, args)
    only, point = _floats_of(function, len(args)), Point(args)
    point.checked = _chosen(function, argnums, point)
    name = getattr(function, "__name__", "function")
    random = np.random.default_rng(seed)
    forward = True
    for k in range(max(points, 1)):
        leaves = point.leaves if k == 0 else point.moved(random, collide=k % 2 == 1, turn=k % 3 == 2)
        trial = _Trial(name, only, point, leaves, random)
        for i in point.checked if trial.finite else ():
            forward = trial.check(i, random.choice([-1.0, 1.0], np.shape(leaves[i])), forward)


class _Trial:
    """The gradient at one point, of the sum of all results by random weights.

    Attributes:
        finite: True if all results are finite.
    """

    def __init__(self, name: str, only: FusedFunction, point: Point, leaves: Sequence[Any], random: np.random.Generator):
        self.name, self.only, self.point, self.leaves = name, only, point, leaves
        self.values, pull = vjp(only, *point.arguments(leaves))
        arrays = [numbers(v) for v in self.values]
        self.finite = all(bool(np.all(np.isfinite(a))) for a in arrays)
        self.weights: list[Any] = [random.uniform(0.5, 1.5, a.shape) * random.choice([-1.0, 1.0], a.shape) for a in arrays]
        self.gradients = point.flat(pull(tuple(w.astype(a.dtype) for w, a in zip(self.weights, arrays))))
        size = min(a.dtype.itemsize for a in [*arrays, *(x for x in leaves if is_checked(x))])
        self.step, self.close, self.same = STEPS[size]
        self.epsilon = float(np.finfo(f"f{size}").eps)
        self.noise = self.epsilon * sum(float(np.sum(np.abs(w * a))) for w, a in zip(self.weights, arrays))

    def total(self, values: Sequence[Any]) -> float:
        return float(sum(np.sum(w * numbers(v).astype(np.float64)) for w, v in zip(self.weights, values)))

    def check(self, i: int, direction: Array, forward: bool) -> bool:
        """Checks the gradient of one leaf along a direction; returns False if the function has no forward mode.

        Raises:
            GradientError: if it is wrong.
        """
        terms = direction * numbers(self.gradients[i]).astype(np.float64)
        mine, scale = float(np.sum(terms)), float(np.sum(np.abs(terms)))
        found: dict[str, float] = {"gradient": mine}
        wrong, differs = not np.isfinite(mine), False
        if forward:
            try:
                differs = self.differs_forward(i, direction, mine, scale, found)
            except (GradientError, CompileError):  # the function has no forward mode, or Slang cannot compile it
                forward = False
        wrong |= self.differs(i, direction, mine, scale, found)
        if wrong or differs:
            what = "gradient" if wrong or "differences" not in found else "forward mode"
            cut = not np.any(terms) and found.get("forward mode") == 0
            raise GradientError(
                f"the {what} of {self.name} by {self.point.names[i]} is wrong",
                saw=", ".join(f"{mode} {number:.6g}" for mode, number in found.items()),
                expected="equal numbers, all for one direction of the argument",
                hint=CUT_OFF + HINT if cut else HINT,
            )
        return forward

    def differs(self, i: int, direction: Array, mine: float, scale: float, found: dict[str, float]) -> bool:
        """True if central differences of all steps give another slope; adds it to `found`. Small steps cross fewer kinks."""
        for step in (self.step, self.step / 8, self.step / 32):
            slope, error = difference(self.only, self.point, self.leaves, i, direction, self.total, step)
            if slope is None:
                return False
            found["differences"] = slope
            if abs(slope - mine) <= self.close * (abs(slope) + scale) + 3 * error + 8 * self.noise / step:
                return False
        return True

    def differs_forward(self, i: int, direction: Array, mine: float, scale: float, found: dict[str, float]) -> bool:
        """True if forward mode gives another slope, or other results; adds the numbers to `found`."""
        x = np.asarray(self.leaves[i])
        tangents = [direction.astype(x.dtype) if j == i else None for j in range(len(self.leaves))]
        primal, tangent = jvp(self.only, self.point.arguments(self.leaves), self.point.tangents(tangents, self.leaves))
        found["forward mode"] = there = self.total(tangent)
        first, again = self.total(self.values), self.total(primal)
        if abs(again - first) <= self.same * (1 + self.noise / self.epsilon):
            return not abs(there - mine) <= self.same * (scale + abs(there)) + 16 * self.noise
        found["result"], found["result in forward mode"] = first, again
        return True


def _chosen(function: Callable[..., Any], argnums: Any, point: Point) -> list[int]:
    """Returns the leaves that are checked: those of the chosen arguments."""
    if argnums is None:
        return point.checked
    count = len(point.counts)
    names = list(of_count(signature_of(function), count).parameters)[:count]
    listed = cast("Sequence[Any]", argnums) if isinstance(argnums, (tuple, list)) else [argnums]
    chosen = [names.index(parameter_named(n, names, "check_grads")) for n in listed]
    missing = [names[n] for n in chosen if n not in {point.owners[i] for i in point.checked}]
    if missing or not chosen:
        raise ArgumentError(
            f"check_grads() of {', '.join(missing) or 'no argument'}: there is no float to check",
            saw=f"argnums={argnums!r}",
            expected="arguments of floats",
            hint="name arguments of floats in argnums=, or leave it out to check all of them",
        )
    return [i for i in point.checked if point.owners[i] in chosen]


def _floats_of(function: Callable[..., Any], count: int) -> FusedFunction:
    """Returns the function whose results are those of `function` that are floats, as a tuple."""
    names = list(of_count(signature_of(function), count).parameters)[:count]

    def only(*args: Any) -> Any:
        leaves, _ = flatten_values(function(*args), "check_grads")
        found = [leaf for leaf in leaves if isinstance(unmapped(leaf), Traced) and unmapped(leaf).type.is_float]
        if not found:
            raise GradientError(
                "check_grads() of a function that gives no float",
                expected="at least one value of floats that the function computes",
                hint="return a number such as fp.sum(…)",
            )
        return tuple(found)

    kind = inspect.Parameter.POSITIONAL_ONLY
    only.__name__ = f"floats_of_{getattr(function, '__name__', 'function')}"
    vars(only)["__signature__"] = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return FusedFunction(only)


class CheckedGradient(FusedFunction):
    """A gradient that `check_grads` checks once for each of its plans, at the arguments of the plan."""

    def __call__(self, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        plans = len(self.programs)
        result = super().__call__(*args, _result=_result, **kwargs)
        if current_trace() is None and len(self.programs) > plans:
            gradient = cast("Any", self.tracer).function
            bound = inspect.signature(gradient).bind(*args, **kwargs)
            bound.apply_defaults()
            check_grads(gradient.differentiated, *bound.args, points=2)
        return result


if os.environ.get("FUSEPY_CHECK_GRADS") == "1":
    gradients.gradient_class = CheckedGradient
