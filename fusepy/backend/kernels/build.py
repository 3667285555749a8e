"""The construction of kernels: from memory, from the disk cache, or by Slang."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import slangpy as spy

from fusepy.backend.cache.format import unsealed
from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.region import EMITTER_VERSION
from fusepy.backend.emit.text import KernelSource
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.slang.codegen import Codegen
from fusepy.backend.slang.comparisons import check_comparisons
from fusepy.backend.slang.compiler import LinkedProgram
from fusepy.backend.slang.serialised import entry_of, imports_from
from fusepy.backend.slang.session import digest_name
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError


def build_kernel(
    device: Device,
    source: KernelSource,
    sources: Sequence[ModuleSource],
    in_users_names: Callable[[], KernelSource] | None = None,
    make: type[Kernel] = Kernel,
) -> Kernel:
    """Returns the kernel of a generated source, from memory, from the disk cache, or compiled.

    Args:
        in_users_names: creates the same source with the user's names and lines, for Slang's errors.
        make: the class of the kernel.

    Raises:
        CompileError: if Slang or the driver rejects it.
    """
    key = cache_key(device, source, sources)
    kernel = device.kernels.get(key)  # equal regions share a kernel, across functions too
    if kernel is None:
        kernel = _from_disk(device, source, sources, key, make)
        kernel = kernel or _from_slang(device, source, sources, key, in_users_names, make)
        device.kernels[key] = kernel
    # a buffer and a tensor, or a number and an array without axes, may have one text, and the host reads them differently
    alike = kernel.names == (source.name, source.labels) and _readers(kernel) == _readers(source)
    return kernel if alike else kernel.twin(device, source)


def _readers(kernel: Kernel | KernelSource) -> list[object]:
    """Returns what the resources and fields of a kernel are read from, and the functions that read resources and addresses."""
    by = ("resource", "address", "pointer")
    return [(f.role, f.source, f.axis, f.read if f.role in by else None) for f in (*kernel.resources, *kernel.fields)]


def _from_disk(
    device: Device, source: KernelSource, sources: Sequence[ModuleSource], key: str, make: type[Kernel]
) -> Kernel | None:
    entry = device.cache.get(key) if all(s.cacheable for s in sources) else None
    header = None if entry is None else unsealed(entry.header)
    imports = None if header is None else imports_from(device.cache, device.compiler.in_place, header)
    if entry is not None and header is not None and imports is not None:
        codegen = Codegen(header["optimised"], source.fast_math, header["whole_prelude"])
        try:
            program = device.compiler.load_binary(
                header["name"], entry.payload, sources, source.entry_point, source.conformances, imports, codegen
            )
            kernel = make(device, program, source, header["offsets"], header["size"], sources)
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
    in_users_names: Callable[[], KernelSource] | None,
    make: type[Kernel],
) -> Kernel:
    start = time.perf_counter()
    try:
        kernel, header, program = _compiled(device, source, sources, make)
    except CompileError:
        if in_users_names is not None:
            _compiled(device, in_users_names(), sources, make)  # raises the same error with the user's lines
        raise
    device.counters.kernels_compiled += 1
    device.counters.compile_seconds += time.perf_counter() - start
    if all(s.cacheable for s in sources):
        device.cache.put_later(key, partial(entry_of, device.cache, device.identity, header, program.binaries, sources))
    return kernel


def _compiled(
    device: Device, source: KernelSource, sources: Sequence[ModuleSource], make: type[Kernel]
) -> tuple[Kernel, dict[str, Any], LinkedProgram]:
    """Returns a kernel, the header of its entry in the disk cache, and its program."""
    # the name is a hash of text and conformances: a session cannot hold two sources of one name
    name = digest_name("k", source.text + repr(source.conformances) * bool(source.conformances) + "fast" * source.fast_math)
    codegen = Codegen(fast_math=source.fast_math)
    arguments = (name, source.text, source.shims, tuple(sources), source.entry_point, source.conformances, codegen)
    program = device.compiler.compile(*arguments)
    try:
        texts = "\n".join((source.text, *(text for _, text in source.shims)))
        facts = device.facts(sources[0]) if sources else None
        check_comparisons(device.raw.info.type, sources, arguments, texts, facts, source.stage)
        offsets, size = reflected_layout(device, program.program)
        kernel = make(device, program, source, offsets, size, sources)
    except CompileError as error:
        device.compiler.remember(name, error)
        raise
    made = {"optimised": kernel.codegen.optimised, "whole_prelude": kernel.codegen.whole_prelude}
    return kernel, {"name": name, "offsets": offsets, "size": size} | made, program


def cache_key(device: Device, source: KernelSource, sources: Sequence[ModuleSource]) -> str:
    """Returns the cache key: all that the compiled kernel depends on, without the line numbers of the user's file."""
    text = "\n".join([line for line in source.text.splitlines() if not line.startswith("#line")])
    fields = [(f.type, f.name) for f in source.fields]
    linked = [list(c) for c in source.conformances]
    modules: Mapping[str, str] = {s.name: s.closure for s in sources}
    return json.dumps(
        ["kernel 6", EMITTER_VERSION, device.identity, modules, text, source.shims, source.entry_point, fields, linked]
        + ["fast math"] * source.fast_math,
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
