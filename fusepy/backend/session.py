"""Slang sessions: loading user modules and compiling kernels, in bounded memory.

A live kernel costs 1.4-1.7 MB, and 0.9 MB of it stays in its session after the kernel is gone. Sessions are therefore
rotated: after `KERNELS_PER_SESSION` kernels a new one takes over, and the old one dies with its last kernel.

Slang lists the members of a type once per session, when it is first asked for one, and does not see extensions of it that are
loaded later. Modules that extend types are therefore asked in sessions of their own.

A module that failed to load stays poisoned under its name, so names are made from contents, with a fresh one per attempt,
and failures are remembered: the same source fails twice with the same text and without compiling.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import slangpy as spy

from fusepy.backend.source import ModuleSource, imports
from fusepy.errors import ArgumentError, CompileError
from fusepy.ir.whole import LIBRARIES

KERNELS_PER_SESSION = 64
SESSIONS = 16  # that are open at a time; the one that was used least recently makes way

Conformances = Sequence[tuple[str, str, int]]  # interface, type, id
# include folders, defines, compiler options, and digests of what extends types
SessionKey = tuple[tuple[str, ...], tuple[tuple[str, str], ...], tuple[tuple[str, object], ...], tuple[str, ...]]


@dataclass(frozen=True)
class Program:
    """A linked kernel, ready to become a pipeline, with the files of its serialised modules (written in the background)."""

    program: spy.ShaderProgram
    name: str
    binaries: Callable[[], dict[str, bytes]]


class _Session:
    """One Slang session with what was loaded into it."""

    def __init__(self, device: spy.Device, key: SessionKey, scratch: Path, binaries: Path | None):
        dirs, defines, options, _ = key
        described = {"include_paths": [scratch, *dirs], "defines": dict(defines), **dict(options)}
        try:
            self.sgl = device.create_slang_session(
                compiler_options=described,  # pyright: ignore[reportArgumentType]  # a TypedDict that is built by key
                cache_path=binaries,
            )
        except TypeError:  # raised by the bindings for a key or value that is no compiler option
            raise ArgumentError(
                "the compiler options are not understood",
                saw=", ".join(f"{k}={v!r}" for k, v in options),
                hint="options are those of slangpy.SlangCompilerOptions",
            ) from None
        self.scratch = scratch
        self.binaries = binaries
        self.kernels = 0
        self.modules: dict[str, spy.SlangModule] = {}
        self.files: dict[str, str] = {}  # what Slang has read for imports, which it never reads again

    def knows_otherwise(self, sources: Sequence[ModuleSource]) -> bool:
        """Whether a file that `sources` import has changed since this session read it."""
        return any(self.files.get(path, digest) != digest for s in sources for path, digest in s.files)

    def load(self, name: str, text: str) -> spy.SlangModule:
        return self.sgl.load_module_from_source(name, text, self.scratch / f"{name}.slang")


class Compiler:
    """Loads modules and compiles kernels for one device.

    Args:
        device: the sgl device.
        lock: held while Slang works; sessions are not safe to share.
    """

    def __init__(self, device: spy.Device, lock: threading.RLock):
        self._device = device
        self.is_cuda = device.info.type is spy.DeviceType.cuda
        self._lock = lock
        self._sessions: dict[SessionKey, _Session] = {}
        self._failed: dict[str, CompileError] = {}
        self._attempts = 0
        self._root = Path(tempfile.mkdtemp(prefix="fusepy-"))
        (self._root / "source").mkdir()
        (self._root / "binary").mkdir()
        atexit.register(_remove, self._root, os.getpid())

    def module(self, source: ModuleSource) -> spy.SlangModule:
        """The loaded module of `source`, for reflection; do not keep it beyond a question (sessions rotate).

        Raises:
            CompileError: with Slang's diagnostics, which name the user's file and line.
        """
        with self._lock:
            return self._load(self._session([source]), source)

    def compile(
        self,
        name: str,
        text: str,
        shims: Sequence[tuple[str, str]],
        sources: Sequence[ModuleSource],
        entry_point: str,
        conformances: Conformances = (),
    ) -> Program:
        """Compiles and links one generated kernel that imports `sources` and `shims`, generated too, by their names.

        Raises:
            CompileError: with Slang's diagnostics.
        """
        with self._lock:
            if name in self._failed:
                raise self._failed[name]
            session = self._session(sources)
            session.kernels += 1
            for source in sources:
                self._load(session, source)
            for shim, content in shims:
                self._attempt(session, shim, content, f"shim {shim}")
            module = self._attempt(session, name, text, f"kernel {name}")
            program = _link(session.sgl, module, entry_point, conformances)
        return Program(
            program, module.name, lambda: _collect(session, [module.name, *(n for n, _ in shims), *(s.name for s in sources)])
        )

    def remember(self, name: str, failure: CompileError) -> None:
        """Makes `compile` refuse the kernel `name` in the same words: Slang has fewer for what it has compiled before."""
        self._failed[name] = failure

    def load_binary(
        self,
        name: str,
        binaries: dict[str, bytes],
        sources: Sequence[ModuleSource],
        entry_point: str,
        conformances: Conformances = (),
    ) -> Program:
        """Links a kernel from serialised modules, skipping Slang's front end.

        Raises:
            CompileError: if Slang does not take them; the caller compiles from source then.
        """
        with self._lock:
            folder = self._root / "binary"
            for file, content in binaries.items():
                (folder / file).write_bytes(content)
            dirs, defines, options, extends = _session_key(sources)
            key = ((str(folder), *dirs), defines, options, extends)
            session = self._rotated(key, sources, binaries=None)
            session.kernels += 1
            try:
                module = session.sgl.load_module(name)
            except spy.SlangCompileError as error:
                raise CompileError(f"a cached kernel does not load: {error}", hint="it is compiled again") from error
            return Program(_link(session.sgl, module, entry_point, conformances), name, dict)

    def link_existing(
        self, source: ModuleSource, entry_point: str, text: str = "", conformances: Conformances = ()
    ) -> spy.ShaderProgram:
        """Links an entry point that the user has written, with a generated module `text` of constants.

        Raises:
            CompileError: with Slang's diagnostics.
        """
        with self._lock:
            session = self._session([source])
            session.kernels += 1
            module = self._load(session, source)
            others = [self._attempt(session, digest_name("c", text), text, "the constants")] if text else []
            return _link(session.sgl, module, entry_point, conformances, others)

    def linked(self, source: ModuleSource) -> spy.ShaderProgram:
        """A module linked with all that it imports, without an entry point: its layout lists every global."""
        with self._lock:
            session = self._session([source])
            return session.sgl.link_program([self._load(session, source)], [])

    def probe(self, text: str, sources: Sequence[ModuleSource]) -> str | None:
        """Compiles `text` for its diagnostics only; ``None`` where there is nothing to complain about."""
        with self._lock:
            session = self._session(sources)
            session.kernels += 1
            for source in sources:
                self._load(session, source)
            self._attempts += 1
            try:
                session.load(f"probe_{self._attempts}", text)
            except spy.SlangCompileError as error:
                return clean(str(error))
            return None

    def beside(self, text: str, source: ModuleSource) -> spy.SlangModule:
        """A generated module that imports `source`, for reflection.

        Raises:
            CompileError: with Slang's diagnostics.
        """
        with self._lock:
            session = self._session([source])
            session.kernels += 1
            self._load(session, source)
            self._attempts += 1
            return self._attempt(session, f"beside_{self._attempts}", text, "what was generated to ask Slang")

    def _load(self, session: _Session, source: ModuleSource) -> spy.SlangModule:
        found = session.modules.get(source.name)
        if found is None:
            if source.closure in self._failed:
                raise self._failed[source.closure]
            text = f'#line 1 "{source.label}"\n{source.text}'
            try:
                found = self._attempt(session, source.name, text, source.label)
            except CompileError as error:
                imported = set(imports(source.text)[0])
                if {f"{name}.slang" for name in LIBRARIES} <= imported:
                    error.hint = (
                        f"the module imports {' and '.join(LIBRARIES)}, whose types have the same names: import one of them"
                    )
                self._failed[source.closure] = error
                session.modules.clear()  # whatever was half loaded stays with the session, which is left behind
                self._sessions = {k: s for k, s in self._sessions.items() if s is not session}
                raise
            session.modules[source.name] = found
        return found

    def _attempt(self, session: _Session, name: str, text: str, what: str) -> spy.SlangModule:
        try:
            return session.load(name, text)
        except spy.SlangCompileError as error:
            words = clean(str(error))
            raise CompileError(f"Slang cannot compile {what}\n{words}", hint=_advice(words, session)) from error

    def _session(self, sources: Sequence[ModuleSource]) -> _Session:
        return self._rotated(_session_key(sources), sources, binaries=self._root / "binary")

    def _rotated(self, key: SessionKey, sources: Sequence[ModuleSource], binaries: Path | None) -> _Session:
        found = self._sessions.pop(key, None)
        if found is None or found.kernels >= KERNELS_PER_SESSION or found.knows_otherwise(sources):
            found = _Session(self._device, key, self._root / "source", binaries)
        self._sessions[key] = found  # the last one in order is the last one used
        if len(self._sessions) > SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        found.files.update(pair for s in sources for pair in s.files)
        return found


def _remove(folder: Path, owner: int) -> None:
    """Removes a process's scratch folder; a child that a fork has made leaves its parent's alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _session_key(sources: Sequence[ModuleSource]) -> SessionKey:
    dirs: dict[str, None] = {}
    defines: dict[str, str] = {}
    options: dict[str, object] = {}
    for source in sources:
        dirs.update(dict.fromkeys(source.include_dirs))
        for table, pairs in ((defines, source.defines), (options, source.options)):
            for name, value in pairs:
                if table.setdefault(name, value) != value:  # type: ignore[arg-type]
                    raise CompileError(
                        f"two modules of one kernel want different values of {name!r}",
                        saw=f"{table[name]} and {value}",
                        hint="load both modules with the same defines and options",
                    )
    extends = sorted({digest for source in sources for digest in source.extends})
    return tuple(dirs), tuple(sorted(defines.items())), tuple(sorted(options.items())), tuple(extends)


