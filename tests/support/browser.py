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
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from setup_browser import find_browser

TIMEOUT_S = 30.0
_KEYS = {"Enter": (13, "\r"), " ": (32, " "), "Tab": (9, ""), "Escape": (27, ""), "Delete": (46, "")}
_KEYS |= {"ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, "")}
_MODIFIERS = {"Alt": 1, "Control": 2, "Shift": 8}
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

    def open(self, page: Path | str) -> None:
        """Loads a file or an address, and forgets what was said and asked for before."""
        self.console.clear()
        self.requests.clear()
        self._loaded = False
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        end = time.monotonic() + TIMEOUT_S
        while not self._loaded:
            self._take(end)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + TIMEOUT_S
        while not self.run(f"!!({script})"):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)

    def steady(self, script: str) -> Any:
        """The value of an expression once it has been the same for half a second."""
        end = time.monotonic() + TIMEOUT_S
        found, since = self.run(script), time.monotonic()
        while time.monotonic() < since + 0.5:
            assert time.monotonic() < end, f"never steady: {script}"
            time.sleep(0.02)
            now = self.run(script)
            found, since = now, since if now == found else time.monotonic()
        return found

    def settle(self) -> None:
        """Waits until the page has drawn what it knows: of two frames, the second comes after the work of the first."""
        self.run("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(0))))")

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of an element in the window, to which the page is scrolled, once the element stands still."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{element}.scrollIntoView({{block: 'center'}})")
        end, seen, box = time.monotonic() + TIMEOUT_S, None, {}
        while seen != box:
            assert time.monotonic() < end, f"never still: {selector}"
            self.settle()
            seen, box = box, self.run(f"{element}.getBoundingClientRect().toJSON()")
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def click(self, selector: str) -> None:
        """Clicks into the middle of an element with the mouse."""
        self.drag(self.middle(selector))

    def drag(self, *way: tuple[float, float], drop: bool = True) -> None:
        """Presses the button of the mouse at the first point, moves through the others, and lets go at the last."""
        self._mouse("mouseMoved", way[0], buttons=0)
        self._mouse("mousePressed", way[0])
        for (x0, y0), (x1, y1) in pairwise(way):
            for i in (1, 2, 3, 4):
                self._mouse("mouseMoved", (x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4))
        if drop:
            self.release(way[-1])

    def release(self, at: tuple[float, float]) -> None:
        """Lets go of the button of the mouse."""
        self._mouse("mouseReleased", at)
        self.settle()

    def _mouse(self, kind: str, at: tuple[float, float], buttons: int = 1) -> None:
        button = "left" if buttons else "none"
        self.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button=button, buttons=buttons, clickCount=1)

    def press(self, key: str, *modifiers: str) -> None:
        """Presses a key where the focus is, with "Control", "Shift" or "Alt" held."""
        code, text = _KEYS[key] if key in _KEYS else (ord(key.upper()), key)
        held = sum(_MODIFIERS[modifier] for modifier in modifiers)
        about = {"key": key, "windowsVirtualKeyCode": code, "modifiers": held}
        text = "" if held & ~_MODIFIERS["Shift"] else text
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def choose(self, selector: str, file: Path) -> None:
        """Chooses a file in a field for files."""
        document = self.ask("DOM.getDocument")["root"]["nodeId"]
        field = self.ask("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self.ask("DOM.setFileInputFiles", files=[str(file)], nodeId=field)

    def type(self, text: str) -> None:
        """Puts a text where the focus is."""
        self.ask("Input.insertText", text=text)

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
