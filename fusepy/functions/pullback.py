"""The way back through a call: a function of its arguments and of the gradients of its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped
from fusepy.backend.memory.host_arrays import LISTED
from fusepy.errors import GradientError
from fusepy.functions.parts import AnyFunction
from fusepy.ir.types import BOOL
from fusepy.trace.components.outside import arguments
from fusepy.trace.gradients import gradients
from fusepy.trace.prints.log import silenced
from fusepy.trace.structure import flatten_values, returned
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced


def wanted_places(places: Iterable[int], needed: Iterable[bool]) -> tuple[int, ...]:
    """Returns the places of the arguments that need a gradient.

    Raises:
        GradientError: if one is an item of a list that is one array, whose place is -1.

    Example:
        >>> wanted_places([0, -1, 2], [True, False, True])
        (0, 2)
    """
    wanted = tuple(place for place, need in zip(places, needed) if need)
    if -1 in wanted:
        raise GradientError("a torch tensor that requires gradients is an item of a list, which is one array", hint=LISTED)
    return wanted


def pullback(
    callee: AnyFunction,
    count: int,
    named: Sequence[str],
    seeds: Sequence[int],
    of: Callable[[Sequence[Any]], Sequence[Any]],
    floating: Container[int] = (),
    sparse: bool = False,
) -> AnyFunction:
    """Returns the function of the arguments of a call and of gradients of its results, which computes gradients of the arguments.

    Args:
        count: the number of arguments by position; `named` are the names of the others.
        seeds: the results whose gradients follow the arguments, by their order.
        of: chooses among the traced arguments the values whose gradients it computes.
        floating: the arguments in which Python's integers mean floats.
        sparse: True if it returns ``None`` for values that no result depends on.
    """
    config, names = callee.config, callee.tracer.parameter_names()
    by_place = [names[i] if i < len(names) else f"argument_{i}" for i in range(count)]
    specs = [config.spec(i, name) for i, name in enumerate(by_place)] + [config.spec(len(names), name) for name in named]
    # the arguments of the pullback have the mappings that those of the function were declared with
    function: Any = callee.variant(None, replace(config, specs=(), named_specs={}, structs={}))
    total = count + len(named)
    # overloads of a Slang function may have parameters of other names; a fused function may take keywords only
    by_position = count if callee.tracer.positional is None or callee.tracer.variadic else 0
    keywords = [*by_place[by_position:], *named]

    def back(*given: Any) -> Any:
        trace = current_trace()
        assert trace is not None, "only a trace calls it"
        start = trace.moves.begin(trace.builder.nodes)
        by = arguments(trace, [owned(arg, "vjp") for i, arg in enumerate(given[:total]) if i in floating], "vjp")
        own = iter(by)
        args = [floats(next(own), "vjp") if i in floating else arg for i, arg in enumerate(given[:total])]
        with silenced(trace):  # the call has printed
            result = function(*args[:by_position], **dict(zip(keywords, args[by_position:])))
        leaves, _ = flatten_values(result, back.__name__, lambda v: id(v) in trace.named)
        values = [Traced(trace, returned(trace, leaf, back.__name__), None) for leaf in leaves]
        ends = [(values[j], gradient) for j, gradient in zip(seeds, given[total:])]
        return tuple(gradients(trace, start, ends, of(args), "vjp", sparse=sparse))

    back.__name__ = f"gradient_of_{callee.__name__}"
    vars(back)["__signature__"] = signature_named([*by_place, *named, *(f"gradient_{j}" for j in seeds)])
    made = callee._traced(back)  # pyright: ignore[reportPrivateUsage]
    return made.variant(callee.setup, replace(made.config, specs=tuple(specs), strict=config.strict))


def captured_again(trace: Trace, value: Any) -> Traced:
    """Returns a value from outside of a function that the function has read again in this trace.

    Raises:
        GradientError: if it has not: then each trace makes such a value by itself, and its program keeps that.
    """
    if not any(value is held for held in trace.captures):
        raise GradientError(
            "torch computes inside of the function with a tensor from outside that requires gradients, which autograd cannot see",
            saw=f"a tensor by {type(getattr(value, 'grad_fn', value)).__name__}",
            hint="write it with fusepy's functions, fp.multiply(w, 2.0) in place of w * 2.0; or pass the tensor as an argument",
        )
    return trace.captured(value, "captured")


def signature_named(names: Iterable[str]) -> inspect.Signature:
    """Returns a signature of parameters by position; a name that occurs again, as in overloads, gets a number that is free."""
    found: dict[str, None] = {}
    for name in names:
        tries = (name, *(f"{name}_{k}" for k in range(2, len(found) + 3)))
        found[next(one for one in tries if one not in found)] = None
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in found])


def floats(tree: Any, what: str) -> Any:
    """Returns an argument by which a function is differentiated, with Python's integers in it as floats: 3 means 3.0."""
    leaves, structure = flatten_values(tree, what)
    if not any(map(_is_integer, leaves)):
        return tree
    trace = current_trace()
    assert trace is not None, "only a trace calls it"
    found = [leaf * 1.0 if _is_integer(leaf) else leaf for leaf in leaves]
    trace.integers.update((trace.lift(made), trace.lift(leaf)) for leaf, made in zip(leaves, found) if leaf is not made)
    return structure.fill(found)


def owned(tree: Any, what: str) -> Any:
    """Returns an argument by which a function is differentiated, as values that the innermost trace computes.

    Numbers of Python and values from outside of the body of a loop or branch are constants else, which have no gradient.
    """
    trace = current_trace()
    assert trace is not None, "only a trace calls it"
    if isinstance(tree, list) and _is_of_numbers(tree):  # one array
        return np.array(tree, np.float32)
    if isinstance(tree, str):
        hint = "choose others with argnums, by position or name"
        raise GradientError(f"{what}(): an argument by which it differentiates is a string", saw=repr(tree)[:60], hint=hint)
    leaves, structure = flatten_values(tree, what)
    found = [trace.record("mul", [leaf, 1.0]) if _is_constant(trace.innermost(), leaf) else leaf for leaf in leaves]
    return structure.fill(found) if any(a is not b for a, b in zip(leaves, found)) else cast("Any", tree)


def _is_of_numbers(tree: Any) -> bool:
    return all(map(_is_of_numbers, cast("list[Any]", tree))) if isinstance(tree, list) else isinstance(tree, (int, float))


def _is_constant(trace: Trace, leaf: Any) -> bool:
    if isinstance(leaf, (bool, np.bool_, Mapped)):
        return False
    if isinstance(leaf, (int, float, np.generic)):
        return True
    value = trace.lift(leaf)
    return trace.behind(value) is not None and (value.type.is_float or (value.weak and value.type is not BOOL))


def _is_integer(leaf: Any) -> bool:
    return isinstance(leaf, Traced) and leaf.is_weak and not leaf.type.is_float and leaf.type is not BOOL
