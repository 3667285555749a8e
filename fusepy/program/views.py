"""Views of the arguments of a call, as ``x.T`` and ``x[1:]`` of a fused function. The last tensor of each keeps its view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from fusepy.arguments.mapped import unmapped
from fusepy.backend.memory.structs import ArgumentView
from fusepy.backend.memory.tensor import Tensor


class Views:
    """The captured values of a program, some of which are views of its arguments.

    Args:
        captures: the captured values.
        at: for each input of the graph the position of its value; empty if no captured value is a view.
    """

    __slots__ = ("_at", "_captures", "_last")

    def __init__(self, captures: Sequence[Any], at: Sequence[int]):
        self._captures, self._at = captures, at
        self._last: dict[int, tuple[ref[Tensor], int, Tensor]] = {}  # by capture: a tensor, its address, the view

    def of(self, args: Sequence[Any]) -> list[Any]:
        """Returns the arguments of a call, and the captured values for them."""
        if not self._at:
            return [*args, *self._captures]
        values = [*args]  # a view may be of one before it
        for i, c in enumerate(self._captures):
            values.append(self._view(i, c, values) if isinstance(c, ArgumentView) else c)
        return values

    def _view(self, i: int, view: ArgumentView, args: Sequence[Any]) -> Any:
        value = args[self._at[view.place]]
        if value.__class__ is not Tensor:
            return view.within(lambda place: unmapped(args[self._at[place]]))
        kept = self._last.get(i)
        if kept is not None and kept[0]() is value and kept[1] == value.address and value.grads is None:
            return kept[2]
        made = view.of(value)
        if made.__class__ is Tensor and made.block is value.block and value.grads is None:
            self._last[i] = ref(value, lambda gone: self._forget(i, gone)), value.address, made
        return made

    def _forget(self, i: int, gone: ref[Tensor]) -> None:
        """Drops a view with its tensor: it would hold the memory."""
        kept = self._last.get(i)
        if kept is not None and kept[0] is gone:
            del self._last[i]
