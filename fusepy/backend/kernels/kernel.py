"""`Kernel`: a compiled region variant, with its parameter block, globals and resources."""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import slangpy as spy

from fusepy.backend.cuda.driver import CudaDriver
from fusepy.backend.cuda.kernel import CudaKernel
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink, StageSink
from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.text import KernelSource
from fusepy.backend.emit.tuning import GROUPS_PER_ROW
from fusepy.backend.kernels.dump import dump
from fusepy.backend.kernels.globals import Bindings, BoundParameters, bound_globals, check_set, reads_of_calls
from fusepy.backend.kernels.resources import Resources
from fusepy.backend.slang.compiler import LinkedProgram
from fusepy.backend.slang.diagnostics import advice, clean, unbuilt
from fusepy.backend.slang.stage import AnyPipeline
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError, FusepyError

LONG = 1 << 23  # elements, for which a GPU takes longer than a submission takes the host, if each is a few operations
LARGE = 8192  # threads; on an H100 a stencil of 8192 x 8192 takes 262 µs launched at once, and 340 recorded

_FORMATS = {
    "uint": "I", "int": "i", "uint64_t": "Q", "int64_t": "q", "float": "f", "double": "d", "half": "e",
    "uint16_t": "H", "int16_t": "h", "uint8_t": "B", "int8_t": "b",
}  # fmt: skip


