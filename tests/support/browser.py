"""A headless browser for tests of pages: a small client of the DevTools protocol, over a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from types import TracebackType
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from setup_browser import find_browser

TIMEOUT_S = 30.0
_KEYS = {"Enter": (13, "\r"), " ": (32, " "), "Tab": (9, "")}
# the browser wants its pipe as descriptors 3 and 4, and subprocess only passes on those that there are
_START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"


class Browser:
    """One browser with one page.

    Attributes:
        console: what the page has said, errors of scripts and of the browser included.
        requests: the addresses that it has asked for.
    """

    def __init__(self) -> None:
        path = find_browser()
        assert path is not None, "there is no browser: python tools/setup_browser.py"
        self._home = tempfile.TemporaryDirectory(prefix="fusepy-browser-", ignore_cleanup_errors=True)
        commands, self._to = map(_high, os.pipe())
        self._from, answers = map(_high, os.pipe())
        flags = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        flags += [f"--user-data-dir={self._home.name}", "--disable-dev-shm-usage", "--window-size=1200,900"]
        flags += ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox wants to be started by a user
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(commands), str(answers), path, *flags],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._waiting = b""
        self._last = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._session = None
        self.ask("Browser.close")
        self._process.wait(TIMEOUT_S)
        os.close(self._to)
        os.close(self._from)
        self._home.cleanup()

    def open(self, path: Path) -> None:
        """Loads a file, and forgets what was said and asked for before."""
        self.console.clear()
        self.requests.clear()
        self._loaded = False
        self.ask("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + TIMEOUT_S
        while not self._loaded:
            self._take(end)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Clicks into the middle of an element with the mouse."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.run(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()")
        x, y, width, height = (box[side] for side in ("x", "y", "width", "height"))
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": x + width / 2, "y": y + height / 2}
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **where)

    def press(self, key: str) -> None:
        """Presses a key where the focus is."""
        code, text = _KEYS[key]
        about = {"key": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def dark(self, dark: bool) -> None:
        """What the page is told that its reader prefers."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def ask(self, method: str, **params: Any) -> Any:
        """One command of the protocol and its answer."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + TIMEOUT_S
        while True:
            found = self._take(end)
            if found.get("id") == self._last:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]

    def _take(self, end: float) -> Any:
        """The next message."""
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self._from, 1 << 16)
            assert read, "the browser has ended"
            self._waiting += read
        raw, _, self._waiting = self._waiting.partition(b"\0")
        message = json.loads(raw)
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled":
                self.console.append(f"{params['type']}: {[a.get('value', a.get('description')) for a in params['args']]}")
            case "Runtime.exceptionThrown":
                self.console.append(f"exception: {params['exceptionDetails']}")
            case "Log.entryAdded":
                self.console.append(f"{params['entry']['level']}: {params['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True
            case _:
                pass
        return message


def _high(descriptor: int) -> int:
    """The same pipe under a number that nothing else is moved to."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
