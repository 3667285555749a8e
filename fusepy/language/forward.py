"""Forward mode: `jvp`, and pairs of a value and its tangent."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fusepy.arguments.mapped import unmapped
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.errors import ArgumentError, GradientError
from fusepy.functions.fused import FusedFunction, of_object
from fusepy.functions.pullback import floats, owned
from fusepy.language.gradients import has_gradient, is_array, signature_of
from fusepy.location import user_line
from fusepy.pytree import flatten
from fusepy.trace.arity import of_count
from fusepy.trace.gradients import tangents as tangents_of
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

__all__ = ["diffpair", "jvp"]


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


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any] | None = None) -> diffpair:
    """Computes ``function(*primals)`` and its directional derivative along the tangents of the arguments, in forward mode.

    Args:
        function: a Slang function, a fused function, or a Python function of such.
        primals: the arguments; without `tangents` each is a `diffpair`.
        tangents: for each argument a value of its structure, shape and type; ``None`` is 0, as for an argument of integers.

    Returns:
        the result and its tangent as a pair ``(p, d)``; ``None`` is the tangent of a result of integers.

    Raises:
        GradientError: if an operation has no derivative, Slang cannot differentiate a function, or a tangent does not fit its
            argument.
        ArgumentError: if there are not as many tangents as arguments.

    Example:
        >>> import fusepy as fp
        >>> value, tangent = fp.jvp(lambda a, x: a * x * x, (3.0, [2.0, 1.0]), (1.0, [0.0, 10.0]))
        >>> value, tangent
        ([12.0, 3.0], [4.0, 61.0])
    """
    if tangents is None:
        pairs = [p if isinstance(p, diffpair) else diffpair(p) for p in primals]
        primals, tangents = [p.p for p in pairs], [p.d for p in pairs]
    if len(primals) != len(tangents):
        raise ArgumentError(
            "jvp() takes one tangent for each argument",
            place=user_line(),
            saw=f"{len(primals)} arguments and {len(tangents)} tangents",
            hint="pass None for an argument that does not change",
        )
    chosen = tuple(i for i, d in enumerate(tangents) if d is not None)
    for i in chosen:
        _check(i, primals[i], tangents[i])
    made = _pushforward(function, len(primals), chosen)(*primals, *(tangents[i] for i in chosen))
    return diffpair(*made)


def _check(place: int, primal: Any, tangent: Any) -> None:
    """Raises `GradientError` unless a tangent has the structure and the extents of its argument."""
    values, structure = flatten(primal, is_array)
    given, other = flatten(tangent, is_array)
    saw, expected = str(other), str(structure)
    if other == structure:
        sizes = [[None if isinstance(unmapped(v), Traced) else _extents(v) for v in leaves] for leaves in (given, values)]
        if all(a is None or b is None or a == b for a, b in zip(*sizes)):
            if any(has_gradient(v) for v in values):
                return
            raise GradientError(
                f"jvp: argument {place} has no derivative",
                place=user_line(),
                saw=type(primal).__name__,
                expected="half, float or double",
                hint="pass None as its tangent",
            )
        saw, expected = (str([n for n in size if n is not None]) for size in sizes)
    raise GradientError(
        f"jvp: the tangent of argument {place} has another shape",
        place=user_line(),
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


@functools.lru_cache(maxsize=256)
def _pushforward(function: Callable[..., Any], count: int, chosen: Sequence[int]) -> FusedFunction:
    """Returns the function of `count` arguments and the tangents of those `chosen` that gives the results and their tangents."""
    method = of_object(function)
    if method is not None:
        return _pushforward(method[0], count + 1, tuple(i + 1 for i in chosen)).__get__(method[1])
    names = list(of_count(signature_of(function), count).parameters)[:count]

    def pushforward(*given: Any) -> Any:
        trace = current_trace()
        assert trace is not None, "only a trace calls it"
        args, moved = [owned(arg, "jvp") if i in chosen else arg for i, arg in enumerate(given[:count])], given[count:]
        start = trace.moves.begin(trace.builder.nodes)
        result = function(*(floats(arg, "jvp") if i in chosen else arg for i, arg in enumerate(args)))
        leaves, structure = flatten_values(result, "jvp")
        made = tangents_of(trace, start, [(args[i], d) for i, d in zip(chosen, moved)], leaves, "jvp")
        return result, structure.fill(made)

    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(name, kind) for name in (*names, *(f"tangent_{i}" for i in chosen))]
    pushforward.__name__ = f"jvp_of_{getattr(function, '__name__', 'function')}"
    vars(pushforward)["__signature__"] = inspect.Signature(parameters)
    return FusedFunction(pushforward)
