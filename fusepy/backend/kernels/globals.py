"""The user's globals of a compiled kernel: what its root shader object holds, and how values get there.

Kernels are shared between functions that differ only in what they have set, so a root is rewritten where the next call wants
other values. What a root holds is remembered, and not written again. A value that is no longer set cannot be taken
back from a root, which is then made anew: a kernel never sees what another function has set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import slangpy as spy

from fusepy.backend.kernels.parameters import slot_of
from fusepy.backend.kernels.slots import Binding, PlainSlot, Slot, Staged
from fusepy.backend.sources.reachable import reachable, reached_from, texts_of
from fusepy.errors import ArgumentError

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.backend.device.sink import Sink
    from fusepy.backend.sources.source import ModuleSource

_NEVER: Any = object()


class Bindings(Protocol):
    """The values of globals that go along with a call; never changed once made, so they are compared by identity."""

    @property
    def values(self) -> Mapping[str, Any]: ...

    @property
    def names(self) -> tuple[str, ...]: ...


class Bound:
    """Named parameters of one shader object, with the values that it holds.

    Attributes:
        names: of the parameters; those of `twice` exist in two modules, and cannot be told apart.
        surrounded: whether a dispatch needs `surround`.
    """

    def __init__(self, layouts: Mapping[str, spy.TypeLayoutReflection], twice: frozenset[str] = frozenset(), prefix: str = ""):
        self._layouts = layouts
        self.prefix = prefix  # of generated names, which messages leave out
        self.names = tuple(layouts)
        self.twice = twice
        self._slots: dict[str, Slot] = {}
        self._floats: dict[str, tuple[Any, Callable[[Any], None], Any]] = {}  # how the numbers among them are written
        self._cursor: spy.ShaderCursor | None = None
        self._held: dict[str, Any] = {}
        self._staged: dict[str, list[Staged]] = {}
        self._foreign: set[str] = set()
        self.surrounded = False
        self.current: Any = _NEVER  # the values of the last call, by identity
        self.checked: tuple[str, ...] | None = None  # names that set all that is read, and all that the object holds

    def empty(self) -> Bound:
        """The same parameters, of another shader object."""
        return Bound(self._layouts, self.twice, self.prefix)

    def attach(self, cursor: spy.ShaderCursor) -> None:
        """Starts over with a shader object that holds nothing yet; whoever calls keeps the object alive."""
        self._cursor = cursor
        self._slots.clear()
        self._floats.clear()
        self._held.clear()
        self._staged.clear()
        self._foreign.clear()
        self.surrounded = False
        self.current = _NEVER
        self.checked = None

    def stale(self, values: Mapping[str, Any]) -> bool:
        """Whether the object holds something that `values` does not set."""
        return not self._held.keys() <= values.keys()

    def write(self, values: Mapping[str, Any], device: Device, what: str) -> None:
        """Writes what differs from what the object holds.

        Raises:
            FusepyError: if a value does not fit; the next call writes everything anew.
        """
        self.current = _NEVER
        held, floats = self._held, self._floats
        more = False
        for name, value in values.items():
            if held.get(name, _NEVER) is value:
                continue
            if value.__class__ is float and name in floats:  # what changes in every frame
                view, set_data, data = floats[name]
                view[...] = value
                set_data(data)
                held[name] = value
            else:
                more = True
        if more:
            layouts = self._layouts
            changed = [(n, v) for n, v in values.items() if held.get(n, _NEVER) is not v and n in layouts]
            try:
                self._write(changed, device, what)
            finally:  # what comes before a value that does not fit stays
                self.surrounded = bool(self._staged or self._foreign)

    def _write(self, changed: Sequence[tuple[str, Any]], device: Device, what: str) -> None:
        assert self._cursor is not None
        device.queue.enter()  # binding may copy
        held = self._held
        for name, _ in changed:  # until all is written again, the object holds nothing for them
            held.pop(name, None)
            self._staged.pop(name, None)
            self._foreign.discard(name)
        for name, value in changed:
            if name in self.twice:
                raise ArgumentError(
                    f"{what}: two modules have a global {name!r}", hint="rename one of them; a kernel cannot tell them apart"
                )
            slot = self._slots.get(name)
            if slot is None:
                slot = self._slots[name] = slot_of(self._cursor[name], self._layouts[name])
                if isinstance(slot, PlainSlot) and slot.is_float:
                    self._floats[name] = slot.view, slot.cursor.set_data, slot.data
            others = self.staged
            binding = Binding(device, others.copy())
            slot.write(value, f"{what}: {name.removeprefix(self.prefix)}", binding)
            if len(binding.staged) > len(others):
                self._staged[name] = binding.staged[len(others) :]
            if binding.foreign:
                self._foreign.add(name)
            held[name] = value

    @property
    def staged(self) -> list[Staged]:
        """Copies that surround every dispatch."""
        return [s for found in self._staged.values() for s in found]

    @property
    def foreign(self) -> bool:
        """Whether the user's own resources are held: each dispatch is submitted at once, for what others do with them later."""
        return bool(self._foreign)

    def surround(self, sink: Sink, dispatch: Callable[[], None]) -> None:
        """Records a dispatch between the copies that it needs."""
        for copy in self.staged:
            copy.copy_in(sink)
        dispatch()
        for copy in self.staged:
            copy.copy_out(sink)
        if self._foreign:
            sink.flush()


def bound_globals(program: spy.ShaderProgram, *own: str) -> Bound | None:
    """The user's globals in a linked program, leaving out fusepy's `own`; ``None`` where there are none."""
    parameters = program.layout.parameters
    listed = [parameters[i] for i in range(len(parameters))]
    names = [p.name for p in listed if p.name not in own]
    if not names:
        return None
    twice = frozenset(n for n in names if names.count(n) > 1)
    return Bound({p.name: p.type_layout for p in listed if p.name not in own}, twice)


def reads(names: Sequence[str], text: str, sources: Sequence[ModuleSource]) -> list[str]:
    """The globals that an entry point's `text` reads, as far as the text of its modules tells."""
    reached = reachable(text, texts_of(sources))
    return [n for n in names if n in reached]


def reads_of_calls(names: Sequence[str], called: Sequence[str], sources: Sequence[ModuleSource]) -> list[str]:
    """The same of functions by their names: a generated kernel reads globals through what it calls alone."""
    reached = reached_from(called, texts_of(sources))
    return [n for n in names if n in reached]


def check_set(function: str, names: Sequence[str], values: Mapping[str, Any], hint: str) -> None:
    """Raises `ArgumentError` where a global that is read was never set; ``{0}`` in `hint` stands for its name."""
    missing = [n for n in names if n not in values]
    if missing:
        raise ArgumentError(
            f"{function} reads the global {missing[0]!r}, which was never set",
            saw=", ".join(values) or "nothing set",
            hint=hint.format(missing[0]),
        )
