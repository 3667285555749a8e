"""The parameters that the arguments of a call fill, and the number of results of a node, before any type is known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from fusepy.backend.slang.oracle import SlangOracle
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.ir.argmap import UNSAID
from fusepy.ir.oracle import IN, OUT, Signature
from fusepy.ir.types import Kind


class NodeCall(Protocol):
    """A call as a node: the function and its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    loc: str | None


def bind(oracle: SlangOracle, alias: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Returns positional and named arguments in the order of the input parameters.

    Raises:
        ArgumentError: for an unknown, doubled or missing argument.
    """
    if not kwargs:
        return list(args)
    errors: list[ArgumentError] = []
    for signature in oracle.declared(alias, function):
        names = [p.name for p in signature.params if p.direction != OUT]
        unknown = [k for k in kwargs if k not in names]
        doubled = [k for k in kwargs if k in names[: len(args)]]
        wanted = names[len(args) :]
        filled = [n for n in wanted if n in kwargs]
        holes = wanted[: wanted.index(filled[-1]) + 1] if filled else []
        skipped = {n: oracle.default(alias, function, signature, n) for n in holes if n not in kwargs}
        missing = [n for n, default in skipped.items() if default is None]
        if unknown:
            known = [p.name for p in signature.params]
            what = f"{function}() has no parameter {unknown[0]!r}"
            errors.append(ArgumentError(what, saw=f"No parameter named {unknown[0]!r}", hint=did_you_mean(unknown[0], known)))
        elif doubled:
            saw = f"Parameter {doubled[0]!r} specified multiple times"
            errors.append(ArgumentError(f"{function}() got {doubled[0]!r} twice", saw=saw, hint="pass it by position or by name"))
        elif missing:
            errors.append(
                ArgumentError(
                    f"{function}() misses the argument {missing[0]!r}",
                    hint=f"pass {missing[0]}=…, which has no default that can be left out here",
                )
            )
        else:
            return [*args, *(kwargs[n] if n in kwargs else skipped[n] for n in holes)]
    raise errors[0]


def result_counts(oracle: SlangOracle, alias: str, use: NodeCall) -> list[int]:
    """Returns the numbers of results of the overloads that take this number of arguments, sorted, without repetition.

    Raises:
        ArgumentError: if no overload takes it, or has parameters of these names.
    """
    function = use.function.__name__
    signatures = oracle.declared(alias, function)
    values = bind(oracle, alias, function, use.args, use.kwargs)
    fitting = [s for s in signatures if _takes(oracle, alias, function, s, len(values))]
    if not fitting:
        wanted = sorted({len(_inputs(s)) for s in signatures})
        names = ", ".join(_inputs(signatures[0]))
        raise ArgumentError(
            f"{function}.node() takes {' or '.join(map(str, wanted))} argument{'s' * (wanted != [1])}, {len(values)} are given",
            place=use.loc,
            expected=f"{function}({names})" if len(signatures) == 1 else None,
            hint="pass a value for each parameter that is not an out parameter",
        )
    return sorted({_results(s) for s in fitting})


def _inputs(signature: Signature) -> list[str]:
    return [p.name for p in signature.params if p.direction != OUT]


def _takes(oracle: SlangOracle, alias: str, function: str, signature: Signature, count: int) -> bool:
    names = _inputs(signature)
    return len(names) >= count and all(oracle.default(alias, function, signature, n) is not None for n in names[count:])


def _results(signature: Signature) -> int:
    returns = signature.result is None or signature.result.kind is not Kind.VOID  # a generic result counts too
    return returns + sum(p.direction != IN for p in signature.params)


def signature_of(function: Callable[..., Any], name: str) -> inspect.Signature:
    """Returns the signature of a Python function that is fused.

    Raises:
        ArgumentError: if Python does not know it.
    """
    try:
        if isinstance(function, np.ufunc):  # its signature has options of NumPy's
            raise TypeError
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"fuse() cannot tell the parameters of {name}()", saw=repr(function)[:60], hint="wrap it: fuse(lambda x: f(x))"
        ) from None


def bound_arguments(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any], name: str
) -> inspect.BoundArguments:
    """Returns the arguments of a call of a Python function by the names of its parameters.

    Raises:
        ArgumentError: for too many, missing, unknown or doubled arguments.
    """
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        names = list(signature.parameters)
        unknown = [k for k in kwargs if k not in names]
        what = f"{name}() has no parameter {unknown[0]!r}" if unknown else f"{name}(): {error}"
        hint = did_you_mean(unknown[0], names) if unknown else f"its parameters: {', '.join(names)}"
        raise ArgumentError(what, hint=hint) from None


def apply_defaults(bound: inspect.BoundArguments, typed: Sequence[str]) -> set[str]:
    """Sets the defaults of arguments that a call leaves out, and returns the names of those that stay Python values in a trace.

    These are integers, bools and tuples of them, whose parameters are not `typed` by an annotation: ``def softmax(x, axis=-1)``.
    """
    given = {*bound.arguments, *typed}
    bound.apply_defaults()
    return {name for name, value in bound.arguments.items() if name not in given and _is_integral(value)}


def with_declared(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any], spec: Callable[[int, str], Any]
) -> Mapping[str, Any]:
    """Returns `kwargs` with the defaults of parameters that the call leaves out, and for which `spec` says something."""
    left = [(i, p) for i, p in enumerate(signature.parameters.values()) if i >= len(args) and p.name not in kwargs]
    return {**kwargs, **{p.name: p.default for i, p in left if p.default is not p.empty and spec(i, p.name) is not UNSAID}}


def _is_integral(value: object) -> bool:
    return all(map(_is_integral, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else isinstance(value, int)


def by_position(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the arguments of a call of a Python function by position, with the defaults between them.

    Raises:
        ArgumentError: for arguments that the function does not take, and for those that it takes by name only.
    """
    name = getattr(function, "__name__", "function")
    bound = bound_arguments(inspect.signature(function), args, kwargs, name)
    bound.apply_defaults()
    only = [k for k in kwargs if k in bound.kwargs]
    if only:
        raise ArgumentError(f"{name}() takes {only[0]!r} by name only", hint="remove the * before it among its parameters")
    return bound.args


def check_takes(op: str, what: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Raises `ArgumentError` unless a Python function can be called with arguments of these names by position."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin: Python does not know its parameters
        return
    try:
        signature.bind(*names)
    except TypeError as error:
        saw = f"{getattr(function, '__name__', 'function')}{signature}: {error}"
        hint = (
            f"write it with these parameters: lambda {', '.join(names)}: …" if names else "write it without parameters: lambda: …"
        )
        given = "1 argument" if len(names) == 1 else f"{len(names)} arguments"
        raise ArgumentError(f"{op}: {what} is called with {given}", saw=saw, hint=hint) from None


def is_variadic(signature: inspect.Signature) -> bool:
    """True if a function takes any number of arguments, by position or by name."""
    return any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values())


def of_count(signature: inspect.Signature, count: int, names: Sequence[str] = ()) -> inspect.Signature:
    """Returns the signature for `count` arguments by position and others with these `names`.

    ``*args`` becomes ``args_0``, ``args_1``, …, and ``**kwargs`` becomes the names.

    Example:
        >>> str(of_count(inspect.signature(lambda a, *others, k=1, **more: None), 3, ["gain"]))
        '(a, others_0, others_1, /, *, k=1, gain)'
    """
    found: list[inspect.Parameter] = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            if count > len(found):  # then those before it have values by position, too
                found = [before.replace(kind=p.POSITIONAL_ONLY, default=p.empty) for before in found]
            found += [inspect.Parameter(f"{p.name}_{i}", p.POSITIONAL_ONLY) for i in range(count - len(found))]
        elif p.kind is p.VAR_KEYWORD:
            found += [inspect.Parameter(name, p.KEYWORD_ONLY) for name in names]
        else:
            found.append(p)
    return signature.replace(parameters=found)
