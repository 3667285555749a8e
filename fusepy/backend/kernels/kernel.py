"""`Kernel`: a compiled region variant, and its construction: from memory, from disk, or by Slang."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import slangpy as spy

from fusepy.backend.cache.files import unsealed
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.region import EMITTER_VERSION
from fusepy.backend.emit.text import KernelSource
from fusepy.backend.emit.tuning import GROUPS_PER_ROW
from fusepy.backend.kernels.globals import Bindings, Bound, bound_globals, check_set, reads_of_calls
from fusepy.backend.kernels.resources import Resources
from fusepy.backend.slang.comparisons import check_comparisons
from fusepy.backend.slang.compiler import Program, digest_name
from fusepy.backend.slang.diagnostics import clean, unbuilt
from fusepy.backend.slang.serialised import entry_of, imports_from
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError

_FORMATS = {
    "uint": "I", "int": "i", "uint64_t": "Q", "int64_t": "q", "float": "f", "double": "d", "half": "e",
    "uint16_t": "H", "int16_t": "h", "uint8_t": "B", "int8_t": "b",
}  # fmt: skip


class Kernel:
    """A pipeline with its parameter block.

    Attributes:
        packer: packs one Python number per field, in the order of `fields`.
        optimised: Slang's optimiser of SPIR-V has run.
        per_group: elements of one thread group.
        resources: the bindings by name.
    """

    __slots__ = (
        "__weakref__",
        "_bound",
        "_buffer",
        "_count",
        "_cursor",
        "_data",
        "_device",
        "_groups",
        "_packed",
        "_program",
        "_reads",
        "_source",
        "_sources",
        "fields",
        "globals",
        "optimised",
        "packer",
        "per_group",
        "pipeline",
        "resources",
        "root",
    )

    def __init__(
        self,
        device: Device,
        program: Program,
        source: KernelSource,
        offsets: Sequence[int],
        size: int,
        sources: Sequence[ModuleSource] = (),
    ):
        device.raw.set_cuda_context_current()  # the thread may have changed; no effect on other APIs
        try:
            self.pipeline, program = device.compiler.pipeline(source.name, program, sources, source.text)
        except CompileError:
            raise
        except RuntimeError as error:
            words = clean(str(error).partition("RHI messages:\n")[2].partition("\n/project/")[0])
            if "error[E" in words:  # errors that Slang finds only here: a static_assert of user code, a missing capability
                # Slang shows the text of an assertion only if it has the source of the module
                indices = "'_indices'" in words
                hint = "a tensor takes one index per axis: t[y, x], or t[int2(x, y)]" if indices else "mend the Slang source"
                raise CompileError(f"Slang cannot compile kernel {program.name}\n{words}", hint=hint) from error
            what, hint = unbuilt("\n".join((source.text, *texts_of(sources))), str(error))
            raise CompileError(f"{what} kernel {program.name}", saw=error, hint=hint) from error
        self._device, self.fields = device, source.fields
        self.per_group = source.shape.per_group
        self.packer = struct.Struct(_layout(source.fields, offsets, size))
        # set_data has no checks: a block of another size would overwrite the memory behind it, or leave it stale
        assert self.packer.size == size, (self.packer.format, size)
        self._count = 0
        self._groups = [0, 1, 1]
        self._packed = b""
        self._buffer = bytearray(size)
        self._data = np.frombuffer(self._buffer, np.uint8)
        self._program, self.optimised = program.program, program.optimised
        self._source, self._sources = source, sources
        self._reads: list[str] | None = None
        self.resources = source.resources
        self._bound = Resources(source.resources, source.name, source.labels) if source.resources else None
        self.globals: Bound | None = bound_globals(program.program, BLOCK, *(f.name for f in source.resources))
        self._renew(device)

    def twin(self, device: Device, source: KernelSource | None = None) -> Kernel:
        """Returns the same kernel with its own root, so that two launches of a program each keep their packed block.

        Args:
            source: of an equal region with other names, for messages.
        """
        twin = copy.copy(self)
        if source is not None:
            twin._source, twin.fields, twin.resources, twin._reads = source, source.fields, source.resources, None
        twin._buffer = bytearray(len(self._buffer))
        twin._data = np.frombuffer(twin._buffer, np.uint8)
        twin._bound = Resources(twin.resources, twin._source.name, twin._source.labels) if twin.resources else None
        twin.globals = None if self.globals is None else self.globals.empty()
        twin._renew(device)
        return twin

    @property
    def names(self) -> tuple[str, tuple[str, ...]]:
        """The names of the function and the operands in messages."""
        return self._source.name, self._source.labels

    def _renew(self, device: Device) -> None:
        """Creates an empty root shader object."""
        self.root = device.raw.create_root_shader_object(self._program)
        cursor = spy.ShaderCursor(self.root)
        scope = cursor.find_entry_point(0) if device.target.entry_point_block else cursor
        self._cursor = scope[BLOCK]
        self._packed = b""
        if self._bound is not None:
            self._bound.attach(scope)
        if self.globals is not None:
            self.globals.attach(cursor)

    def launch_bound(
        self,
        sink: Sink,
        bindings: Bindings | None,
        values: Sequence[float],
        count: int,
        resources: Sequence[Any],
        by_axis: Sequence[int] | None = None,
        beside: bool = False,
        more: bool = False,
    ) -> None:
        """Binds these objects, in the order of the kernel's `resources`, and launches."""
        if self._bound is None:
            self.launch(sink, bindings, values, count, by_axis, beside, more)
            return
        with self._device.lock:
            self._bound.bind(self._device, sink, resources)
            self.launch(sink, bindings, values, count, by_axis, beside, more)
            self._bound.finish(sink)

    def launch(
        self,
        sink: Sink,
        bindings: Bindings | None,
        values: Sequence[float],
        count: int,
        by_axis: Sequence[int] | None = None,
        beside: bool = False,
        more: bool = False,
    ) -> None:
        """Packs the parameter block and records the dispatch.

        Args:
            bindings: the values of globals, compared with those of the last launch by identity.
            by_axis: groups along each axis; by default `count` decides.
            beside: it may run concurrently with the launch before it.
            more: further launches of the same program follow.

        Raises:
            struct.error: if a number does not fit its field.
        """
        packed = self.packer.pack(*values)
        device = self._device
        with device.lock:
            bound = self.globals
            if bound is not None and bindings is not bound.current:
                if bindings is not None and bindings.names == bound.checked:
                    bound.write(bindings.values, device, self._source.name)
                    bound.current = bindings
                else:
                    self._bind(device, bound, bindings)
            if count != self._count:
                groups = -(-count // self.per_group)
                self._groups = [groups, 1, 1] if groups <= GROUPS_PER_ROW else [GROUPS_PER_ROW, -(-groups // GROUPS_PER_ROW), 1]
                self._count = count
            if packed != self._packed:  # an unchanged block is not written again: 0.8 µs less on CUDA
                self._buffer[:] = packed
                self._cursor.set_data(self._data)
                self._packed = packed
            if bound is None or not bound.surrounded:
                sink.dispatch(self.pipeline, self.root, by_axis or self._groups, beside, more)
            else:
                bound.surround(sink, partial(sink.dispatch, self.pipeline, self.root, by_axis or self._groups, beside, more))
            device.counters.dispatches += 1

    def _bind(self, device: Device, bound: Bound, bindings: Bindings | None) -> None:
        """Writes these values of globals to the root, and no others."""
        values: Mapping[str, Any] = {} if bindings is None else bindings.values
        names = () if bindings is None else bindings.names
        if bound.checked != names:
            if bound.stale(values):
                device.queue.enter()
                self._renew(device)
            if self._reads is None:
                self._reads = reads_of_calls(bound.names, self._source.calls, self._sources)
            check_set(self._source.name, self._reads, values, "call .set({0}=…) on the function")
            bound.checked = names
        bound.write(values, device, self._source.name)
        bound.current = bindings


def build_kernel(
    device: Device,
    source: KernelSource,
    sources: Sequence[ModuleSource],
    in_users_names: Callable[[], KernelSource] | None = None,
) -> Kernel:
    """Returns the kernel of a generated source, from memory, from the disk cache, or compiled.

    Args:
        in_users_names: creates the same source with the user's names and lines, for Slang's errors.

    Raises:
        CompileError: if Slang or the driver rejects it.
    """
    key = cache_key(device, source, sources)
    kernel = device.kernels.get(key)  # equal regions share a kernel, across functions too
    if kernel is None:
        kernel = _from_disk(device, source, sources, key) or _from_slang(device, source, sources, key, in_users_names)
        device.kernels[key] = kernel
    # a buffer and a tensor may have one text, but the host reads their addresses differently
    alike = kernel.names == (source.name, source.labels) and _readers(kernel) == _readers(source)
    return kernel if alike else kernel.twin(device, source)


def _readers(kernel: Kernel | KernelSource) -> list[object]:
    """Returns the functions that read the resources and addresses of a kernel from its arguments."""
    return [f.read for f in (*kernel.resources, *kernel.fields) if f.role in ("resource", "address", "pointer")]


def _from_disk(device: Device, source: KernelSource, sources: Sequence[ModuleSource], key: str) -> Kernel | None:
    entry = device.cache.get(key) if all(s.cacheable for s in sources) else None
    header = None if entry is None else unsealed(entry.header)
    imports = None if header is None else imports_from(device.cache, device.compiler.in_place, header)
    if entry is not None and header is not None and imports is not None:
        try:
            program = device.compiler.load_binary(
                header["name"], entry.payload, sources, source.entry_point, source.conformances, imports, header["optimised"]
            )
            kernel = Kernel(device, program, source, header["offsets"], header["size"], sources)
        except CompileError:  # an entry that Slang rejects is a cache miss, and is written again
            for part, _ in imports:
                device.cache.remove(part.key)
        else:
            device.counters.disk_hits += 1
            return kernel
    device.counters.disk_misses += 1
    return None


def _from_slang(
    device: Device,
    source: KernelSource,
    sources: Sequence[ModuleSource],
    key: str,
    in_users_names: Callable[[], KernelSource] | None = None,
) -> Kernel:
    try:
        kernel, header, program = _compiled(device, source, sources)
    except CompileError:
        if in_users_names is not None:
            _compiled(device, in_users_names(), sources)  # raises the same error with the user's lines
        raise
    device.counters.kernels_compiled += 1
    if all(s.cacheable for s in sources):
        device.cache.put_later(key, partial(entry_of, device.cache, device.identity, header, program.binaries, sources))
    return kernel


def _compiled(device: Device, source: KernelSource, sources: Sequence[ModuleSource]) -> tuple[Kernel, dict[str, Any], Program]:
    """Returns a kernel, the header of its entry in the disk cache, and its program."""
    # the name is a hash of text and conformances: a session cannot hold two sources of one name
    name = digest_name("k", source.text + repr(source.conformances) * bool(source.conformances))
    arguments = (name, source.text, source.shims, tuple(sources), source.entry_point, source.conformances)
    program = device.compiler.compile(*arguments)
    try:
        texts = "\n".join((source.text, *(text for _, text in source.shims)))
        check_comparisons(device.raw.info.type, sources, arguments, texts, device.facts(sources[0]) if sources else None)
        offsets, size = reflected_layout(device, program.program)
        kernel = Kernel(device, program, source, offsets, size, sources)
    except CompileError as error:
        device.compiler.remember(name, error)
        raise
    return kernel, {"name": name, "offsets": offsets, "size": size, "optimised": kernel.optimised}, program


def cache_key(device: Device, source: KernelSource, sources: Sequence[ModuleSource]) -> str:
    """Returns the cache key: all that the compiled kernel depends on, without the line numbers of the user's file."""
    text = "\n".join(line for line in source.text.splitlines() if not line.startswith("#line"))
    fields = [(f.type, f.name) for f in source.fields]
    linked = [list(c) for c in source.conformances]
    modules: Mapping[str, str] = {s.name: s.closure for s in sources}
    return json.dumps(
        ["kernel 5", EMITTER_VERSION, device.identity, modules, text, source.shims, source.entry_point, fields, linked],
        sort_keys=True,
    )


def reflected_layout(device: Device, program: spy.ShaderProgram) -> tuple[list[int], int]:
    """Returns the byte offsets and the size of the parameter block, in Slang's layout for this target."""
    if device.target.entry_point_block:
        params = program.layout.entry_points[0].parameters
        block = next(params[i] for i in range(len(params)) if params[i].name == BLOCK).type_layout
    else:
        block = program.reflection[BLOCK].type_layout
    return [block.fields[i].offset for i in range(len(block.fields))], block.size


def _layout(fields: Sequence[Field], offsets: Sequence[int], size: int) -> str:
    """Returns a `struct` format with explicit padding."""
    text, at = "<", 0
    for field, offset in zip(fields, offsets, strict=True):
        code = "Q" if field.type.endswith(("*", ".Handle")) else _FORMATS[field.type]
        text += f"{offset - at}x" * (offset > at) + code
        at = offset + struct.calcsize(f"<{code}")
    return text + f"{size - at}x" * (size > at)
