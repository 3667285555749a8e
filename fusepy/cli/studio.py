"""``fusepy studio``: builds graphs by hand in the browser."""

from __future__ import annotations

import argparse
import asyncio
import webbrowser
from pathlib import Path

from fusepy.errors import StudioError
from fusepy.studio.server import StudioServer
from fusepy.studio.worker import StudioWorker


def run(arguments: argparse.Namespace) -> int:
    """Serves the studio until it is interrupted."""
    file = None if arguments.file is None else Path(arguments.file).absolute()
    folder = Path.cwd() if file is None else file.parent
    if not folder.is_dir():
        raise StudioError(f"there is no folder {folder}", hint="make it first")
    if file is not None and file.suffix != ".json":
        raise StudioError(f"{file.name} is no name of a document", hint=f"end it in .json: {file.stem}.json")
    modules = [_below(folder, name) for name in arguments.module]
    functions = [str(Path(name).absolute()) for name in arguments.functions]
    worker = StudioWorker(str(folder), modules, functions)
    try:
        asyncio.run(_serve(StudioServer(worker, folder, file and file.name, arguments.port), arguments.browser))
    finally:
        worker.close()
    return 0


async def _serve(server: StudioServer, browser: bool) -> None:
    try:
        await server.start()
        print(f"fusepy studio: {server.url}", flush=True)
        if browser:
            webbrowser.open(server.url)
        await asyncio.Event().wait()
    finally:
        await server.stop()


def _below(folder: Path, name: str) -> str:
    """Returns a path relative to the folder of the studio."""
    path = Path(name).absolute()
    if not path.is_relative_to(folder):
        hint = f"copy it into {folder}, or start the studio in a folder further up"
        raise StudioError(f"{name} is outside of the folder of the studio", hint=hint)
    return path.relative_to(folder).as_posix()
