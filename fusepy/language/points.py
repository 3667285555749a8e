"""`Point`: the arguments of a function as arrays that can be moved, for checks of its gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.memory.tensor import Tensor
from fusepy.language.gradients import is_array
from fusepy.pytree import Structure, flatten

Array = np.ndarray[Any, np.dtype[Any]]


class Point:
    """The leaves of arguments as NumPy arrays, and the arguments again from such.

    Attributes:
        leaves: arrays for floats and integers; others as they are.
        checked: the places of the floats.
        names: what to call each leaf.
        owners: the number of the argument of each leaf.
    """

    def __init__(self, args: Sequence[Any]):
        flat = [flatten(arg, is_array) for arg in args]
        self.structures: list[Structure] = [structure for _, structure in flat]
        self.counts = [len(found) for found, _ in flat]
        self.given = [leaf for found, _ in flat for leaf in found]
        self.leaves = [_array(leaf) for leaf in self.given]
        self.checked = [i for i, x in enumerate(self.leaves) if is_checked(x)]
        self.owners = [a for a, count in enumerate(self.counts) for _ in range(count)]
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
        filled = [m if m is not None else np.zeros_like(x) if is_checked(x) else x for m, x in zip(moved, leaves)]
        parts = self.parts([_like(given, leaf) for given, leaf in zip(self.given, filled)])
        floats = self.parts([is_checked(x) for x in leaves])
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
            sign = random.choice([-1.0, 1.0], leaf.shape) if turn and is_checked(leaf) else 1.0
            if is_checked(leaf):
                found.append(np.asarray(leaf * random.uniform(0.7, 1.3, leaf.shape) * sign, str(leaf.dtype)))
            else:
                found.append(np.full_like(leaf, least) if collide and _is_whole(leaf) else leaf)
        return found


def difference(
    only: Callable[..., Any],
    point: Point,
    leaves: Sequence[Any],
    i: int,
    direction: Array,
    total: Callable[..., float],
    step: float,
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


def is_checked(x: Any) -> bool:
    """True for an array of floats."""
    return _kind(x) == "f"


def _is_whole(x: Any) -> bool:
    return _kind(x) in ("i", "u")


def _kind(x: Any) -> str:
    return cast("Array", x).dtype.kind if isinstance(x, np.ndarray) else ""


def _array(leaf: Any) -> Any:
    """Returns the numbers of a leaf as a NumPy array; another leaf, such as a texture or an array of structs, as it is."""
    inner = unmapped(leaf)
    if not isinstance(inner, (int, float, list, np.ndarray, np.generic, Tensor)) or isinstance(inner, bool):
        return leaf
    array = numbers(inner)
    weak = isinstance(inner, (int, float, list)) and not isinstance(inner, np.generic)
    return array.astype(np.float32) if weak and array.dtype.kind == "f" else array if array.dtype.kind in "iuf" else leaf


def numbers(value: Any) -> Array:
    """Returns the numbers of a result or of an argument."""
    return np.asarray(value)


def _like(given: Any, leaf: Any) -> Any:
    """Returns the numbers of an array in the container of a leaf."""
    if not (is_checked(leaf) or _is_whole(leaf)):
        return leaf
    if isinstance(given, Mapped):
        return Mapped(_like(given.value, leaf), given.map)
    if isinstance(given, Tensor):
        return Tensor.from_numpy(given.device, np.array(leaf, order="C"), dtype=given.dtype)
    return leaf.tolist() if isinstance(given, (int, float, list)) and not isinstance(given, np.generic) else leaf
