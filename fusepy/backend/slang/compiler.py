"""`Compiler`: loads user modules and compiles kernels.

Slang does not retry a module that failed to load under the same name. Names are therefore made from contents, with a new name for
each attempt, and failures are stored: the same source fails again with the same text, without a compilation.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import slangpy as spy

from fusepy.backend.slang.codegen import PRECISE, Codegen
from fusepy.backend.slang.diagnostics import advice, clean, cleaned
from fusepy.backend.slang.serialised import Binaries, Import, collect, folder_of, unpack
from fusepy.backend.slang.session import Place, Session, Sessions, digest_name
from fusepy.backend.slang.stage import COMPUTE, AnyPipeline, EntryPoints, PipelineStage, names_of
from fusepy.backend.sources.closure import imports, without_stages
from fusepy.backend.sources.lacking import CODE, check, check_buffers
from fusepy.backend.sources.source import ModuleSource, line_directive
from fusepy.errors import CompileError, FusepyError
from fusepy.ir.whole import LIBRARIES

Conformances = Sequence[tuple[str, str, int]]  # interface, type, identifier


@dataclass(frozen=True)
class LinkedProgram:
    """A linked kernel, ready to become a pipeline.

    Attributes:
        binaries: waits for its serialised modules and returns them.
        codegen: how its code is made.
        otherwise: compiles it again, see `Codegen.ways`; None if that was asked for.
    """

    program: spy.ShaderProgram
    name: str
    binaries: Callable[[], Binaries | None]
    codegen: Codegen = PRECISE
    otherwise: Callable[[], LinkedProgram] | None = None


class Compiler:
    """A loader of modules and compiler of kernels for one device.

    Args:
        device: the sgl device.
        lock: held while Slang works, because threads must not share a session.
        place: gives sessions the imports that other processes have parsed, see `serialised.place`.
    """

    def __init__(self, device: spy.Device, lock: threading.RLock, place: Place = None):
        self.is_cuda = device.info.type is spy.DeviceType.cuda
        self._lock = lock
        self._sessions = Sessions(device, place)
        self.kind = device.info.type
        self._failed: dict[str, CompileError] = {}
        self._attempts = 0

    def module(self, source: ModuleSource) -> spy.SlangModule:
        """Returns the loaded module of `source`, for reflection. Do not keep it beyond a question: sessions rotate.

        Raises:
            CompileError: with Slang's diagnostics, which name the user's file and line.
        """
        with self._lock:
            return self._load(self._sessions.compiling([source]), source)

    def compile(
        self,
        name: str,
        text: str,
        shims: Sequence[tuple[str, str]],
        sources: Sequence[ModuleSource],
        entry_point: EntryPoints,
        conformances: Conformances = (),
        codegen: Codegen = PRECISE,
    ) -> LinkedProgram:
        """Compiles and links one generated kernel. It imports `sources`, and the generated `shims`, by their names.

        Raises:
            CompileError: with Slang's diagnostics.
        """
        with self._lock:
            if name in self._failed:
                raise copy.copy(self._failed[name])  # what raises an error completes it
            session = self._ready(sources, text, codegen)
            for shim, content in shims:
                self._attempt(session, shim, content, f"shim {shim}")
            module = self._attempt(session, name, text, f"kernel {name}")
            program = _link(session.sgl, module, entry_point, conformances)
        names = [module.name, *(n for n, _ in shims), *(s.name for s in sources)]
        ways = codegen.ways(session.codegen, partial(self.compile, name, text, shims, sources, entry_point, conformances))
        return LinkedProgram(program, module.name, lambda: collect(session, names, sources), *ways)

    def close(self, cause: str) -> None:
        """Releases all loaded modules. Every later use raises `DeviceLostError`."""
        with self._lock:
            self._sessions.close(cause)

    def forget(self) -> None:
        """Drops loaded modules, whose memory lives as long as their session, and stored failures."""
        with self._lock:
            self._sessions.forget()
            self._failed.clear()

    def remember(self, name: str, failure: CompileError) -> None:
        """Makes `compile` refuse the kernel `name` with this error: Slang's second message for a kernel is shorter."""
        self._failed[name] = copy.copy(failure)  # without the frames of its traceback

    def pipeline(
        self, what: str, program: LinkedProgram, sources: Sequence[ModuleSource], text: str = "", stage: PipelineStage = COMPUTE
    ) -> tuple[AnyPipeline, LinkedProgram]:
        """Returns the pipeline of a program, and the program that it was made of. Slang generates code here.

        spirv-opt writes constants of four parts for `x / x` of vectors of two or three components, even if the code hides that
        both operands are equal; without it, matrices of small integers that functions return are left in the code. Drivers may
        refuse either; the program is then compiled the other way. On CUDA that is with the whole prelude.

        Raises:
            CompileError: if it calls functions of doubles that the target does not have.
            RuntimeError: from the graphics layer, if Slang finds an error only here, or the driver refuses the code.
        """
        try:
            with self._examined(what, sources, text):
                return stage.pipeline(self._sessions.device, program.program), program
        except RuntimeError as error:
            refused = not isinstance(error, FusepyError) and "error[E" not in str(error)
            other = program.otherwise if self.kind is spy.DeviceType.vulkan or not program.codegen.whole_prelude else None
            if not refused or other is None:
                raise
            return self.pipeline(what, other(), sources, text, stage)

    @contextmanager
    def _examined(self, what: str, sources: Sequence[ModuleSource], text: str) -> Generator[None]:
        """Surrounds the creation of a pipeline. Checks the code if it may call functions of doubles that the target lacks."""
        if not self._sessions.examines(sources, text):
            yield
            return
        with self._lock:
            try:
                try:
                    yield
                finally:  # a driver may refuse the code with an unclear message
                    for made in self._sessions.code.glob(CODE[self.kind]):
                        check(what, made, sources)
            finally:
                for made in self._sessions.code.iterdir():
                    made.unlink()

    def load_binary(
        self,
        name: str,
        binaries: Mapping[str, bytes],
        sources: Sequence[ModuleSource],
        entry_point: EntryPoints,
        conformances: Conformances,
        imports: Sequence[tuple[Import, bytes | None]],
        codegen: Codegen,
    ) -> LinkedProgram:
        """Links a kernel from serialised modules, without Slang's front end.

        Args:
            imports: the serialised imports of the modules; without bytes if they are loaded already (see `in_place`).

        Raises:
            CompileError: if Slang refuses them; the caller then compiles from source.
        """
        with self._lock:
            session = self._sessions.loading(sources, unpack(self._sessions.loaded, imports), codegen)
            for file, content in binaries.items():
                (self._sessions.loaded / Path(file).name).write_bytes(content)
            session.kernels += 1
            try:
                module = session.sgl.load_module(name)
            except (RuntimeError, spy.SlangCompileError) as error:
                raise CompileError(f"a cached kernel does not load: {error}", hint="it is compiled again") from error
            return LinkedProgram(_link(session.sgl, module, entry_point, conformances), name, lambda: None, codegen)

    def in_place(self, imports: Sequence[Import]) -> bool:
        """True if the imports of a kernel were loaded before."""
        return folder_of(self._sessions.loaded, imports).is_dir()

    def link_existing(
        self,
        source: ModuleSource,
        entries: EntryPoints,
        text: str = "",
        conformances: Conformances = (),
        codegen: Codegen = PRECISE,
    ) -> LinkedProgram:
        """Links entry points of a user's module, with a generated module `text` of constants.

        Raises:
            CompileError: with Slang's diagnostics.
        """
        with self._lock:
            session = self._ready([source], text, codegen)
            module = self._load(session, source)
            others = [self._attempt(session, digest_name("c", text), text, "the constants")] if text else []
            program = _link(session.sgl, module, entries, conformances, others)
        ways = codegen.ways(session.codegen, partial(self.link_existing, source, entries, text, conformances))
        return LinkedProgram(program, "/".join(names_of(entries)), lambda: None, *ways)

    def linked(self, source: ModuleSource) -> spy.ShaderProgram:
        """Links a module with all its imports, without an entry point. Its layout lists every global."""
        with self._lock:
            session = self._sessions.compiling([source])
            return session.sgl.link_program([self._load(session, source)], [])

    def probe(self, text: str, sources: Sequence[ModuleSource]) -> str | None:
        """Compiles `text` for its diagnostics only. Returns None if there are none."""
        with self._lock:
            session = self._ready(sources)
            self._attempts += 1
            try:
                session.load(f"probe_{self._attempts}", text)
            except spy.SlangCompileError as error:
                return clean(str(error))
            return None

    def beside(self, text: str, sources: Sequence[ModuleSource]) -> spy.SlangModule:
        """Returns a generated module that imports `sources`, for reflection.

        Raises:
            CompileError: with Slang's diagnostics.
        """
        with self._lock:
            session = self._ready(sources)
            self._attempts += 1
            return self._attempt(session, f"beside_{self._attempts}", text, "a generated module")

    def _ready(self, sources: Sequence[ModuleSource], text: str = "", codegen: Codegen = PRECISE) -> Session:
        """Returns the session that compiles one more kernel, of this `text`, with these modules loaded."""
        session = self._sessions.compiling(sources, text, codegen)
        session.kernels += 1
        for source in sources:
            self._load(session, source)
        return session

    def _load(self, session: Session, source: ModuleSource) -> spy.SlangModule:
        found = session.modules.get(source.name)
        if found is None:
            if source.closure in self._failed:
                raise copy.copy(self._failed[source.closure])
            check_buffers(source)
            try:
                text = f"{line_directive(1, source.label)}\n{without_stages(source.text)}"
                found = self._attempt(session, source.name, text, source.label, source)
            except CompileError as error:
                imported = set(imports(source.text)[0])
                if {f"{name}.slang" for name in LIBRARIES} <= imported:
                    error.hint = (
                        f"the module imports {' and '.join(LIBRARIES)}, whose types have the same names: import one of them"
                    )
                self._failed[source.closure] = copy.copy(error)
                session.modules.clear()  # half-loaded modules stay in the abandoned session
                self._sessions.leave(session)
                raise
            session.modules[source.name] = found
            session.kernels += 1  # a module takes as much memory as a kernel
        return found

    def _attempt(self, session: Session, name: str, text: str, what: str, of: ModuleSource | None = None) -> spy.SlangModule:
        try:  # `of`: the user's module; without it, the text is generated
            return session.load(name, text, of is None, of and of.home)
        except spy.SlangCompileError as error:
            words = cleaned(error)
            raise CompileError(f"Slang cannot compile {what}\n{words}", hint=advice(words, session.searched)) from error
        except (RuntimeError, ValueError, TypeError) as error:  # raised by sgl; the session may fail for ever afterwards
            self._sessions.leave(session)
            saw, hint = str(error).partition("\n")[0][:200], "see Slang's message above; other modules still work"
            raise CompileError(f"Slang cannot load {what}", saw=saw, hint=hint) from error


def _link(
    session: spy.SlangSession,
    module: spy.SlangModule,
    entry_point: EntryPoints,
    conformances: Conformances,
    others: Sequence[spy.SlangModule] = (),
) -> spy.ShaderProgram:
    try:
        wanted = [spy.TypeConformance(*c) for c in conformances]
        return session.link_program([module, *others], [module.entry_point(n, wanted) for n in names_of(entry_point)])
    except spy.SlangCompileError as error:
        raise CompileError(f"Slang cannot link kernel {module.name}\n{cleaned(error)}", hint="see Slang's words above") from error
    except RuntimeError as error:  # a conformance to a type that does not exist, or does not conform
        raise CompileError(
            f"Slang cannot link kernel {module.name}: {str(error).splitlines()[0]}",
            saw="; ".join(f"{t} : {i}" for i, t, _ in conformances) or None,
            hint="give type_conformances({interface: [types]}) by the names that Slang uses",
        ) from error
