"""The page of the studio in a browser, and what one does in it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("PIL")
from PIL import Image

from tests.support.browser import Browser

SERVE = "import sys; from fusepy.cli import main; sys.exit(main())"
_MEASURED = "node => getComputedStyle(node).visibility === 'visible'"


class Page(Browser):
    """A browser, and what one does in the studio."""

    def __init__(self) -> None:
        super().__init__()
        self.url, self.folder = "", Path()

    def fresh(self) -> None:
        """Opens the page, and removes what another test has left."""
        self.open(self.url)
        self.until("document.querySelector('.kind') && document.querySelector('#undo')")
        self.until("document.querySelector('.start') || document.querySelector('.node')")
        if self.run("document.querySelectorAll('.node').length"):
            self.until(f"[...document.querySelectorAll('.react-flow__node')].every({_MEASURED})")
            self.settle()  # the whole graph is shown once; what is added below does not move any more
            self.press("a", "Control")
            self.until("!document.querySelector('#delete').disabled")
            self.press("Delete")
        self.until("document.querySelector('.start')")

    def add(self, kind: str, x: float, y: float) -> None:
        """Drags an entry of the palette to a point."""
        self.drag(self.middle(f'.palette [data-kind$="{kind}"]'), (x, y))
        self.stands(kind)

    def search(self, name: str) -> None:
        """Adds a node by its name."""
        self.run("document.activeElement.blur()")
        self.press("/")
        self.type(name)
        self.press("Enter")

    def stands(self, name: str) -> None:
        """Waits until a node is seen: before its ports are measured, no line begins or ends there."""
        self.until(f"[...document.querySelectorAll('{self.node(name)}')].some({_MEASURED})")

    def node(self, name: str) -> str:
        return f'.react-flow__node[data-id="{name}"]'

    def port(self, name: str) -> str:
        """The dot of ``"node.port"``."""
        node, _, port = name.partition(".")
        return f'{self.node(node)} .react-flow__handle[data-handleid="{port}"]'

    def join(self, start: str, end: str, drop: bool = True) -> None:
        self.drag(self.middle(self.port(start)), self.middle(self.port(end)), drop=drop)

    def lines(self, count: int) -> None:
        self.until(f"document.querySelectorAll('.react-flow__edge').length === {count}")

    def thumbnail(self, name: str) -> str:
        """An expression: the picture at a node, as a data address."""
        return f"document.querySelector('{self.node(name)} .thumbnail img')?.src"

    def large(self) -> np.ndarray:
        """The newest large picture."""
        source = self.run("document.querySelector('.picture img').src")
        with urlopen(source) as reply:
            return np.asarray(Image.open(io.BytesIO(reply.read())))


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """The command, as a user starts it; gives the address that it prints."""
    command = [sys.executable, "-c", SERVE, "studio", "graph.json", "--module", "look.slang", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
            assert found, line
            yield found.group()
        finally:
            process.terminate()
