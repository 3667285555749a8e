"""Forward mode: `jvp`, and pairs of a value and its tangent."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple

from fusepy.arguments.mapped import unmapped
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.errors import ArgumentError, GradientError
from fusepy.functions.fused import FusedFunction, of_object
from fusepy.functions.pullback import floats, owned
from fusepy.language.differentiable import completed, is_one, paired
from fusepy.language.gradients import check_given, has_gradient, signature_of
from fusepy.language.movement.graph_calls import node_of_values, of_parts
from fusepy.pytree import flatten
from fusepy.symbolic import Symbolic
from fusepy.trace.arity import of_count
from fusepy.trace.components.outside import arguments
from fusepy.trace.gradients import tangents as tangents_of
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import current_trace

__all__ = ["diffpair", "jvp"]
Move = tuple[int, tuple[int, ...] | None]  # the place of an argument, and those of its leaves that move; ``None`` for all


class diffpair(NamedTuple):  # noqa: N801  # as Slang and slangpy call it
    """A pair of a value and its tangent: an argument of `jvp`, and its result.

    Attributes:
        p: the value.
        d: the tangent.

    Example:
        >>> import fusepy as fp
        >>> fp.jvp(lambda a, x: a * x * x, (fp.diffpair(3.0, 1.0), fp.diffpair(2.0, 0.0))).d
        4.0
    """

    p: Any
    d: Any = None


@of_parts(lambda *args, **named: 2, diffpair._make)
@node_of_values
def jvp(function: Callable[..., Any], primals: Sequence[Any] = (), tangents: Sequence[Any] | None = None) -> diffpair:
    """Computes ``function(*primals)`` and its directional derivative along the tangents of the arguments, in forward mode.

    Args:
        function: a Slang function, a fused function, or a Python function that calls them.
        primals: the arguments; without `tangents` each is a `diffpair`.
        tangents: for each argument a value of its structure, shape and type. ``None`` is 0, as for an argument of integers, also
            inside of a dict or list: in place of a leaf, or of a container with all of its leaves.

    Returns:
        the result and its tangent as a pair ``(p, d)``; ``None`` is the tangent of a result of integers.

    Raises:
        GradientError: if an operation has no derivative, Slang cannot differentiate a function, or a tangent does not fit its
            argument.
        ArgumentError: if there are not as many tangents as arguments, or `function` takes another number of arguments.

    Example:
        >>> import fusepy as fp
        >>> value, tangent = fp.jvp(lambda a, x: a * x * x, (3.0, [2.0, 1.0]), (1.0, [0.0, 10.0]))
        >>> value, tangent
        ([12.0, 3.0], [4.0, 61.0])
    """
    loose = [v for v in (primals, tangents) if not isinstance(v, (tuple, list, NoneType))]  # pyright: ignore[reportUnnecessaryIsInstance]
    if callable(function) and loose:
        what, saw = "jvp() takes the arguments as a tuple, and their tangents as another one", type(loose[0]).__name__
        raise ArgumentError(what, saw=saw, hint="write fp.jvp(f, (x,), (dx,))")
    check_given("jvp", "fp.jvp({f}, ({x},), ({dx},))", function, primals)
    if tangents is None:
        pairs = [p if isinstance(p, diffpair) else diffpair(p) for p in primals]
        primals, tangents = [p.p for p in pairs], [p.d for p in pairs]
    if len(primals) != len(tangents):
        raise ArgumentError(
            "jvp() takes one tangent for each argument",
            saw=f"{len(primals)} arguments and {len(tangents)} tangents",
            hint="pass None for an argument that does not change",
        )
    tangents = [completed(p, d) for p, d in zip(primals, tangents)]
    pairs = [[] if d is None else _checked(i, p, d) for i, (p, d) in enumerate(zip(primals, tangents))]
    moves: list[Move] = []
    given: list[Any] = []
    for i, found in enumerate(pairs):
        moved = tuple(k for k, (_, d) in enumerate(found) if d is not None)
        if moved and len(moved) == len(found):
            moves.append((i, None))
            given.append(tangents[i])
        elif moved:
            moves.append((i, moved))
            given.append({f"leaf_{k}": found[k][1] for k in moved})
    return diffpair(*_pushforward(function, len(primals), tuple(moves))(*primals, *given))


def _checked(place: int, primal: Any, tangent: Any) -> list[tuple[Any, Any]]:
    """Returns the leaves of an argument with their tangents.

    Raises:
        GradientError: unless the tangent has the structure and the extents of the argument, apart from ``None`` in it.
    """
    pairs = paired(primal, tangent, is_one)
    saw, expected = (str(flatten(value, is_one)[1]) for value in (tangent, primal))
    if pairs is not None:
        moved = [pair for pair in pairs if pair[1] is not None]
        sizes = [[None if isinstance(unmapped(v), Symbolic) else _extents(v) for v in pair] for pair in moved]
        if all(a is None or b is None or a == b for a, b in sizes):
            if not moved or any(has_gradient(v) for v, _ in moved):
                return pairs
            raise GradientError(
                f"jvp: argument {place} has no derivative",
                saw=type(primal).__name__,
                expected="half, float or double",
                hint="pass None as its tangent",
            )
        expected, saw = (str([n for n in size if n is not None]) for size in zip(*sizes))
    raise GradientError(
        f"jvp: the tangent of argument {place} has another shape",
        saw=saw,
        expected=expected,
        hint="pass a tangent of the shape of its argument",
    )


def _extents(value: Any) -> tuple[int, ...]:
    """Returns the extents with those of components, so that a tensor of float3 may have a tangent of numbers."""
    value = unmapped(value)
    kind = kind_of_value(value)
    type = kind.describe(value).type
    return (*kind.extents(value), *(type.shape if type.is_numeric else ()))


def _seeds(arg: Any, move: Move, tangent: Any) -> list[tuple[Any, Any]]:
    """Returns what moves of a traced argument, each with its tangent."""
    if move[1] is None:
        return [(arg, tangent)]
    leaves, _ = flatten_values(arg, "jvp")
    return [(leaves[k], d) for k, d in zip(move[1], tangent.values())]


@functools.lru_cache(maxsize=256)
def _pushforward(function: Callable[..., Any], count: int, moves: Sequence[Move]) -> FusedFunction:
    """Returns a function of `count` arguments and the tangents of some of them; it returns the results and their tangents."""
    method = of_object(function)
    if method is not None:
        return _pushforward(method[0], count + 1, tuple((i + 1, leaves) for i, leaves in moves)).__get__(method[1])
    chosen = [i for i, _ in moves]
    names = list(of_count(signature_of(function), count).parameters)[:count]

    def pushforward(*given: Any) -> Any:
        trace = current_trace()
        assert trace is not None, "only a trace calls it"
        start, moved = trace.moves.begin(trace.builder.nodes), given[count:]
        by = iter(arguments(trace, [owned(given[i], "jvp") for i in chosen], "jvp"))
        args = [next(by) if i in chosen else arg for i, arg in enumerate(given[:count])]
        result = function(*(floats(arg, "jvp") if i in chosen else arg for i, arg in enumerate(args)))
        leaves, structure = flatten_values(result, "jvp")
        seeds = [seed for move, d in zip(moves, moved) for seed in _seeds(args[move[0]], move, d)]
        made = tangents_of(trace, start, seeds, leaves, "jvp")
        return result, structure.fill(made)

    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(name, kind) for name in (*names, *(f"tangent_{i}" for i in chosen))]
    pushforward.__name__ = f"jvp_of_{getattr(function, '__name__', 'function')}"
    vars(pushforward)["__signature__"] = inspect.Signature(parameters)
    return FusedFunction(pushforward)
