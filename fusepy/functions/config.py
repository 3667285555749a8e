"""`Config`: what the programs of a function depend on beside its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fusepy.arguments.mapping import cast_numbers
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.errors import FusepyError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.trace.trace import user_line


@dataclass(frozen=True)
class Config:
    """The configuration of a function; another one has programs of its own.

    Values of globals and hooks are no part of it: functions that differ in these share their programs (`Setup`).

    Attributes:
        returns: the container of results; ``None`` for that of the arguments.
        strict_broadcasting: only identical shapes are accepted beside values without batch axes.
        strict: NumPy arrays of ``float64`` and ``int64`` are refused where Slang takes smaller types only.
        options: thread groups, link-time constants, type conformances.
        specs: what `declare` says about arguments, by position.
        named_specs: the same by name.
        structs: the structs of modules among the specs, by position or name: arrays of numbers are read as these.
    """

    returns: str | None = None
    strict_broadcasting: bool = False
    strict: bool = False
    options: Options = NO_OPTIONS
    specs: tuple[ArgMap | None, ...] = ()
    named_specs: Mapping[str, ArgMap | None] = field(default_factory=dict[str, "ArgMap | None"])
    structs: Mapping[int | str, Any] = field(default_factory=dict["int | str", Any])

    @cached_property
    def of_tensors(self) -> Config:
        """The same with tensors as results."""
        return replace(self, returns="tensor")

    def spec(self, position: int, name: str) -> ArgMap | None:
        """What `declare` says about an argument."""
        if name in self.named_specs:
            return self.named_specs[name]
        return self.specs[position] if position < len(self.specs) else UNSAID

    def as_structs(
        self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Arrays of numbers as arrays of the structs that they are declared as.

        Args:
            names: of the parameters.
        """
        structs = self.structs

        def cast(value: Any, place: int | str) -> Any:
            name = names[place] if isinstance(place, int) and place < len(names) else place
            found = structs.get(place, structs.get(name))
            if found is None and isinstance(place, str) and place in names:
                found = structs.get(names.index(place))
            return value if found is None else cast_numbers(value, found)

        try:
            return tuple(cast(a, i) for i, a in enumerate(args)), {k: cast(v, k) for k, v in kwargs.items()}
        except FusepyError as error:
            raise error.at(user_line()) from None


DEFAULT = Config()
