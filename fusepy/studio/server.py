"""The web server of the studio: this machine only, with a token, for pages of its own origin. Needs aiohttp."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusepy.errors import FusepyError, MissingPackageError, StudioError
from fusepy.studio.requests import StudioRequests
from fusepy.studio.session import Message, StudioSession
from fusepy.studio.worker import StudioWorker

try:
    from aiohttp import WSMsgType, web
except ImportError:
    raise MissingPackageError("the studio needs aiohttp", hint='pip install "fusepy-slang[studio]"') from None

if TYPE_CHECKING:
    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

HOST = "127.0.0.1"
STATIC = Path(__file__).with_name("static")
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".map": "application/json"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LONGEST = 2 << 20  # bytes of a message


class StudioServer:
    """A session on a port of the loopback interface.

    Args:
        port: 0 takes a free one.

    Attributes:
        url: the address of the page, with the token; known once it is started.
    """

    def __init__(self, worker: StudioWorker, folder: Path, path: str | None = None, port: int = 0):
        self.token = secrets.token_urlsafe(24)
        self.worker = worker
        self.session = StudioSession(worker, folder, path, self.send)
        self._requests = StudioRequests(self.session)
        self.url = ""
        self._port = port
        self._origin = ""
        self._pages: set[web.WebSocketResponse] = set()
        self._tasks: list[asyncio.Task[None]] = []
        app = web.Application(middlewares=[self._guard])
        app.add_routes([web.get("/", self._page), web.get("/ws", self._talk), web.get("/static/{name:.+}", self._static)])
        app.add_routes([web.get("/full/{node}/{port}.png", self._picture)])
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> None:
        """Opens the document, and the port.

        Raises:
            FusepyError: if the document cannot be opened.
            StudioError: if the port is taken.
        """
        await self.session.open()
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._port)
        try:
            await site.start()
        except OSError as error:
            hint = "give another --port, or none: a free one is chosen"
            raise StudioError(f"port {self._port} cannot be opened", saw=error, hint=hint) from None
        port = self._runner.addresses[0][1]
        self._origin = f"http://{HOST}:{port}"
        self.url = f"{self._origin}/?token={self.token}"
        self._tasks = [self._run(self.session.compute()), self._run(self.session.watch())]

    async def stop(self) -> None:
        """Closes the port, and ends the worker."""
        for task in self._tasks:
            task.cancel()
        for page in list(self._pages):
            await page.close()
        await self._runner.cleanup()
        self.worker.close()

    async def send(self, message: Message) -> None:
        """Sends an event to all pages."""
        for page in list(self._pages):
            with suppress(ConnectionError):  # it is being closed
                await page.send_str(json.dumps(message))

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    # ---- requests -----------------------------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuses requests by another name of this machine (DNS rebinding), from other origins, and without the token."""
        origin = request.headers.get("Origin")
        home = self._origin.removeprefix("http://")
        if request.host != home or origin not in (None, self._origin):
            raise web.HTTPForbidden(text="This is the studio of another page.", headers=HEADERS)
        static = request.path.startswith("/static/")
        if not static and not secrets.compare_digest(request.query.get("token", "").encode(), self.token.encode()):
            raise web.HTTPForbidden(text="Open the address that `fusepy studio` has printed; it has a token.", headers=HEADERS)
        response = await handler(request)
        if not response.prepared:  # a websocket is, and has ended
            response.headers.update(HEADERS)
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return _file(STATIC / "index.html")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = (STATIC / request.match_info["name"]).resolve()
        if not path.is_relative_to(STATIC.resolve()):
            raise web.HTTPNotFound(headers=HEADERS)
        return _file(path)

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await self.worker.ask("picture", request.match_info["node"], request.match_info["port"])
        except FusepyError as error:
            raise web.HTTPNotFound(text=str(error), headers=HEADERS) from None
        return web.Response(body=body, content_type="image/png")

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        """Answers the messages of one page, one after the other."""
        if request.headers.get("Origin") != self._origin:  # browsers always send it here
            raise web.HTTPForbidden(text="A websocket needs the origin of the studio.", headers=HEADERS)
        page = web.WebSocketResponse(max_msg_size=LONGEST, heartbeat=30)
        await page.prepare(request)
        try:
            for event in self.session.events():
                await page.send_str(json.dumps(event))
            self._pages.add(page)
            async for message in page:
                if message.type != WSMsgType.TEXT:
                    continue
                try:
                    parsed = json.loads(message.data)
                except (ValueError, RecursionError):
                    parsed = None
                await page.send_str(json.dumps(await self._requests.answer(parsed)))
        except ConnectionResetError:  # the page was closed while its answer was made
            pass
        finally:
            self._pages.discard(page)
        return page


def _file(path: Path) -> web.StreamResponse:
    if not path.is_file() or path.suffix not in TYPES:
        raise web.HTTPNotFound(headers=HEADERS)
    return web.Response(body=path.read_bytes(), content_type=TYPES[path.suffix], charset="utf-8")
