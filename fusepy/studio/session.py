"""`StudioSession`: the open document, what the page asks of it, and the tasks that compute it and watch its files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fusepy.errors import FusepyError, StudioError
from fusepy.studio.document import Document
from fusepy.studio.files import inside, read_modules, to_document
from fusepy.studio.history import History
from fusepy.studio.kinds import ANY, NodeKind
from fusepy.studio.worker import StudioWorker

Message = dict[str, Any]
IDLE_S = 0.6  # without an edit, before kernels are measured: an edit must wait for that
WATCH_S = 0.2  # between looks at the files


class StudioSession:
    """A document with its history, shared by all pages that are open.

    Args:
        folder: everything that is read or written lies below it.
        path: the file of the document, relative to the folder; it need not be there yet.
        send: sends an event to all pages.
    """

    def __init__(self, worker: StudioWorker, folder: Path, path: str | None, send: Callable[[Message], Awaitable[None]]):
        self.worker, self.folder, self.send = worker, folder, send
        self.kinds: dict[str, NodeKind] = {}
        self.history = History(Document(), path)
        self.groups: list[Message] = []
        self.results: Message = {}
        self._edited = asyncio.Event()

    async def open(self) -> None:
        """Asks for the palette, and reads the file of the document if there is one.

        Raises:
            StudioError: for a file that is no document, or a Slang file that does not compile.
        """
        await self.load_palette()
        path = self.history.path
        if path is not None and (self.folder / path).is_file():
            self.history.open(await self.read(read_text(self.folder / path)), path)
        self._edited.set()

    def events(self) -> list[Message]:
        """Returns what a page must know when it opens."""
        found = [{"event": "palette", "groups": self.groups}, self.document_event()]
        return found + ([self.results] if self.results else [])

    async def compute(self) -> None:
        """Computes the newest document after each edit, and measures its kernels when there are no edits; never returns."""
        while True:
            await self._edited.wait()
            self._edited.clear()
            document, start = self.history.document, time.perf_counter()
            found = await self._asked("evaluate", document)
            if found is not None:
                ms = (time.perf_counter() - start) * 1e3
                self.results = {"event": "results", **found, "kernels": [], "ms": round(ms, 1)}
                await self.send(self.results)
                if not await self._edited_within(IDLE_S):
                    kernels = await self._asked("kernels", document)
                    if kernels is not None and document is self.history.document:
                        self.results = {**self.results, "kernels": kernels}
                        await self.send({"event": "kernels", "kernels": kernels})

    async def watch(self) -> None:
        """Reloads Slang and Python files that have changed; never returns."""
        while True:
            await asyncio.sleep(WATCH_S)
            changed = await self._asked("changed")
            if changed:
                await self.load_palette()
                await self.send_palette()
                await self.send({"event": "status", "text": f"{', '.join(changed)} changed"})
                await self.edited()

    @property
    def state(self) -> object:
        """The state that pages show of the document; it changes with each edit."""
        history = self.history
        return history.document, history.can_undo, history.can_redo, history.saved, history.path

    async def edited(self) -> None:
        """Sends the document to all pages, and has it computed."""
        self._edited.set()
        await self.send(self.document_event())

    async def send_palette(self) -> None:
        """Sends the kinds of nodes to all pages."""
        await self.send({"event": "palette", "groups": self.groups})

    def document_event(self) -> Message:
        """Returns the document as the page gets it."""
        document = self.history.document
        nodes = [self._node_json(name) for name in document.nodes]
        edges = [{"from": list(start), "to": list(end)} for end, start in document.edges.items()]
        history = {"can_undo": self.history.can_undo, "can_redo": self.history.can_redo, "saved": self.history.saved}
        return {"event": "document", "document": {"nodes": nodes, "edges": edges}, "path": self.history.path, **history}

    async def read(self, text: str) -> Document:
        """Reads a document, with the Slang files that it names."""
        data, modules = read_modules(text)
        for name in modules:
            inside(self.folder, name, (".slang",))
        for name in modules:
            await self.worker.ask("add_source", name)
        if modules:
            await self.load_palette()
            await self.send_palette()
        return to_document(data, self.kinds)

    def file_of(self, name: str, text: str) -> str | None:
        """Returns the file of the folder that a browser has read: one of this name and this text; ``None`` if there is none."""
        if not name.endswith(".json"):
            return None
        try:
            return name if inside(self.folder, name).read_bytes() == text.encode() else None
        except OSError:
            return None

    async def load_palette(self) -> None:
        """Asks the worker for the kinds of nodes."""
        self.kinds = await self.worker.ask("kinds")
        self.groups = await self.worker.ask("groups")
        self.worker.modules = await self.worker.ask("modules")  # for the process that follows this one

    async def _asked(self, method: str, *args: Any) -> Any:
        """Asks the worker on behalf of no page; an error becomes an event, and the answer ``None``."""
        try:
            return await self.worker.ask(method, *args)
        except FusepyError as error:
            await self.send({"event": "status", "text": error.without_place, "error": True})
            return None

    async def _edited_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._edited.wait(), seconds)
        except asyncio.TimeoutError:
            return False
        return True

    def _node_json(self, name: str) -> Message:
        """Returns a node as the page gets it. A kind that is gone, since its file changed, keeps the ports in use."""
        document = self.history.document
        node = document.nodes[name]
        kind = self.kinds.get(node.kind)
        made: Message = {"id": name, "kind": node.kind, "at": list(node.at), "values": dict(node.values)}
        if kind is not None:
            ports = kind.json
            return {**made, "name": kind.label, "inputs": ports["inputs"], "outputs": ports["outputs"]}
        used = [*node.values, *(end[1] for end in document.edges if end[0] == name)]
        fed = dict.fromkeys(start[1] for start in document.edges.values() if start[0] == name)
        inputs, outputs = ([{"name": n, "type": ANY} for n in names] for names in (used, fed))
        return {**made, "name": name, "inputs": inputs, "outputs": outputs}


def read_text(path: Path) -> str:
    """Reads a document's file.

    Raises:
        StudioError: if it cannot be read as text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StudioError(f"{path.name} cannot be read", saw=error, hint="give a document that the studio has saved") from None
