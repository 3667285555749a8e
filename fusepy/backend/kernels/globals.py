"""The user's globals of a compiled kernel: the values in its root shader object, and their update.

Functions that differ only in their globals share a kernel. Before a call, the root gets the values that differ from those of the
last call. A value cannot be removed from a root, so a root with values that are no longer set is replaced: a kernel never sees
the globals of another function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.parameters import slot_of
from fusepy.backend.kernels.slots import PlainSlot, Slot, Staged, WriteContext
from fusepy.backend.slang.diagnostics import unsized
from fusepy.backend.slang.reflection import sized
from fusepy.backend.sources.reachable import reachable, reached_from, texts_apart
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, UnsupportedArgumentError
from fusepy.ir.ranges import FITS

_NEVER: Any = object()
_K = spy.TypeReflection.Kind


class Bindings(Protocol):
    """The values of globals for a call. They are immutable, and compared by identity."""

    @property
    def values(self) -> Mapping[str, Any]: ...

    @property
    def names(self) -> tuple[str, ...]: ...


class BoundParameters:
    """Named parameters of one shader object, with the values that it holds.

    Attributes:
        names: names of the parameters; those in `twice` exist in two modules, and are ambiguous.
        surrounded: a dispatch needs `surround`.
    """

    def __init__(self, layouts: Mapping[str, spy.TypeLayoutReflection], twice: frozenset[str] = frozenset(), prefix: str = ""):
        self._layouts = layouts
        self.prefix = prefix  # of generated names; messages omit it
        self.names = tuple(layouts)
        self.twice = twice
        self._slots: dict[str, Slot] = {}
        self._floats: dict[str, tuple[Any, Callable[[Any], None], Any]] = {}  # view, set_data and data of floats
        self._cursor: spy.ShaderCursor | None = None
        self._held: dict[str, Any] = {}
        self._staged: dict[str, list[Staged]] = {}
        self._foreign: set[str] = set()
        self.surrounded = False
        self.current: Any = _NEVER  # the values of the last call, by identity
        self.checked: tuple[str, ...] | None = None  # the names for which nothing is missing or stale

    def empty(self) -> BoundParameters:
        """Returns the same parameters for another shader object."""
        return BoundParameters(self._layouts, self.twice, self.prefix)

    def attach(self, cursor: spy.ShaderCursor) -> None:
        """Attaches a new, empty shader object. The caller keeps the object alive."""
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
        """True if the object holds something that `values` does not set."""
        return not self._held.keys() <= values.keys()

    def write(self, values: Mapping[str, Any], device: Device, what: str) -> None:
        """Writes the values that differ from those in the object.

        Raises:
            FusepyError: if a value does not fit; the next call writes all of them again.
        """
        self.current = _NEVER
        held, floats = self._held, self._floats
        more = False
        for name, value in values.items():
            if held.get(name, _NEVER) is value:
                continue
            if value.__class__ is float and name in floats and abs(value) < FITS:  # a fast path: they often change each frame
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
            finally:  # values before one that does not fit stay written
                self.surrounded = bool(self._staged or self._foreign)

    def _write(self, changed: Sequence[tuple[str, Any]], device: Device, what: str) -> None:
        assert self._cursor is not None
        device.queue.enter()  # binding may copy
        held = self._held
        for name, _ in changed:  # invalid until written again
            held.pop(name, None)
            self._staged.pop(name, None)
            self._foreign.discard(name)
        for name, value in changed:
            if name in self.twice:
                raise ArgumentError(
                    f"{what}: two modules have a global {name!r}",
                    hint="rename one of them, or let both import it from a third module; a kernel cannot tell them apart",
                )
            slot = self._slots.get(name)
            if slot is None:
                slot = self._slots[name] = slot_of(self._cursor[name], self._layouts[name])
                if isinstance(slot, PlainSlot) and slot.is_float:
                    self._floats[name] = slot.view, slot.cursor.set_data, slot.data
            others = self.staged
            binding = WriteContext(device, others.copy())
            slot.write(value, f"{what}: {name.removeprefix(self.prefix)}", binding)
            if len(binding.staged) > len(others):
                self._staged[name] = binding.staged[len(others) :]
            if binding.foreign:
                self._foreign.add(name)
            held[name] = value

    @property
    def staged(self) -> list[Staged]:
        """Copies that surround every dispatch."""
        return [s for copies in self._staged.values() for s in copies]

    @property
    def foreign(self) -> bool:
        """True if the object holds resources of the user. Others may use them, so that each dispatch is submitted at once."""
        return bool(self._foreign)

    def surround(self, sink: Sink, *dispatched: Any) -> None:
        """Records a dispatch, of which `Sink.dispatch` gets these, between the copies that it needs."""
        for copy in self.staged:
            copy.copy_in(sink)
        sink.dispatch(*dispatched)
        for copy in self.staged:
            copy.copy_out(sink)
        if self._foreign:
            sink.flush()


def bound_globals(program: spy.ShaderProgram, *own: str) -> BoundParameters | None:
    """Returns the user's globals in a linked program, without fusepy's `own`; ``None`` if there are none.

    Raises:
        UnsupportedArgumentError: for a global that ends the process as soon as a kernel of the module runs.
    """
    parameters = program.layout.parameters
    listed = [(p.name, p.type_layout) for p in (parameters[i] for i in range(len(parameters))) if p.name not in own]
    if not listed:
        return None
    names = [name for name, _ in listed]
    for name, layout in listed:
        _check_global(name, layout)
    return BoundParameters(dict(listed), frozenset(n for n in names if names.count(n) > 1))


def _check_global(name: str, layout: spy.TypeLayoutReflection) -> None:
    """Raises `UnsupportedArgumentError` for an interface, which needs a value, and for an array without a size.

    In slangpy 0.43, kernels of a module that declares one of them crash, also those that do not use it.
    """
    kind, inner = layout.kind, list[spy.TypeLayoutReflection]()
    if kind == _K.struct:
        inner = [layout.fields[i].type_layout for i in range(len(layout.fields))]
    elif kind in (_K.array, _K.parameter_block, _K.constant_buffer):
        inner = [layout.element_type_layout]
    if kind == _K.interface:
        interface = layout.type.full_name
        raise UnsupportedArgumentError(
            f"the global {name!r} holds the interface {interface}, of which no value can be set",
            expected="a struct, or an interface among the parameters of the function",
            hint=f"declare it as a struct that implements {interface}, or pass it as an argument",
        )
    if kind == _K.array and not sized(layout):
        raise unsized(name, layout.type.full_name)
    for part in inner:
        _check_global(name, part)


def reads(names: Sequence[str], text: str, sources: Sequence[ModuleSource]) -> list[str]:
    """Returns the globals that an entry point's `text` reads, judged by the text of its modules."""
    reached = reachable(text, *texts_apart(sources))
    return [n for n in names if n in reached]


def reads_of_calls(names: Sequence[str], called: Sequence[str], sources: Sequence[ModuleSource]) -> list[str]:
    """Returns the globals that functions read, by their names: a generated kernel reads globals only in its calls."""
    reached = reached_from(called, *texts_apart(sources))
    return [n for n in names if n in reached]


def check_set(function: str, names: Sequence[str], values: Mapping[str, Any], hint: str) -> None:
    """Raises `ArgumentError` for a global that is read but was never set; ``{0}`` in `hint` is its name."""
    missing = [n for n in names if n not in values]
    if missing:
        raise ArgumentError(
            f"{function} reads the global {missing[0]!r}, which was never set",
            saw=", ".join(values) or "nothing set",
            hint=hint.format(missing[0]),
        )
