"""Slang sessions, in bounded memory.

A live kernel costs 1.4-1.7 MB, and 0.9 MB of it stays in its session after the kernel is gone. Sessions are therefore rotated:
after `KERNELS_PER_SESSION` kernels a new session takes over, and the old one ends with its last kernel.

Slang lists the members of a type once per session, when it is first asked for one, and does not see extensions that are loaded
later. Modules that extend types therefore get sessions of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import slangpy as spy

from fusepy.backend.lost import Lost
from fusepy.backend.slang.codegen import PRECISE, Codegen, optimises
from fusepy.backend.slang.cooperative import macros_of
from fusepy.backend.slang.prelude import SHORT, arguments, macros_are_written, needs_all, with_macros
from fusepy.backend.slang.scratch import Scratch
from fusepy.backend.sources.copies.files import is_copy
from fusepy.backend.sources.lacking import suspect
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, CompileError

Place = Callable[["Session", Path, Sequence[ModuleSource]], None] | None  # see `serialised.place`
KERNELS_PER_SESSION = 64
SESSIONS = 16  # open at a time; the least recently used one is closed


class SessionKey(NamedTuple):
    """The settings of a session: sessions with equal ones are one.

    Attributes:
        dirs: include folders.
        options: compiler options.
        extends: digests of texts that extend types.
        written: the defines stand as text before each module of a user, and are no option of the session.
        short: CUDA's compiler reads the short prelude.
    """

    dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, object], ...]
    extends: tuple[str, ...]
    written: bool
    short: bool


class Session:
    """One Slang session, with the modules loaded into it.

    Attributes:
        codegen: how code of its kernels is made.
        folder: the device's folder of files.
        binaries: the folder where Slang stores parsed modules, and finds them again if the options are the same; None: it does
            not store them.
        placed: the closures of modules whose imports were looked for among those that other processes have parsed.
    """

    def __init__(self, device: spy.Device, key: SessionKey, folder: Scratch, binaries: Path | None):
        """Opens a session. `binaries` is for its own among the folders of parsed modules."""
        dirs, defines, options, _, written, short = key
        self.codegen = Codegen(optimises(dict(options)), whole_prelude=not short)
        macros = macros_of(device) | ({} if written else dict(defines)) | (SHORT if short else {})
        self.folder, self.scratch = folder, folder.root / "source"
        described = {"include_paths": [self.scratch, *dirs], "defines": macros, **dict(options)}
        if short and isinstance(own := described.get("downstream_args", ()), tuple | list):
            described["downstream_args"] = [*own, *arguments()]
        self.binaries = binaries and binaries / hashlib.sha256(repr(described).encode()).hexdigest()[:20]
        self.placed: set[str] = set()
        try:
            self.sgl = device.create_slang_session(
                compiler_options=described,  # pyright: ignore[reportArgumentType]  # a TypedDict that is built by key
                cache_path=self.binaries,
            )
        except TypeError:  # raised by the bindings for an unknown compiler option
            raise ArgumentError(
                "unknown compiler options",
                saw=", ".join(f"{k}={v!r}" for k, v in options),
                hint="options are those of slangpy.SlangCompilerOptions, and fast_math",
            ) from None
        # a user's define, such as N, means nothing in what fusepy generates
        self._undefined = "" if written else "".join(f"#undef {name.partition('(')[0]}\n" for name, _ in defines)
        self._written = defines if written else ()
        self.kernels = 0
        self.modules: dict[str, spy.SlangModule] = {}

    @property
    def searched(self) -> Sequence[Path | str]:
        """The folders where it looks for imports and includes, except its own."""
        return list(self.sgl.desc.compiler_options.include_paths)[1:]

    def load(self, name: str, text: str, generated: bool = True, home: Path | None = None) -> spy.SlangModule:
        """Loads a module. The defines of the session hold in a user's text, not in one that is `generated`.

        Args:
            home: the file that its imports import again; by default one of its name in the session's own folder.
        """
        text = self._undefined + text if generated else with_macros(text, self._written)
        return self.sgl.load_module_from_source(name, text, home or self.scratch / f"{name}.slang")


class Sessions:
    """The open sessions of one device, one for each set of include folders, defines and options.

    Attributes:
        device: the sgl device, while it is open.
        loaded: the folder of serialised modules that sessions load.
        code: the folder where Slang writes the code of programs that are examined.
    """

    def __init__(self, device: spy.Device, place: Place = None):
        self.device = device
        self._place = place
        self._open: dict[SessionKey, Session] = {}
        self._folder = Scratch()
        self.loaded, self.code = (self._folder.root / part for part in ("loaded", "code"))
        self._files: dict[str, str] = {}  # texts of imports, read once per process
        self._changes = 0
        # the check for missing functions reads Slang's output
        self._shown = (("dump_intermediates", True), ("dump_intermediates_prefix", f"{self.code}/"))
        self._kind = device.info.type
        self._optimises = spy.Feature.software_device not in device.features  # where it does not, LLVM optimises the code

    def examines(self, sources: Sequence[ModuleSource], text: str) -> bool:
        """True if the code of programs with these modules and this generated `text` is written into `code`."""
        return suspect(self._kind, sources, text)

    def compiling(self, sources: Sequence[ModuleSource], text: str = "", codegen: Codegen = PRECISE) -> Session:
        """Returns the session that compiles these modules from source, and a generated one of this `text`.

        Raises:
            CompileError: if two of them want different things of one session.
        """
        key = _session_key(sources, codegen, self._kind, self._optimises, text)
        if self.examines(sources, text):
            shown = (*(pair for pair in key.options if pair[0] not in dict(self._shown)), *self._shown)
            key = key._replace(options=shown)
        # Slang cannot read a stored module whose imports import it
        found = self._rotated(key, sources, all(source.home is None for source in sources))
        if self._place is not None and found.binaries is not None:
            self._place(found, found.binaries, sources)
        return found

    def loading(self, sources: Sequence[ModuleSource], imports: Sequence[Path] = (), codegen: Codegen = PRECISE) -> Session:
        """Returns the session that loads these modules from `loaded`, and their imports from `imports`. It writes no modules.

        Raises:
            CompileError: if two of them want different things of one session.
        """
        key = _session_key(sources, codegen, self._kind, self._optimises)
        return self._rotated(key._replace(dirs=(str(self.loaded), *map(str, imports), *key.dirs)), sources, False)

    def close(self, cause: str) -> None:
        """Closes all sessions and removes the files. Every later use raises `DeviceLostError`."""
        self._open.clear()
        self.device = cast("Any", Lost(cause))
        self._folder.remove()

    def forget(self) -> None:
        """Drops all sessions. Each ends with the last kernel that was made in it."""
        self._open.clear()

    def leave(self, session: Session) -> None:
        """Drops a session: nothing is compiled in it any more."""
        self._open = {k: s for k, s in self._open.items() if s is not session}

    def _rotated(self, key: SessionKey, sources: Sequence[ModuleSource], writes: bool) -> Session:
        files = [pair for s in sources for pair in s.files]
        if any(self._files.get(path, digest) != digest for path, digest in files):
            # a serialised module of a changed file must never be loaded
            self._open.clear()
            self._files.clear()
            self._changes += 1
        found = self._open.pop(key, None)
        if found is None or found.kernels >= KERNELS_PER_SESSION:
            found = Session(self.device, key, self._folder, self._folder.root / "binary" / str(self._changes) if writes else None)
        self._open[key] = found  # the last one in order is the last one used
        if len(self._open) > SESSIONS:
            del self._open[next(iter(self._open))]
        self._files.update(files)
        return found


def _session_key(
    sources: Sequence[ModuleSource], codegen: Codegen, kind: spy.DeviceType, optimised: bool = True, text: str = ""
) -> SessionKey:
    """Returns the key of the session for these modules, and for a generated one of this `text`, see `Codegen.apply`."""
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
    codegen.apply(options, kind, optimised)
    extends = sorted({digest for source in sources for digest in source.extends} | {s.closure for s in sources if s.home})
    pairs = tuple(sorted(defines.items()))
    found = tuple(sorted(dirs, key=lambda folder: not is_copy(folder)))  # an original would hide a copy behind it
    short = kind is spy.DeviceType.cuda and not codegen.whole_prelude and not needs_all(sources, text)
    return SessionKey(
        found, pairs, tuple(sorted(options.items())), tuple(extends), bool(pairs) and macros_are_written(sources, kind), short
    )


def digest_name(prefix: str, text: str) -> str:
    """Returns a module name made from its text: one session cannot hold two sources under one name."""
    return f"{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
