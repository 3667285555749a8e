"""The server: what a browser of this machine may do with the token, and what nobody else may."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("aiohttp")
from aiohttp import ClientSession, ClientWebSocketResponse, WSServerHandshakeError

from fusepy.studio.document import Document
from fusepy.studio.server import StudioServer
from fusepy.studio.worker import StudioWorker
from tests.studio.conftest import write_folder

SLANG = "float ends(float x) { return x; }\nfloat never(float x) { while (x >= 0) x += 1; return x; }\n"


class Page:
    """The browser's side of a websocket."""

    def __init__(self, socket: ClientWebSocketResponse):
        self.socket, self.number, self.events = socket, 0, list[dict[str, Any]]()

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        self.number += 1
        await self.socket.send_str(json.dumps({"id": self.number, "op": op, **fields}))
        while True:
            message = json.loads(await self.socket.receive_str(timeout=60))
            if message.get("reply") == self.number:
                return message
            self.events.append(message)

    async def event(self, name: str, wanted: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
        """The next event of this name that is wanted; forgets those before it."""
        while True:
            while self.events:
                found = self.events.pop(0)
                if found.get("event") == name and wanted(found):
                    return found
            self.events.append(json.loads(await self.socket.receive_str(timeout=60)))


class Served:
    """A running server, and its event loop in a thread."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.worker = StudioWorker(str(folder), ["look.slang", "loops.slang"], longest=5.0)
        self.server = StudioServer(self.worker, folder, "graph.json")
        self.run(self.server.start())
        self.base, _, self.token = self.server.url.partition("/?")

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def with_page(self, test: Callable[[ClientSession, Page], Coroutine[Any, Any, None]]) -> None:
        """Runs a test with a page on an empty document."""

        async def run() -> None:
            self.server.session.history.open(Document(), "graph.json")
            await self.server.session.edited()
            async with ClientSession() as client, self.connect(client) as socket:
                page = Page(socket)
                await page.event("results", lambda found: not found["edges"])
                await test(client, page)

        self.run(run())

    def connect(self, client: ClientSession, **headers: str) -> Any:
        return client.ws_connect(f"{self.base}/ws?{self.token}", headers={"Origin": self.base, **headers})


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    served = Served(folder)
    try:
        yield served
    finally:
        served.run(served.server.stop())
        served.loop.call_soon_threadsafe(served.loop.stop)
        served.thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("studio")
    write_folder(folder)
    (folder / "loops.slang").write_text(SLANG, encoding="utf-8")
    with serving(folder) as found:
        yield found


@pytest.mark.req("G4")
def test_a_page_builds_a_graph_and_saves_it(served: Served):
    async def test(client: ClientSession, page: Page) -> None:
        assert [g["name"] for g in served.server.session.groups] == ["Sources", "Arithmetic", "look.slang", "loops.slang"]
        photograph = (await page.ask("add", kind="photograph", at=[0, 0]))["node"]
        exposure = (await page.ask("add", kind="look.slang/exposure", at=[200, 0]))["node"]
        assert (await page.ask("connect", **{"from": [photograph, "picture"], "to": [exposure, "c"]}))["ok"]
        refused = await page.ask("connect", **{"from": [photograph, "picture"], "to": [exposure, "stops"]})
        assert not refused["ok"]
        assert "which can bind as float3" in refused["error"]
        for stops in (0.5, 1.0, 2.0):
            assert (await page.ask("set", node=exposure, port="stops", value=stops, live=stops < 2))["ok"]
        document = served.server.session.history.document
        found = await page.event("results", lambda e: e["edges"].get("exposure.result", {}).get("size") == [48, 64])
        assert found["edges"]["exposure.result"]["png"].startswith("data:image/png;base64,")
        assert found["errors"] == {}
        kernels = (await page.event("kernels"))["kernels"]
        assert [(k["nodes"], k["bytes"]) for k in kernels] == [(["exposure"], 2 * 48 * 64 * 12)]
        async with client.get(f"{served.base}/full/exposure/result.png?{served.token}") as full:
            assert (await full.read()).startswith(b"\x89PNG")
        assert (await page.ask("save"))["ok"]
        assert json.loads((served.folder / "graph.json").read_text())["nodes"]["exposure"]["values"] == {"stops": 2.0}
        await page.ask("undo")  # all three sets
        assert served.server.session.history.document.nodes[exposure].values == {}
        text = (served.folder / "graph.json").read_text()
        assert not (await page.ask("load", text=text.replace("look.slang/exposure", "look.slang/none")))["ok"]
        assert (await page.ask("load", text=text))["ok"]
        assert served.server.session.history.document == document
        assert not (await page.ask("save", path="../graph.json"))["ok"]

        # what was opened is saved where it lies, or by another name that the user gives; other documents are not lost
        other = served.folder / "other.json"
        other.write_text(text.replace("2.0", "3.0"))
        opened = await page.ask("load", text=other.read_text(), name="other.json")
        assert opened["path"] == "other.json"
        assert (await page.ask("set", node=exposure, port="stops", value=1.5))["ok"]
        assert (await page.ask("save"))["path"] == "other.json"
        assert json.loads(other.read_text())["nodes"]["exposure"]["values"] == {"stops": 1.5}
        assert (served.folder / "graph.json").read_text() == text
        for elsewhere in ("other.json", "nowhere.json", "../graph.json", "graph.txt"):
            opened = await page.ask("load", text=text.replace("2.0", "4.0"), name=elsewhere)
            assert opened.get("path") is None
            refused = await page.ask("save", **({} if elsewhere == "nowhere.json" else {"path": "other.json"}))
            assert ("no file yet" if elsewhere == "nowhere.json" else "other.json is another document") in refused["error"]
        assert (await page.ask("save", path="other.json", replace=True))["ok"]
        assert json.loads(other.read_text())["nodes"]["exposure"]["values"] == {"stops": 4.0}
        values = (await page.ask("pixel", node=exposure, port="result", at=[1, 2]))["values"]
        assert values[-1]["slang"].startswith("look.slang:5: float3 exposure(")
        assert values[-1]["python"].endswith(": return look.exposure(photograph_picture, exposure_stops)")

    served.with_page(test)


def test_a_page_that_closes_while_its_answer_is_made_is_no_error(served: Served, monkeypatch: pytest.MonkeyPatch):
    async def test(client: ClientSession, page: Page) -> None:
        asked, closed = asyncio.Event(), asyncio.Event()
        answer = served.server._requests.answer

        async def late(message: Any) -> Any:
            asked.set()
            await closed.wait()
            return await answer(message)

        monkeypatch.setattr(served.server._requests, "answer", late)
        async with served.connect(client) as socket:
            await socket.send_str(json.dumps({"id": 1, "op": "undo"}))
            await asked.wait()
            socket._response.connection.transport.abort()
        await asyncio.sleep(0.05)
        closed.set()
        await asyncio.sleep(0.05)

    said: list[logging.LogRecord] = []
    listener = logging.Handler(logging.ERROR)
    monkeypatch.setattr(listener, "emit", said.append)
    monkeypatch.setattr(logging.root, "handlers", [listener])
    served.with_page(test)
    assert [record.getMessage() for record in said] == []


def test_only_pages_of_this_origin_with_the_token_get_in(served: Served):
    async def test(client: ClientSession, page: Page) -> None:
        url = served.server.url
        refused = [
            (f"{served.base}/", {}),
            (f"{served.base}/?token=wrong", {}),
            (url, {"Origin": "http://evil.example"}),
            (url, {"Host": "evil.example"}),  # a name that resolves to this machine
            (f"{served.base}/full/a/b.png", {}),
            (f"{served.base}/static/../server.py", {}),
            (f"{served.base}/static/%2e%2e/server.py", {}),
        ]
        for address, headers in refused:
            async with client.get(address, headers=headers) as response:
                assert response.status in (403, 404), address
        for origin in ("", "http://evil.example", "null"):
            with pytest.raises(WSServerHandshakeError) as error:
                await served.connect(client, Origin=origin)
            assert error.value.status == 403
        for text in ("no json", "[]", "{}", '{"id": 98, "op": "nothing"}', '{"id": 99, "op": "move", "positions": {"a": 1}}'):
            await page.socket.send_str(text)
        await page.ask("text")
        replies = [m for m in page.events if "reply" in m]
        assert len(replies) == 5
        assert all(not m["ok"] and m["error"] and m["hint"] for m in replies)

    served.with_page(test)


def test_a_changed_slang_file_is_loaded_again_and_its_error_stands_at_its_nodes(served: Served):
    async def test(client: ClientSession, page: Page) -> None:
        await page.ask("add", kind="loops.slang/ends", at=[0, 0])
        await page.event("results", lambda e: "ends.result" in e["edges"])
        path = served.folder / "loops.slang"
        path.write_text(SLANG.replace("return x;", "return x.nothing;", 1))
        error = (await page.event("results", lambda e: e["errors"]))["errors"]["ends"]
        assert "nothing" in error["error"]
        assert error["line"] == "loops.slang:1"
        path.write_text(SLANG.replace("ends(float x)", "ends(float x, float gain = 2)"))
        nodes = (await page.event("document", lambda e: e["document"]["nodes"][0]["inputs"][1:]))["document"]["nodes"]
        assert [(port["name"], port.get("default")) for port in nodes[0]["inputs"]] == [("x", 0.5), ("gain", 2.0)]
        found = await page.event("results")
        assert found["errors"] == {}

    served.with_page(test)


@pytest.mark.rest  # a process is started anew
def test_a_kernel_that_never_ends_costs_only_its_process(served: Served, monkeypatch: pytest.MonkeyPatch, device: Any):
    if device.target.kind != "software":
        pytest.skip(
            "an endless kernel stops the draws of other processes on a GPU, and its end breaks their devices: docs/gpu.md"
        )
    monkeypatch.setattr(served.worker, "longest", 1.5)

    async def test(client: ClientSession, page: Page) -> None:
        await page.ask("add", kind="loops.slang/never", at=[0, 0])
        assert "no answer within 1.5 s" in (await page.event("status"))["text"]
        assert (await page.ask("undo"))["ok"]
        await page.ask("add", kind="loops.slang/ends", at=[0, 0])
        await page.event("results", lambda e: "ends.result" in e["edges"])

    served.with_page(test)
