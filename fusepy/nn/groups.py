"""Groups of parameters: which optimiser changes which parameter of a training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, NoReturn, cast

from fusepy.errors import ArgumentError, did_you_mean
from fusepy.nn.optimisers import Optimiser

Groups = Mapping[str, Optimiser]  # optimisers by patterns of names; the first pattern that fits takes a parameter
NO_GROUPS: Groups = MappingProxyType({})
_HINT = "write groups={pattern: dataclasses.replace(optimiser, lr=1e-3)}, for names of fp.nn.named(parameters)"


class GroupsOfStep(dict[str, Optimiser]):
    """The groups that a step shows: a copy, so that single ones cannot be set in it. ``step.groups |= {…}`` sets them."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ArgumentError("the groups of a step are set all at once", hint=_HINT)

    __setitem__ = __delitem__ = update = setdefault = _refuse  # pyright: ignore[reportAssignmentType]


def checked_groups(groups: Any, optimiser: Optimiser) -> dict[str, Optimiser]:
    """Returns the groups of a step as a dict.

    Raises:
        ArgumentError: if they are no mapping of patterns to optimisers, or have other limits of gradients than `optimiser`.
    """
    found = cast("Mapping[Any, Any]", groups)
    if not isinstance(groups, Mapping) or not all(isinstance(k, str) and isinstance(v, Optimiser) for k, v in found.items()):
        raise ArgumentError("groups are optimisers by patterns of names of parameters", saw=repr(found)[:60], hint=_HINT)
    for pattern, own in found.items():
        if own.limits() != optimiser.limits():
            raise ArgumentError(
                f"group {pattern!r} limits gradients in another way than the optimiser of the step, which does it for all groups",
                saw=own.limits() or "no limits",
                expected=optimiser.limits() or "no limits",
                hint=_HINT,
            )
    return dict(found)


def expect_same_groups(groups: Groups, before: Groups) -> None:
    """Raises `ArgumentError` if groups have other patterns than before, or need another program."""
    if list(groups) != list(before):
        raise ArgumentError(
            "a step keeps its groups",
            saw=list(groups),
            expected=list(before),
            hint="make another step: fp.training_step(loss, optimiser, groups)",
        )
    for pattern, optimiser in groups.items():
        expect_same_program(optimiser, before[pattern])


def expect_same_program(optimiser: Any, before: Optimiser) -> None:
    """Raises `ArgumentError` if an optimiser needs another program than the one before."""
    if not isinstance(optimiser, Optimiser) or program_of(optimiser) != program_of(before):
        raise ArgumentError(
            "a step keeps its program, and another optimiser needs another one",
            saw=type(optimiser).__name__,
            expected=f"{type(before).__name__}, with the same options except for their numbers",
            hint="make another step: fp.training_step(loss, optimiser)",
        )


def program_of(optimiser: Optimiser) -> Any:
    """Returns what the program of a step depends on; other options are numbers."""
    return type(optimiser), optimiser.function, optimiser.kept, tuple(optimiser.limits()), optimiser.maximize


def assigned(names: Sequence[str], groups: Groups) -> list[str | None]:
    """Returns the pattern of the group of each parameter; ``None`` for those in no group.

    Raises:
        ArgumentError: if a group has no parameters.

    Example:
        >>> assigned(["0.weight", "0.bias"], {"*.bias": Optimiser(lr=0.1)})
        [None, '*.bias']
    """
    found = [next((pattern for pattern in groups if fnmatchcase(name, pattern)), None) for name in names]
    empty = next((pattern for pattern in groups if pattern not in found), None)
    if empty is not None:
        raise ArgumentError(
            f"no parameter is left for the group {empty!r}",
            saw=f"groups {', '.join(map(repr, groups))}; the first that fits takes a parameter",
            expected="a pattern of names of fp.nn.named(parameters), such as '*.bias'",
            hint=did_you_mean(empty, names),
        )
    return found
