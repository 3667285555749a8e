"""The part of a program that changes while it is in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings
from fusepy.program.lent import LentCall

if TYPE_CHECKING:
    from fusepy.program.delivery import Delivery


class ProgramState:
    """The part of a program that changes while it is in use; the rest is frozen.

    Attributes:
        home: the table that holds the program, and its key there, while `held`; a reload removes it.
        names: the names of globals that the last call has set.
        recordable: the facts that `lazy` needs, after the first recorded call.
        lent: the quick way of calls on torch's CUDA tensors, None if there is none; `asked` is true once that is known.
        fast: true if calls may have fast paths, None if that is not known.
    """

    __slots__ = ("asked", "fast", "held", "home", "lent", "names", "recordable")

    def __init__(self) -> None:
        self.home: tuple[dict[Any, Any], Any] = ({}, None)
        self.names: tuple[str, ...] = ()
        self.recordable: Any = None
        self.asked = self.held = False
        self.lent, self.fast = cast("LentCall | None", None), cast("bool | None", None)


class TextureStore:
    """The quick way of a program that stores its only result into a texture: the texture of the last call is checked already."""

    __slots__ = ("_bound", "_program")

    def __init__(self, program: Delivery):
        self._program = program
        self._bound: Bound | None = None

    def __call__(self, placed: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the program into a texture, and returns it; returns None without running for other destinations.

        Raises:
            ShapeError: if the texture lies on another device.
        """
        bound = self._bound
        if bound is None or bound.value is not result:
            if result is None or isinstance(result, (list, tuple)):
                return None
            bound = self._bound = self._program.destinations.targets[0].place(result, self._program.device)
        self._program.run(placed, (bound,), sink, bindings)
        return result
