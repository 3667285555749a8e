"""`Lookup`: the errors for names that a module does not have, or that Slang hides."""

from __future__ import annotations

from typing import Any

from fusepy.backend.sources.symbols import Symbols
from fusepy.errors import ArgumentError, UnknownNameError, did_you_mean
from fusepy.ir.names import split_path
from fusepy.ir.types import Kind, Type

BUILTIN = ("float3", "float", "int", "uint", "half", "double", "bool", "float2", "float4", "int2", "float3x3", "float4x4")


class Lookup:
    """The part of a `Module` that explains why it does not find a name."""

    _symbols: Symbols

    @property
    def name(self) -> str:
        """The name of the module."""
        raise NotImplementedError

    def _type(self, name: str) -> Any:
        raise NotImplementedError

    def _check_reachable(self, name: str) -> None:
        """Raises `ArgumentError` for a function with the name of a built-in type: Slang takes ``half(x)`` as a conversion."""
        if name in self._symbols["functions"] and Type.parse(name).kind is not Kind.NAMED:
            raise ArgumentError(
                f"module {self.name!r} has a function {name}, which the type {name} hides",
                saw=f"{name}(…), which is a conversion in Slang, wherever it is written",
                hint=f"rename the function, or put it into a namespace: m.ns.{name}; fp.vcast(x, m.{name}) converts",
            )

    def _unknown(self, name: str) -> UnknownNameError:
        """Returns the error for a name that the module does not have."""
        scope, last = split_path(name)
        symbols = self._symbols
        if not scope:
            known = [*symbols["functions"], *symbols["types"]]
        elif self._type(scope) is not None:
            known = symbols["members"].get(scope, [])
        else:
            known = symbols["inner"]
        if last in known:
            hint = "Slang shows no function of this name, though the source has one; it may be a word of the language: rename it"
        else:
            hint = did_you_mean(last, known) if known else f"see what the source declares in {scope}"
        what = f"module {self.name!r} has no function or type named {name!r}"
        if scope and self._type(scope) is not None:
            what = f"{scope} has no method or sub-type named {last!r}"
        return UnknownNameError(what, hint=hint)
