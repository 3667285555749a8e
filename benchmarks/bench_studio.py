"""From an edit in the studio to its picture at 512 x 512, through the websocket: a slider, and edits that compile a kernel.

The goal is 150 ms each, on the CPU's Vulkan too. Every round of an edit that compiles uses a function that is new.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("aiohttp")
from aiohttp import ClientSession, ClientWebSocketResponse

from fusepy.studio.server import StudioServer
from fusepy.studio.worker import StudioWorker

CASE = "studio"
EDITS = 40
SLANG = """
import fusepy;
float3 rings(float2 uv, float n = 40) { return 0.5 + 0.5 * sin(n * length(uv - 0.5)); }
float3 exposure(float3 c, float stops = 0.5) { return c * exp2(stops); }
float3 filmic(float3 c) { return saturate(c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14)); }
float luma(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }
"""
NEW = "float3 look{0}(float3 c, float k = 0.5) {{ return pow(abs(c), {0} + 0.5) * k + sin(c * {0}); }}\n"


class Studio:
    """A server with an open page."""

    def __init__(self, folder: Path):
        (folder / "look.slang").write_text(SLANG + "".join(NEW.format(i) for i in range(1, EDITS + 1)), encoding="utf-8")
        self.loop = asyncio.new_event_loop()
        Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = StudioServer(StudioWorker(str(folder), ["look.slang"]), folder)
        self.number = itertools.count()
        self.socket: ClientWebSocketResponse
        self.run(self.open())

    def run(self, work: Awaitable[Any]) -> Any:
        async def waited() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(waited(), self.loop).result(120)

    async def open(self) -> None:
        await self.server.start()
        base, _, token = self.server.url.partition("/?")
        self.client = ClientSession()
        self.socket = await self.client.ws_connect(f"{base}/ws?{token}", headers={"Origin": base}, max_msg_size=0)

    async def close(self) -> None:
        await self.client.close()
        await self.server.stop()

    async def edit(self, op: str, **fields: Any) -> None:
        await self.socket.send_str(json.dumps({"id": next(self.number), "op": op, **fields}))

    async def until(self, wanted: Callable[[dict[str, Any]], Any]) -> None:
        while not wanted(json.loads(await self.socket.receive_str())):
            pass

    async def pictures(self, *names: str) -> None:
        """Waits for a picture of 512 x 512 of each node, from the newest document."""
        await self.until(
            lambda e: (
                e.get("event") == "results"
                and not e["errors"]
                and all(e["edges"].get(f"{name}.result", {}).get("size") == [512, 512] for name in names)
            )
        )

    async def add(self, name: str, *feeds: tuple[str, str, str]) -> None:
        await self.edit("add", kind=f"look.slang/{name}" if name != "pixels" else name, at=[0, 0])
        for node, output, port in feeds:
            await self.edit("connect", **{"from": [node, output], "to": [name, port]})


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    made = Studio(tmp_path_factory.mktemp("studio"))

    async def chain() -> None:
        await made.add("pixels")
        await made.add("rings", ("pixels", "uv", "uv"))
        await made.add("exposure", ("rings", "result", "c"))
        await made.add("filmic", ("exposure", "result", "c"))
        await made.add("luma", ("filmic", "result", "c"))
        await made.pictures("luma")
        await made.until(lambda e: e.get("event") == "kernels")

    made.run(chain())
    yield made
    made.run(made.close())


def bench_slider(measure: Any, studio: Studio, quick: bool) -> None:
    """A number of the first function of a chain: four kernels run, none is compiled."""
    values = itertools.cycle((20.0, 30.0, 50.0))

    async def slide() -> None:
        await studio.edit("set", node="rings", port="n", value=next(values), live=True)
        await studio.pictures("rings", "luma")

    measure("slider", 0, lambda: studio.run(slide()), rounds=2 if quick else 20)


def bench_new_node(measure: Any, studio: Studio, quick: bool) -> None:
    """A node is added: a kernel for its numbers is compiled."""
    numbers = iter(range(1, EDITS // 2))

    async def place() -> None:
        name = f"look{next(numbers)}"
        await studio.add(name)
        await studio.until(lambda e: e.get("event") == "results" and f"{name}.result" in e["edges"])

    measure("a node, compiled", 0, lambda: studio.run(place()), rounds=2 if quick else 10)


def bench_new_connection(measure: Any, studio: Studio, quick: bool) -> None:
    """A function is connected with a picture: its kernel is compiled."""
    numbers = iter(range(EDITS // 2, EDITS + 1))

    def setup() -> tuple[tuple[str], dict[str, Any]]:
        name = f"look{next(numbers)}"

        async def place() -> None:
            await studio.add(name)
            await studio.until(lambda e: e.get("event") == "results" and f"{name}.result" in e["edges"])
            await studio.until(lambda e: e.get("event") == "kernels")

        studio.run(place())
        return (name,), {}

    async def connect(name: str) -> None:
        await studio.edit("connect", **{"from": ["rings", "result"], "to": [name, "c"]})
        await studio.pictures(name)

    measure.benchmark.extra_info.update(case=CASE, peer="a connection, compiled", block=0, calls=1)
    measure.benchmark.pedantic(lambda name: studio.run(connect(name)), setup=setup, rounds=2 if quick else 10)
