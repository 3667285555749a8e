"""Raw kernels: entry points of the user, or a function wrapped into one, with parameters bound by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.options import Options
from fusepy.backend.kernels.globals import Bindings, BoundParameters, bound_globals, check_set, reads
from fusepy.backend.kernels.slots import Staged
from fusepy.backend.slang.codegen import Codegen
from fusepy.backend.slang.comparisons import check_comparisons
from fusepy.backend.slang.compiler import LinkedProgram
from fusepy.backend.slang.entry_points import RENAMED, renamed, with_entry_points, without_entry_points
from fusepy.backend.slang.reflection import reflected
from fusepy.backend.slang.session import digest_name
from fusepy.backend.slang.stage import COMPUTE
from fusepy.backend.sources.libraries import array_name, is_array
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, CompileError, FusepyError, ShapeError, UnknownNameError, did_you_mean
from fusepy.ir.whole import LIBRARIES

_PREFIX = "fz_p_"  # parameters of a wrapped function, kept apart from the user's globals
_COUNT = "fz_threads"
_K = spy.TypeReflection.Kind
_PLAIN = (_K.scalar, _K.vector, _K.matrix, _K.array, _K.struct, _K.pointer)
_IDS = ("uint", "uint2", "uint3", "int", "int2", "int3", "vector<uint,2>", "vector<uint,3>", "vector<int,2>", "vector<int,3>")


class RawKernel:
    """A compiled entry point.

    Attributes:
        parameters: names of the parameters that a dispatch passes.
        numthreads: threads of its thread group along x, y and z.
    """

    def __init__(self, device: Device, source: ModuleSource, name: str, existing: Sequence[int] | None, options: Options):
        self.device = device
        self.name = name
        self._source = source
        device.raw.set_cuda_context_current()
        self.numthreads = (*(existing or options.numthreads or (64,)), 1, 1)[:3]
        if existing is None:
            self._text = _wrapper(device, source, name, self.numthreads, options)
            program = _compile(device, source, self._text, "fz_dispatch", options)
        elif name == "main" and device.target.kind == "cuda":
            source = without_entry_points(source)
            self._text = renamed(device.compiler.module(source), source, self.numthreads, options.exports())
            program = _compile(device, source, self._text, RENAMED, options)
        else:
            self._text = name
            source = with_entry_points(source) if device.target.kind == "cuda" else source
            arguments = (source, name, "\n".join(options.exports()), options.conformances, Codegen(None, options.fast_math, True))
            program = device.compiler.link_existing(*arguments)
            check_comparisons(device.raw.info.type, [source], arguments, name, device.facts(source))
        try:
            self._pipeline, program = device.compiler.pipeline(name, program, [source], self._text)
        except FusepyError:
            raise
        except RuntimeError as error:
            raise CompileError(f"the driver cannot build {name}", saw=error, hint="see the driver's message above") from error
        self._program = program.program
        self._wrapped = existing is None
        self._reads: list[str] | None = None
        self._globals, self._own = self._parameters()
        self.parameters = [n.removeprefix(_PREFIX) for n in self._own.names]
        self._attach()

    def _parameters(self) -> tuple[BoundParameters | None, BoundParameters]:
        """Returns the module's globals, and the parameters that a dispatch passes."""
        if not self._wrapped:
            listed = self._program.layout.entry_points[0].parameters
            params = [listed[i] for i in range(len(listed))]
            # system values such as SV_DispatchThreadID are plain data of size 0
            given = {p.name: p.type_layout for p in params if p.type_layout.size or p.type_layout.kind not in _PLAIN}
            return bound_globals(self._program), BoundParameters(given)
        listed = self._program.layout.parameters
        params = [listed[i] for i in range(len(listed))]
        own = {p.name: p.type_layout for p in params if p.name.startswith(_PREFIX)}
        return bound_globals(self._program, _COUNT, *own), BoundParameters(own, prefix=_PREFIX)

    def _attach(self) -> None:
        self._root = self.device.raw.create_root_shader_object(self._program)  # a cursor does not keep it alive
        cursor = spy.ShaderCursor(self._root)
        if self._globals is not None:
            self._globals.attach(cursor)
        self._own.attach(cursor if self._wrapped else cursor.find_entry_point(0))
        self._count = cursor[_COUNT] if self._wrapped else None

    def dispatch(self, threads: Sequence[int], given: Mapping[str, Any], sink: Sink, bindings: Bindings) -> None:
        """Records one dispatch over at least `threads` threads, in whole groups.

        Raises:
            ArgumentError, UnknownNameError: if parameters are missing or unknown.
            UnsupportedArgumentError, RangeError, ShapeError: if a value does not fit.
        """
        device = self.device
        groups = self._groups(threads)
        self._check(given)
        if not math.prod(groups):
            return
        with device.lock:
            values = bindings.values
            if self._globals is not None and self._globals.stale(values):
                self._attach()
            staged = self._write(values, given)
            if self._count is not None:
                self._count.set_data(np.array([*threads], np.uint32).view(np.uint8))
            for copy in staged:
                copy.copy_in(sink)
            sink.dispatch(self._pipeline, self._root, groups)
            for copy in staged:
                copy.copy_out(sink)
            if self._own.foreign or (self._globals is not None and self._globals.foreign):
                sink.flush()
            device.counters.dispatches += 1
            if sink.captures:  # the root that it has taken stays as it is
                self._attach()

    def _write(self, values: Mapping[str, Any], given: Mapping[str, Any]) -> list[Staged]:
        staged: list[Staged] = []
        if self._globals is not None:
            if self._reads is None:
                self._reads = reads(self._globals.names, self._text, [self._source])
            check_set(self.name, self._reads, values, "call .set({0}=…) on it, or pass vars={{{0!r}: …}}")
            self._globals.write(values, self.device, self.name)
            staged += self._globals.staged
        prefix = _PREFIX if self._wrapped else ""
        self._own.write({prefix + name: value for name, value in given.items()}, self.device, self.name)
        return [*staged, *self._own.staged]

    def _check(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self.parameters:
                raise UnknownNameError(f"{self.name} has no parameter {name!r}", hint=did_you_mean(name, self.parameters))
        missing = [n for n in self.parameters if n not in given]
        if missing:
            raise ArgumentError(
                f"{self.name} misses the argument {missing[0]!r}",
                expected=", ".join(self.parameters),
                hint=f"pass {missing[0]}=…",
            )

    def _groups(self, threads: Sequence[int]) -> list[int]:
        groups = [-(-n // size) for n, size in zip(threads, self.numthreads)]
        most = [int(n) for n in self.device.raw.info.limits.max_compute_dispatch_thread_groups]
        if any(n > m for n, m in zip(groups, most)):
            raise ShapeError(
                f"{self.name}: {'x'.join(map(str, threads))} threads in groups of {'x'.join(map(str, self.numthreads))}",
                saw=f"{groups} groups",
                expected=f"at most {most}",
                hint="dispatch over two or three dimensions, or in parts",
            )
        return groups

    @property
    def kept(self) -> list[Any]:
        """The objects that recorded work needs: the pipeline, and the root with its bindings."""
        return [self._pipeline, self._root]


def _compile(device: Device, source: ModuleSource, text: str, entry: str, options: Options) -> LinkedProgram:
    arguments = digest_name("r", text), text, (), (source,), entry, options.conformances, Codegen(None, options.fast_math, True)
    program = device.compiler.compile(*arguments)
    check_comparisons(device.raw.info.type, [source], arguments, text, device.facts(source))
    return program


def _wrapper(device: Device, source: ModuleSource, name: str, numthreads: Sequence[int], options: Options) -> str:
    """Returns an entry point that calls a function on each thread; its first parameter is the thread id.

    Raises:
        ArgumentError: if the first parameter is no thread id, or the function has a result or an out parameter.
    """
    function = reflected(device.compiler.module(source)).find_function_by_name(name)
    if function is None or function.is_overloaded:  # type: ignore[redundant-expr]
        raise ArgumentError(f"{name} cannot be dispatched: it is overloaded", hint="give it a name of its own")
    params = [function.parameters[i] for i in range(len(function.parameters))]
    if not params or params[0].type.full_name not in _IDS:
        raise ArgumentError(
            f"{name} cannot be dispatched: its first parameter is no thread id",
            saw=f"{params[0].type.full_name} {params[0].name}" if params else "no parameters",
            expected="uint, uint2 or uint3",
            hint=f"write void {name}(uint3 tid, …), make it an entry point, or call it",
        )
    written = [p.name for p in params if p.has_modifier(spy.ModifierID.out) or p.has_modifier(spy.ModifierID.inout)]
    if written or function.return_type.full_name != "void":
        raise ArgumentError(
            f"{name} cannot be dispatched: it {'writes to ' + written[0] if written else 'returns something'}",
            hint="call it instead",
        )
    kind = params[0].type.full_name
    count = 1 if kind in ("uint", "int") else 3 if "3" in kind else 2
    swizzle = "xyz"[:count]
    libraries = _libraries([p.type for p in params[1:]], reflected(device.compiler.module(source)))
    lines = [f"import {source.name};", *(f"import {name};" for name in libraries), *options.exports()]
    lines += [f"uniform {p.type.full_name} {_PREFIX}{p.name};" for p in params[1:]]
    lines += [f"uniform uint3 {_COUNT};", *COMPUTE.attributes(numthreads)]
    lines += [
        "void fz_dispatch(uint3 fz_thread : SV_DispatchThreadID)",
        "{",
        *(f"    {line}" for line in (COMPUTE.exact("half double") if device.target.spirv else ())),
        f"    if (any(fz_thread >= {_COUNT}))",
        "        return;",
    ]
    passed = [f"{kind}(fz_thread.{swizzle})", *(f"{_PREFIX}{p.name}" for p in params[1:])]
    return "\n".join([*lines, f"    {name}({', '.join(passed)});", "}"]) + "\n"


def _libraries(types: Sequence[spy.TypeReflection], layout: spy.ProgramLayout) -> list[str]:
    """Returns the Slang libraries of the arrays among these types. A kernel does not see the imports of the module."""
    names = [array_name(t, layout) or "" for t in types if is_array(t)]
    return list(dict.fromkeys(n.partition("::")[0] for n in names if n.startswith(tuple(f"{lib}::" for lib in LIBRARIES))))
