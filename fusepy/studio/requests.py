"""`StudioRequests`: what pages ask of a session, by the name of the operation in a message."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from fusepy.errors import FusepyError, StudioError, did_you_mean
from fusepy.studio.document import Socket
from fusepy.studio.files import inside, read_modules, to_text
from fusepy.studio.session import Message, StudioSession, read_text


class StudioRequests:
    """The operations on a session. Each takes the fields of a message, and returns those of its answer."""

    def __init__(self, session: StudioSession):
        self.session = session
        self._operations: dict[str, Callable[[Mapping[str, Any]], Awaitable[Message]]] = {
            "add": self._add, "remove": self._remove, "move": self._move, "set": self._set,
            "connect": self._connect, "disconnect": self._disconnect, "can_connect": self._can_connect, "fitting": self._fitting,
            "undo": self._undo, "redo": self._redo, "save": self._save, "load": self._load, "text": self._text,
            "export": self._export, "pixel": self._pixel, "add_source": self._add_source,
        }  # fmt: skip

    async def answer(self, message: Any) -> Message:
        """Answers a message of a page. Whatever is wrong with it, the document stays as it was."""
        number = cast("Message", message).get("id") if isinstance(message, dict) else None
        try:
            name = _field(message, "op", str)
            if name not in self._operations:
                raise StudioError(f"there is no operation {name[:40]!r}", hint=did_you_mean(name, self._operations))
            before = self.session.state
            answer = await self._operations[name](cast("Message", message))
            if before != self.session.state:
                await self.session.edited()
        except FusepyError as error:
            text = error.without_place.replace(f"\n  hint:     {error.hint}", "") if error.hint else error.without_place
            return {"reply": number, "ok": False, "error": text, "hint": error.hint}
        return {"reply": number, "ok": True, **answer}

    # ---- operations ---------------------------------------------------------------------------------------------

    async def _add(self, message: Mapping[str, Any]) -> Message:
        document = self.session.history.document.add(
            self.session.kinds, _field(message, "kind", str), _field(message, "at", list)
        )
        self.session.history.take(document)
        return {"node": list(document.nodes)[-1]}

    async def _remove(self, message: Mapping[str, Any]) -> Message:
        self.session.history.take(self.session.history.document.remove(_texts(_field(message, "nodes", list))))
        return {}

    async def _move(self, message: Mapping[str, Any]) -> Message:
        self.session.history.take(self.session.history.document.move(_field(message, "positions", dict)))
        return {}

    async def _set(self, message: Mapping[str, Any]) -> Message:
        node, port = _field(message, "node", str), _field(message, "port", str)
        document = self.session.history.document.set(self.session.kinds, node, port, message.get("value"))
        self.session.history.take(document, (node, port), message.get("live") is True)
        return {}

    async def _connect(self, message: Mapping[str, Any]) -> Message:
        start, to = _socket(message, "from"), _socket(message, "to")
        await self._can_connect(message)
        self.session.history.take(self.session.history.document.connect(self.session.kinds, start, to))
        return {}

    async def _can_connect(self, message: Mapping[str, Any]) -> Message:
        start, to = _socket(message, "from"), _socket(message, "to")
        await self.session.worker.ask("check", self.session.history.document.connect(self.session.kinds, start, to), to)
        return {}

    async def _fitting(self, message: Mapping[str, Any]) -> Message:
        start, to = (_socket(message, key) if key in message else None for key in ("from", "to"))
        if (start is None) == (to is None):
            raise StudioError("fitting asks for one end of an edge", hint='send {"from": [node, port]} or {"to": [node, port]}')
        return {"ports": await self.session.worker.ask("fitting", self.session.history.document, start, to)}

    async def _disconnect(self, message: Mapping[str, Any]) -> Message:
        self.session.history.take(self.session.history.document.disconnect(_socket(message, "to")))
        return {}

    async def _undo(self, message: Mapping[str, Any]) -> Message:
        self.session.history.undo()
        return {}

    async def _redo(self, message: Mapping[str, Any]) -> Message:
        self.session.history.redo()
        return {}

    async def _text(self, message: Mapping[str, Any]) -> Message:
        return {"text": to_text(self.session.history.document, await self.session.worker.ask("modules"))}

    async def _save(self, message: Mapping[str, Any]) -> Message:
        history = self.session.history
        name = message.get("path") or history.path
        if name is None:
            raise StudioError("the document has no file yet", hint='give a name such as "look.json"')
        path = inside(self.session.folder, name, (".json",))
        if name != history.path and path.exists():
            read_modules(read_text(path))  # refuses to write over anything but a document
            if message.get("replace") is not True:
                raise StudioError(f"{name} is another document", hint="save once more to replace it, or give another name")
        document = history.document
        text = to_text(document, await self.session.worker.ask("modules"))
        _write(path, text)
        history.keep(document, cast("str", name))
        return {"path": name, "text": text}

    async def _load(self, message: Mapping[str, Any]) -> Message:
        text = _field(message, "text", str)
        document = await self.session.read(text)
        path = self.session.file_of(_field(message, "name", str), text) if "name" in message else None
        self.session.history.load(document, path)
        return {"path": path}

    async def _export(self, message: Mapping[str, Any]) -> Message:
        end = (_field(message, "node", str), _field(message, "port", str)) if message.get("node") else None
        return {"text": await self.session.worker.ask("export", self.session.history.document, end)}

    async def _pixel(self, message: Mapping[str, Any]) -> Message:
        end = (_field(message, "node", str), _field(message, "port", str))
        at = _field(message, "at", list)
        if not all(type(i) is int and abs(i) < 1 << 31 for i in at):
            raise StudioError("this is no pixel", saw=repr(at)[:60], hint='send {"at": [y, x]}')
        return {"at": at, "values": await self.session.worker.ask("pixel", self.session.history.document, end, tuple(at))}

    async def _add_source(self, message: Mapping[str, Any]) -> Message:
        await self.session.worker.ask("add_source", _field(message, "path", str))
        await self.session.load_palette()
        await self.session.send_palette()
        return {}


def _field(message: Any, name: str, type: type[Any]) -> Any:
    """Returns an entry of a message.

    Raises:
        StudioError: if the message has none of this type.
    """
    value = cast("Message", message).get(name) if isinstance(message, dict) else None
    if not isinstance(value, type):
        raise StudioError(
            f"the message has no {name!r}", saw=repr(cast("Any", message))[:80], hint="reload the page: it is not of this studio"
        )
    return value


def _texts(values: list[Any]) -> list[str]:
    return [_field({"name": value}, "name", str) for value in values]


def _socket(message: Mapping[str, Any], name: str) -> Socket:
    parts = _texts(_field(message, name, list))
    if len(parts) != 2:
        raise StudioError(f"{name!r} names no port", saw=str(parts)[:80], hint="send [node, port]")
    return parts[0], parts[1]


def _write(path: Path, text: str) -> None:
    """Writes a file in one step: a crash leaves the old one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise StudioError(f"{path.name} cannot be written", saw=error, hint="choose another name") from None