def _link(
    session: spy.SlangSession,
    module: spy.SlangModule,
    entry_point: str,
    conformances: Conformances = (),
    others: Sequence[spy.SlangModule] = (),
) -> spy.ShaderProgram:
    try:
        wanted = [spy.TypeConformance(*c) for c in conformances]
        return session.link_program([module, *others], [module.entry_point(entry_point, wanted)])
    except spy.SlangCompileError as error:
        raise CompileError(
            f"Slang cannot link kernel {module.name}\n{clean(str(error))}", hint="see Slang's words above"
        ) from error
    except RuntimeError as error:  # a conformance to a type that does not exist, or does not conform
        raise CompileError(
            f"Slang cannot link kernel {module.name}: {str(error).splitlines()[0]}",
            saw="; ".join(f"{t} : {i}" for i, t, _ in conformances) or None,
            hint="give type_conformances({interface: [types]}) by the names that Slang uses",
        ) from error


def digest_name(prefix: str, text: str) -> str:
    """A module name made from its text: one session cannot hold two sources of one name."""
    return f"{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _collect(session: _Session, modules: Sequence[str]) -> dict[str, bytes]:
    """The serialised modules behind a kernel, once sgl's background writer has put them down; empty if it does not."""
    assert session.binaries is not None
    wanted = [f"{name}.slang-module" for name in modules]
    for _ in range(500):
        found = {path.name: path for name in wanted for path in session.binaries.glob(f"*/0/{name}")}
        if len(found) == len(wanted):
            return {name: path.read_bytes() for name, path in found.items()}
        time.sleep(0.01)
    return {}


_NOISE = re.compile(
    r"^(?:Failed to load slang module .* from source|.*error\[E39999\].*|.*E40003.*|--'|abort compilation.*)\n?", re.M
)


def clean(words: str) -> str:
    """Slang's diagnostics without the lines that say the same again."""
    return _NOISE.sub("", words).strip()


def _advice(words: str, session: _Session) -> str:
    if "cannot open file" in words or "include file not found" in words:
        paths = ", ".join(str(p) for p in list(session.sgl.desc.compiler_options.include_paths)[1:])
        return f"paths searched: {paths}; add others with init_device(include_paths=[…])"
    if "is not accessible from the current context" in words:
        return "where anything in a module is public, the rest is its own: write public before what is called from Python"
    if "ambiguous reference to" in words:
        return "two modules declare this name, and a kernel can use one of them; let both import it from a third, or rename it"
    return "mend the Slang source and load it again"