class Kernel:
    """A pipeline with its parameter block.

    Attributes:
        packer: packs one Python number per field, in the order of `fields`.
        direct: the CUDA driver can launch it: its parameters are one block, and it reads no globals. If the block is unchanged
            and the launch small, it is recorded instead, for half of the time; writing a changed one to the root costs as much.
        eager: its program returns one number or little more, which the host will read, and reads take long behind recorded work.
        codegen: how its code was made.
        long: the number of elements from which on a GPU starts at once; fewer where each takes long.
        per_group: elements of one thread group.
        resources: the bindings by name.
        objects: what the pass reads, beside the code.
    """

    __slots__ = (
        "__weakref__", "_bound", "_buffer", "_count", "_cursor", "_data", "_device", "_function", "_groups", "_launched",
        "_packed", "_program", "_reads", "_source", "_sources", "_staged", "codegen", "direct", "eager", "fields", "globals",
        "long", "objects", "packer", "per_group", "pipeline", "resources", "root",
    )  # fmt: skip

    def __init__(
        self,
        device: Device,
        program: LinkedProgram,
        source: KernelSource,
        offsets: Sequence[int],
        size: int,
        sources: Sequence[ModuleSource] = (),
    ):
        dump(source.name, source.text)
        self.pipeline, program = _built(device, program, source, sources)
        self._device, self.fields = device, source.fields
        self.per_group = source.shape.per_group
        self.packer = struct.Struct(_layout(source.fields, offsets, size))
        # set_data has no checks: a block of another size would overwrite the memory behind it, or leave it stale
        assert self.packer.size == size, (self.packer.format, size)
        self.long, self._count, self._groups = LONG, 0, [0, 1, 1]
        self._packed = self._launched = b""  # the block in the root, and that of the last launch through the driver
        self._buffer = bytearray(size)
        self._data = np.frombuffer(self._buffer, np.uint8)
        self._program, self.codegen = program.program, program.codegen
        self._source, self._sources = source, sources
        self._reads: list[str] | None = None
        self.resources, self.objects = source.resources, source.objects
        self._bound = Resources(source.resources, source.name, source.labels) if source.resources else None
        self.globals: BoundParameters | None = bound_globals(
            program.program, BLOCK, *source.stage.own, *(f.name for f in source.resources)
        )
        self.direct, self.eager = device.queue.driver is not None and _is_direct(self), False
        self._function: CudaKernel | None = None
        self._staged: tuple[Sink, StageSink] | None = None  # the sink of the last launch, and the one that records its pass
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
        twin._function, twin._staged, twin._launched = None, None, b""
        twin._renew(device)
        return twin

    @property
    def names(self) -> tuple[str, tuple[str, ...]]:
        """The names of the function and the operands in messages."""
        return self._source.name, self._source.labels

    @property
    def driver(self) -> CudaDriver | None:
        """The CUDA driver of its device."""
        return self._device.queue.driver

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

    def launch(
        self,
        sink: Sink,
        bindings: Bindings | None,
        values: Sequence[float],
        count: int,
        by_axis: Sequence[int] | None = None,
        beside: bool = False,
        more: bool = False,
        objects: Sequence[Any] = (),
    ) -> None:
        """Packs the parameter block, binds `objects` and records the dispatch. The device's lock must be held.

        Args:
            bindings: the values of globals, compared with those of the last launch by identity.
            by_axis: groups along each axis; by default `count` decides.
            beside: it may run concurrently with the launch before it.
            more: further launches of the same program follow.
            objects: those of the kernel's `resources`, in order.

        Raises:
            struct.error: if a number does not fit its field.
        """
        device, bound = self._device, self.globals
        if count != self._count:
            self._cover(count)
        groups, packed = by_axis or self._groups, self.packer.pack(*values)
        if bound is not None and bindings is not bound.current:
            if bindings is None or bindings.names != bound.checked:
                self._check_globals(device, bound, bindings)
            bound.write({} if bindings is None else bindings.values, device, self._source.name)
            bound.current = bindings
        if self._bound is not None:
            self._bound.bind(device, sink, objects)
        device.counters.dispatches += 1
        direct = sink.direct if self.direct else None
        if direct is not None and (self.eager or direct.immediate or packed != self._launched or self._is_large(groups)):
            function = self._function or self._loaded()
            function.block.raw = self._launched = packed
            direct.launch(function, groups)
            return
        if packed != self._packed:  # an unchanged block is not written again: 0.8 µs less on CUDA
            self._buffer[:] = self._packed = packed
            self._cursor.set_data(self._data)
        dispatch = sink.dispatch if bound is None or not bound.surrounded else partial(bound.surround, sink)
        dispatch(self.pipeline, self.root, groups, beside, more)
        if self._bound is not None:
            self._bound.finish(sink)
        if count >= self.long:
            sink.start()
        if sink.captures:  # the root that it has taken stays as it is
            self._renew(device)

    def binds_nothing(self, sink: Sink, bindings: Bindings | None) -> bool:
        """True if a dispatch needs its parameter block only: `fill` prepares it."""
        bound = self.globals
        if self.resources or sink.captures:
            return False
        return bound is None or (bindings is bound.current and not bound.surrounded)

    def fill(self, values: Sequence[float]) -> None:
        """Packs the parameter block for a dispatch that is recorded next. The device's lock must be held.

        Raises:
            struct.error: if a number does not fit its field.
        """
        packed = self.packer.pack(*values)
        self._device.counters.dispatches += 1
        if packed != self._packed:
            self._buffer[:] = self._packed = packed
            self._cursor.set_data(self._data)

    def staged(self, sink: Sink, begin: Callable[..., None]) -> StageSink:
        """Returns the sink in which a dispatch of this kernel is a pass of another stage; `begin` gets `sink` first."""
        if self._staged is not None and self._staged[0] is sink:
            return self._staged[1]
        made = StageSink(sink, partial(begin, sink))
        self._staged = None if sink.keeps or sink.captures else (sink, made)  # the device's queue is used again
        return made

    def _cover(self, count: int) -> None:
        """Sets the number of groups for `count` elements."""
        groups = -(-count // self.per_group)
        self._groups = [groups, 1, 1] if groups <= GROUPS_PER_ROW else [GROUPS_PER_ROW, -(-groups // GROUPS_PER_ROW), 1]
        self._count = count

    def _is_large(self, groups: Sequence[int]) -> bool:
        """True if the device works longer than the host: then it should start at once, and read its numbers as constants."""
        return math.prod(groups) * self._source.shape.threads > LARGE

    def apart(self, count: int, by_axis: Sequence[int] | None) -> tuple[CudaKernel, Sequence[int]]:
        """Returns the kernel for the CUDA driver with a block of its own, and the groups for `count` elements."""
        if count != self._count:
            self._cover(count)
        return (self._function or self._loaded()).copy(), tuple(by_axis or self._groups)

    def _loaded(self) -> CudaKernel:
        """Makes the kernel as the CUDA driver launches it."""
        assert isinstance(self.pipeline, spy.ComputePipeline)
        name, nbytes = str(self._source.entry_point), len(self._buffer)
        self._function = _for_driver(self._device, self.pipeline, name, nbytes)
        return self._function

    def _check_globals(self, device: Device, bound: BoundParameters, bindings: Bindings | None) -> None:
        """Checks that all globals that the kernel reads have a value, and takes a new root if others had one before."""
        values: Mapping[str, Any] = {} if bindings is None else bindings.values
        if bound.stale(values):
            device.queue.enter()
            self._renew(device)
        if self._reads is None:
            self._reads = reads_of_calls(bound.names, self._source.calls, self._sources)
        check_set(self._source.name, self._reads, values, "call .set({0}=…) on the function")
        bound.checked = () if bindings is None else bindings.names


def _built(
    device: Device, program: LinkedProgram, source: KernelSource, sources: Sequence[ModuleSource]
) -> tuple[AnyPipeline, LinkedProgram]:
    """Returns the pipeline of a kernel, and its program as the compiler keeps it.

    Raises:
        CompileError: if Slang or the driver refuses it.
    """
    device.raw.set_cuda_context_current()  # the thread may have changed; no effect on other APIs
    try:
        return device.compiler.pipeline(source.name, program, sources, source.text, source.stage)
    except FusepyError:
        raise
    except RuntimeError as error:
        words = clean(str(error).partition("RHI messages:\n")[2].partition("\n/project/")[0])
        if "error[E" in words:  # errors that Slang finds only here: a static_assert of user code, a missing capability
            # Slang shows the text of an assertion only if it has the source of the module
            raise CompileError(f"Slang cannot compile kernel {program.name}\n{words}", hint=advice(words, ())) from error
        what, hint = unbuilt("\n".join((source.text, *texts_of(sources))), str(error))
        raise CompileError(f"{what} kernel {program.name}", saw=error, hint=hint) from error


def _is_direct(kernel: Kernel) -> bool:
    """True if the CUDA driver can launch a kernel. For CUDA, Slang drops globals of a module that the kernel does not use."""
    driver = kernel.driver
    if driver is None or kernel.resources or kernel.objects or not isinstance(kernel.pipeline, spy.ComputePipeline):
        return False
    return kernel.globals is None or not driver.has_global(kernel.pipeline.native_handle.value, "SLANG_globalParams")


def _for_driver(device: Device, pipeline: spy.ComputePipeline, name: str, nbytes: int) -> CudaKernel:
    """Returns a kernel as the CUDA driver launches it."""
    driver, threads = device.queue.driver, pipeline.thread_group_size
    assert driver is not None
    shape = threads.x, threads.y, threads.z
    return CudaKernel(driver, pipeline.native_handle.value, name, shape, nbytes, pipeline, device.retired)


def _layout(fields: Sequence[Field], offsets: Sequence[int], size: int) -> str:
    """Returns a `struct` format with explicit padding."""
    text, at = "<", 0
    for field, offset in zip(fields, offsets, strict=True):
        code = "Q" if field.type.endswith(("*", ".Handle")) else _FORMATS[field.type]
        text += f"{offset - at}x" * (offset > at) + code
        at = offset + struct.calcsize(f"<{code}")
    return text + f"{size - at}x" * (size > at)
