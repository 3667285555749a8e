"""`check_grads`: the gradient of a function, held to differences and to forward mode."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import GradientError
from fusepy.functions.fused import FusedFunction
from fusepy.language import gradients
from fusepy.language.forward import jvp
from fusepy.language.gradients import is_array, signature_of, vjp
from fusepy.location import user_line
from fusepy.pytree import Structure, flatten
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

__all__ = ["check_grads"]

Array = np.ndarray[Any, np.dtype[Any]]
# by the itemsize of the narrowest float: the step of differences, and how close they and the two modes are
STEPS = {2: (0.125, 0.1, 0.05), 4: (2**-7, 0.02, 2e-3), 8: (2**-16, 1e-5, 1e-8)}
HINT = (
    "rewrite the Slang function as docs/guide/gradients.md says under 'What Slang gets wrong', "
    "or give it a derivative of your own with [BackwardDerivative(…)]"
)


def check_grads(function: Callable[..., Any], *args: Any, points: int = 6, seed: int = 0) -> None:
    """Checks the gradient of ``function(*args)`` by each argument of floats against central differences and forward mode.

    It is checked at `args` and at random points near them and on the other side of zero, which take other branches; integers
    among the arguments become equal at some points, since Slang loses gradients of elements that are read twice. Points where a
    result is not finite are skipped, and so are differences across a kink or a jump. A check needs a few kernels and calls.

    Args:
        function: a Slang function, a fused function, or a Python function of such.
        args: its arguments; structures too, whose structs in tensors stay as they are.
        points: the number of points.
        seed: of the random numbers.

    Raises:
        GradientError: if a gradient, or forward mode, is wrong; names the argument and shows the numbers. Also if there is no
            gradient; see `grad`.

    Example:
        >>> import fusepy as fp
        >>> fp.check_grads(lambda a, x: fp.sum(fp.sin(a * x)), 3.0, [2.0, 1.0])
    """
    only, point = _floats_of(function, len(args)), _Point(args)
    name = getattr(function, "__name__", "function")
    random = np.random.default_rng(seed)
    forward = True
    for k in range(max(points, 1)):
        leaves = point.leaves if k == 0 else point.moved(random, collide=k % 2 == 1, turn=k % 3 == 2)
        forward = _check(name, only, point, leaves, random, forward)


def _check(
    name: str, only: FusedFunction, point: _Point, leaves: Sequence[Any], random: np.random.Generator, forward: bool
) -> bool:
    """Checks one point; returns False if the function has no forward mode."""
    values, pull = vjp(only, *point.arguments(leaves))
    arrays = [_numbers(v) for v in values]
    if not all(np.all(np.isfinite(a)) for a in arrays):
        return forward
    weights: list[Any] = [random.uniform(0.5, 1.5, a.shape) * random.choice([-1.0, 1.0], a.shape) for a in arrays]
    found = point.flat(pull(tuple(w.astype(a.dtype) for w, a in zip(weights, arrays))))
    size = min(a.dtype.itemsize for a in [*arrays, *(x for x in leaves if _is_checked(x))])
    step, close, same = STEPS[size]

    def total(values: Sequence[Any]) -> float:
        return float(sum(np.sum(w * _numbers(v).astype(np.float64)) for w, v in zip(weights, values)))

    noise = float(np.finfo(f"f{size}").eps) * sum(float(np.sum(np.abs(w * a))) for w, a in zip(weights, arrays))
    for i in point.checked:
        x = np.asarray(leaves[i])
        direction = random.choice([-1.0, 1.0], x.shape)
        terms = direction * _numbers(found[i]).astype(np.float64)
        mine, scale = float(np.sum(terms)), float(np.sum(np.abs(terms)))
        numbers: dict[str, float] = {"gradient": mine}
        wrong, apart = not np.isfinite(mine), False
        if forward:
            try:
                tangents = [direction.astype(x.dtype) if j == i else None for j in range(len(leaves))]
                primal, tangent = jvp(only, point.arguments(leaves), point.tangents(tangents, leaves))
            except GradientError:
                forward = False
            else:
                numbers["forward mode"] = there = total(tangent)
                apart = not abs(there - mine) <= same * (scale + abs(there)) + 16 * noise
                first, again = total(values), total(primal)
                if not abs(again - first) <= same * (1 + noise / float(np.finfo(f"f{size}").eps)):
                    numbers["result"], numbers["result in forward mode"], apart = first, again, True
        slope, error = _difference(only, point, leaves, i, direction, total, step)
        if slope is not None:
            numbers["differences"] = slope
            wrong |= not abs(slope - mine) <= close * (abs(slope) + scale) + 3 * error + 8 * noise / step
        if wrong or apart:
            what = "gradient" if wrong or slope is None else "forward mode"
            raise GradientError(
                f"the {what} of {name} by {point.names[i]} is wrong",
                place=user_line(),
                saw=", ".join(f"{mode} {number:.6g}" for mode, number in numbers.items()),
                expected="equal numbers, all for one direction of the argument",
                hint=HINT,
            )
    return forward


def _difference(
    only: FusedFunction, point: _Point, leaves: Sequence[Any], i: int, direction: Array, total: Callable[..., float], step: float
) -> tuple[float | None, float]:
    """Returns the slope along a direction of one leaf, and a bound of its error; ``None`` at a kink or a jump."""
    x = np.asarray(leaves[i])
    step *= max(1.0, float(np.max(np.abs(x), initial=0)))

    def at(by: float) -> float:
        moved = [np.asarray(x + by * direction, x.dtype) if j == i else leaf for j, leaf in enumerate(leaves)]
        return total(only(*point.arguments(moved)))

    here, ends = at(0), [at(s * step / k) for k in (1, 2) for s in (1, -1)]
    wide, narrow = (ends[0] - ends[1]) / (2 * step), (ends[2] - ends[3]) / step
    left, right = (here - ends[3]) / (step / 2), (ends[2] - here) / (step / 2)
    error = abs(wide - narrow)
    if not np.isfinite(error) or abs(right - left) > 0.1 * (abs(left) + abs(right)) + 0.01 or error > 0.1 * abs(narrow) + 0.01:
        return None, 0.0
    return narrow, error


class _Point:
    """The leaves of arguments as NumPy arrays, and the arguments again from such.

    Attributes:
        leaves: arrays for floats and integers; others as they are.
        checked: the places of the floats.
        names: what to call each leaf.
    """

    def __init__(self, args: Sequence[Any]):
        flat = [flatten(arg, is_array) for arg in args]
        self.structures: list[Structure] = [structure for _, structure in flat]
        self.counts = [len(found) for found, _ in flat]
        self.given = [leaf for found, _ in flat for leaf in found]
        self.leaves = [_array(leaf) for leaf in self.given]
        self.checked = [i for i, x in enumerate(self.leaves) if _is_checked(x)]
        self.names = [
            f"argument {a}" + (f", leaf {k}" if len(found) > 1 else "")
            for a, (found, _) in enumerate(flat)
            for k in range(len(found))
        ]

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """Returns arguments of these leaves."""
        rebuilt = [_like(given, leaf) for given, leaf in zip(self.given, leaves)]
        return [structure.fill(part) for structure, part in zip(self.structures, self.parts(rebuilt))]

    def tangents(self, moved: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        """Returns tangents for `jvp`: zeros beside the leaf that moves, ``None`` for arguments without floats."""
        filled = [m if m is not None else np.zeros_like(x) if _is_checked(x) else x for m, x in zip(moved, leaves)]
        parts = self.parts([_like(given, leaf) for given, leaf in zip(self.given, filled)])
        floats = self.parts([_is_checked(x) for x in leaves])
        return [s.fill(p) if any(f) else None for s, p, f in zip(self.structures, parts, floats)]

    def parts(self, leaves: Sequence[Any]) -> list[list[Any]]:
        """Returns leaves by argument."""
        ends = np.cumsum([0, *self.counts])
        return [list(leaves[a:b]) for a, b in itertools.pairwise(ends)]

    def flat(self, given: Sequence[Any]) -> list[Any]:
        """Returns the gradients of all leaves."""
        found: list[Any] = []
        for gradient, count in zip(given, self.counts):
            found += [None] * count if gradient is None else flatten(gradient, is_array)[0]
        return found

    def moved(self, random: np.random.Generator, collide: bool, turn: bool) -> list[Any]:
        """Returns other leaves: floats near by, or on the other side of zero too; integers all equal to the least of them."""
        whole = [x for x in self.leaves if _is_whole(x) and x.size]
        least = min((int(x.min()) for x in whole), default=0)
        found: list[Any] = []
        for leaf in self.leaves:
            sign = random.choice([-1.0, 1.0], leaf.shape) if turn and _is_checked(leaf) else 1.0
            if _is_checked(leaf):
                found.append(np.asarray(leaf * random.uniform(0.7, 1.3, leaf.shape) * sign, str(leaf.dtype)))
            else:
                found.append(np.full_like(leaf, least) if collide and _is_whole(leaf) else leaf)
        return found


def _is_checked(x: Any) -> bool:
    return isinstance(x, np.ndarray) and cast("Array", x).dtype.kind == "f"


def _is_whole(x: Any) -> bool:
    return isinstance(x, np.ndarray) and cast("Array", x).dtype.kind in "iu"


def _array(leaf: Any) -> Any:
    """Returns the numbers of a leaf as a NumPy array; another leaf, such as a texture or an array of structs, as it is."""
    inner = unmapped(leaf)
    if not isinstance(inner, (int, float, list, np.ndarray, np.generic, Tensor)) or isinstance(inner, bool):
        return leaf
    array = _numbers(inner)
    weak = not isinstance(inner, (np.ndarray, np.generic, Tensor))
    return array.astype(np.float32) if weak and array.dtype.kind == "f" else array if array.dtype.kind in "iuf" else leaf


def _numbers(value: Any) -> Array:
    return cast("Array", value.to_numpy() if isinstance(value, Tensor) else np.asarray(value))


def _like(given: Any, leaf: Any) -> Any:
    """Returns the numbers of an array in the container of a leaf."""
    if not (_is_checked(leaf) or _is_whole(leaf)):
        return leaf
    if isinstance(given, Mapped):
        return Mapped(_like(given.value, leaf), given.map)
    if isinstance(given, Tensor):
        return Tensor.from_numpy(given.device, np.array(leaf, order="C"), dtype=given.dtype)
    return leaf.tolist() if isinstance(given, (int, float, list)) and not isinstance(given, np.generic) else leaf


def _floats_of(function: Callable[..., Any], count: int) -> FusedFunction:
    """Returns the function whose results are those of `function` that are floats, as a tuple."""
    names = list(signature_of(function).parameters)[:count]

    def only(*args: Any) -> Any:
        leaves, _ = flatten_values(function(*args), "check_grads")
        found = [leaf for leaf in leaves if isinstance(unmapped(leaf), Traced) and unmapped(leaf).type.is_float]
        if not found:
            raise GradientError(
                "check_grads() of a function that gives no float",
                place=user_line(),
                expected="at least one value of floats that the function computes",
                hint="return a number such as fp.sum(…)",
            )
        return tuple(found)

    kind = inspect.Parameter.POSITIONAL_ONLY
    only.__name__ = f"floats_of_{getattr(function, '__name__', 'function')}"
    vars(only)["__signature__"] = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return FusedFunction(only)


class CheckedGradient(FusedFunction):
    """A gradient that is checked by `check_grads` once for each of its plans, at the arguments that the plan is made for."""

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
