"""Functions with ``*args``: for a number of arguments they are functions with as many parameters."""

from __future__ import annotations

import inspect


def is_variadic(signature: inspect.Signature) -> bool:
    """True if a function takes any number of arguments by position."""
    return any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())


def of_count(signature: inspect.Signature, count: int) -> inspect.Signature:
    """Returns the signature for `count` arguments by position: ``*args`` becomes ``args_0``, ``args_1``, …

    Example:
        >>> str(of_count(inspect.signature(lambda a, *others, k=1: None), 3))
        '(a, others_0, others_1, /, *, k=1)'
    """
    found: list[inspect.Parameter] = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            found = [before.replace(kind=p.POSITIONAL_ONLY) for before in found]
            found += [inspect.Parameter(f"{p.name}_{i}", p.POSITIONAL_ONLY) for i in range(count - len(found))]
        else:
            found.append(p)
    return signature.replace(parameters=found)
