"""The key of the gradients of a call: which arguments have some, and which of these are the same tensors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

from fusepy.arguments.key import signature
from fusepy.arguments.mapped import unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.kernels.references import ClosedArgumentError
from fusepy.backend.marshals.registry import gradients_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError


def gradient_key(values: Sequence[Any], result: Any) -> tuple[Hashable, list[Any]]:
    """Returns the key of a call, without numbers and extents, and the leaves of its arguments and results.

    The key is ``None`` if anything but a tensor has gradients, or an argument has no key.

    Args:
        result: what the call has returned, a tensor or a tuple of tensors; ``None`` if it is not given.
    """
    several = isinstance(result, (tuple, list))
    results: Sequence[Any] = cast("Sequence[Any]", result) if several else () if result is None else (result,)
    for given in results:
        if given.__class__ is not Tensor:
            return None, []
    leaves = flat([*values, *results])
    pattern = _pattern(leaves)
    if pattern is None:
        return None, leaves
    try:
        keys = tuple([v.key if v.__class__ is Tensor else signature(v) for v in values])
    except (FusepyError, ClosedArgumentError, RecursionError):
        return None, leaves
    return (keys, len(results), pattern), leaves


def _pattern(leaves: Sequence[Any]) -> tuple[object, ...] | None:
    """Returns the part of the gradients of leaves that a program depends on; ``None`` if a leaf that is no tensor has some."""
    places: dict[int, int] = {}
    found: list[object] = []
    for leaf in leaves:
        if leaf.__class__ is not Tensor:
            if gradients_of(unmapped(leaf)) is not None:
                return None
            found.append(None)
        elif leaf.grads is None:
            found.append(None)
        else:
            read, written = leaf.grads
            at = None if read is None else places.setdefault(id(read), len(places))
            to = None if written is None else (places.setdefault(id(written), len(places)), written.size == 1)
            own = places.setdefault(id(leaf), len(places))  # each of several leaves gets a new gradient that they share
            found.append((own, at, to, leaf.key, leaf.accumulator))  # the key tells if they have the shape of the leaf
    return tuple(found)
