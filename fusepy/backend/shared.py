"""`Shared`: the base of objects that never change, or that own a device. A copy of a structure shares them."""

from __future__ import annotations

from typing import Any, NoReturn

from fusepy.errors import ArgumentError


class Shared:
    """Is its own copy, as functions and modules of Python are: a torch module that holds one can be copied."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ArgumentError(
            f"a {type(self).__name__} cannot be pickled: its programs belong to a device",
            hint="pickle the arrays alone, and make the function again where they are loaded",
        )
