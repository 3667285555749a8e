"""Programs after hints of the studio: edits, files, messages and connections that it refuses, and those that follow the hints."""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from fusepy import cli
from fusepy.errors import StudioError
from fusepy.studio.document import Document
from fusepy.studio.engine import StudioEngine
from fusepy.studio.files import inside, read_modules, to_document
from fusepy.studio.history import History
from fusepy.studio.pictures import photograph
from fusepy.studio.requests import StudioRequests
from fusepy.studio.session import StudioSession, read_text
from fusepy.studio.worker import StudioWorker
from tests.errors.hints.support import Program

SLANG = "float gain(float x, float k = 2) { return x * k; }\nfloat3 tint(float3 c) { return c * 2; }\n"
PYTHON = "import fusepy as fp\n\n\n{}def double(x):\n    return x + x\n"
NODE = {"kind": "number", "at": [0, 0]}
GAIN = {"kind": "look.slang/gain", "at": [0, 0]}


@functools.cache
def folder() -> Path:
    """A folder with a Slang file, a picture, and Python files."""
    image = pytest.importorskip("PIL.Image")
    made = Path(tempfile.mkdtemp())
    (made / "look.slang").write_text(SLANG, encoding="utf-8")
    (made / "fused.py").write_text(PYTHON.format("@fp.fuse\n"), encoding="utf-8")
    (made / "plain.py").write_text(PYTHON.format(""), encoding="utf-8")
    functions = {"hidden": "made = x, x\n    return made", "told": "return x, x", "failing": "return x * [][0]"}
    several = "".join(f"@fp.fuse\ndef {name}(x):\n    {body}\n" for name, body in functions.items())
    (made / "several.py").write_text(f"import fusepy as fp\n{several}", encoding="utf-8")
    (made / "wrong.py").write_text("1 / None\n", encoding="utf-8")
    (made / "bad.png").write_bytes(b"no picture")
    (made / "binary.json").write_bytes(b"\xff\xfe\xff")
    (made / "empty.json").write_text(json.dumps({"fusepy studio": 1, "nodes": {}}), encoding="utf-8")
    image.fromarray(np.full((8, 6, 3), 255, np.uint8)).save(made / "white.png")
    return made


@functools.cache
def engine() -> StudioEngine:
    return StudioEngine(str(folder()), ("look.slang",))


def chain(*kinds: str) -> Document:
    document = Document()
    for kind in kinds:
        document = document.add(engine().kinds(), kind, (0, 0))
    return document


def joined(document: Document, *edges: tuple[tuple[str, str], tuple[str, str]]) -> Document:
    for start, end in edges:
        document = document.connect(engine().kinds(), start, end)
    return document


def of_file(**entries: Any) -> int:
    """The number of nodes of a file with these entries."""
    data, _ = read_modules(json.dumps({"fusepy studio": 1, "nodes": {}, **entries}))
    return len(to_document(data, engine().kinds()).nodes)


def errors_of(document: Document) -> int:
    """Raises the first error of an evaluation."""
    engine().evaluate(document)
    for error in engine().evaluator.errors.values():
        raise error
    return 0


def asked(op: str, *before: tuple[str, dict[str, Any]], **fields: Any) -> bool:
    """What the studio answers to a message after others."""

    async def nothing(message: Any) -> None:
        pass

    async def ask(name: str, *args: Any) -> Any:
        return getattr(engine(), name)(*args)

    async def run() -> bool:
        session = StudioSession(SimpleNamespace(ask=ask, modules=[]), folder(), None, nothing)  # type: ignore[arg-type]
        await session.open()
        requests = StudioRequests(session)
        for name, values in [*before, (op, fields)]:
            answer = await requests.answer({"id": 1, "op": name, **values})
            if not answer["ok"]:
                raise StudioError(answer["error"], hint=answer["hint"])
        return True

    return asyncio.run(run())


def parsed(*arguments: str) -> Any:
    """The command, with a server that only says what it was asked for."""
    pytest.importorskip("aiohttp")
    from fusepy.cli import studio

    def serve(worker: Any, where: Path, file: str | None, port: int) -> Any:
        return (worker.modules, file)

    async def served(server: Any, browser: bool) -> None:
        told.append(server)

    told: list[Any] = []
    options = cli.parser().parse_args(["studio", *arguments])
    with mock.patch.object(studio, "StudioServer", serve), mock.patch.object(studio, "_serve", served):
        options.run(options)
    return told[0]


def at_port(port: int) -> bool:
    """Whether a server starts at a port."""
    server = pytest.importorskip("fusepy.studio.server")

    async def run() -> bool:
        async def ask(name: str, *args: Any) -> Any:
            return getattr(engine(), name)(*args)

        made = server.StudioServer(SimpleNamespace(ask=ask, modules=[], close=lambda: None), folder(), None, port)
        try:
            await made.start()
        finally:
            await made.stop()
        return True

    return asyncio.run(run())


def taken() -> bool:
    with socket.create_server(("127.0.0.1", 0)) as other:
        return at_port(other.getsockname()[1])


def without(package: str, call: Callable[[], Any]) -> Any:
    """A call where a package is missing."""
    with mock.patch.dict("sys.modules", {package: None}):
        return call()


def server() -> bool:
    """Whether the server's file can be imported."""
    kept = sys.modules.pop("fusepy.studio.server", None)
    try:
        return bool(importlib.import_module("fusepy.studio.server"))
    finally:
        if kept is not None:
            sys.modules["fusepy.studio.server"] = kept


class Pipe:
    """A pipe to a process that does not answer, or has ended."""

    def __init__(self, ended: bool):
        self.ended = ended

    def send(self, message: Any) -> None:
        if self.ended:
            raise BrokenPipeError

    def poll(self, seconds: float) -> bool:
        return False

    def close(self) -> None:
        pass


def answer_of(pipe: Any) -> bool:
    worker = StudioWorker("")
    worker._pipe = pipe
    return worker.call("kinds")


def answering() -> Any:
    return SimpleNamespace(send=lambda m: None, poll=lambda s: True, recv=lambda: ("ok", True), close=lambda: None)


def large(size: int) -> Path:
    image = pytest.importorskip("PIL.Image")
    path = Path(tempfile.mkdtemp()) / "large.png"
    image.new("RGB", (size, size)).save(path)
    return path


def limited(call: Callable[[], Any]) -> Any:
    with mock.patch("fusepy.studio.pictures._MOST_PIXELS", 100):
        return call()


def many(count: int) -> Document:
    with mock.patch("fusepy.studio.document.MOST_NODES", 3):
        return chain(*["number"] * count)


def python(name: str) -> bool:
    engine().node_library.add_functions(folder() / name)
    return True


def computed(name: str) -> bool:
    """Whether the outputs of a function of Python can be computed."""
    made = StudioEngine(str(folder()), (), (str(folder() / "several.py"),))
    document = Document().add(made.kinds(), "number", (0, 0)).add(made.kinds(), f"several.py/{name}", (300, 0))
    made.evaluate(document.connect(made.kinds(), ("number", "value"), (name, "x")))
    for error in made.evaluator.errors.values():
        raise error
    return True


def saved(where: str) -> bool:
    def replace(source: Any, target: Any) -> None:
        if Path(target).name == "locked.json":
            raise PermissionError(13, "Permission denied")

    with mock.patch("fusepy.studio.requests.os.replace", replace):
        return asked("save", path=where)


LOOP = (("gain", "result"), ("gain_2", "x")), (("gain_2", "result"), ("gain", "x"))
GAINS = ("look.slang/gain", "look.slang/gain")
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a module outside of the folder": (
        lambda m: parsed(str(folder() / "inner.json"), "--module", "/etc/look.slang"),
        "copy it into",
        lambda m: (
            parsed(str(folder() / "inner.json"), "--module", str(folder() / "look.slang")) == (["look.slang"], "inner.json")
        ),
        True,
    ),
    "a folder that is not there": (
        lambda m: parsed(str(folder() / "none" / "a.json")),
        "make it first",
        lambda m: parsed(str(folder() / "a.json"))[1] == "a.json",
        True,
    ),
    "a document of another ending": (
        lambda m: parsed(str(folder() / "a.txt")),
        "end it in .json: a.json",
        lambda m: parsed(str(folder() / "a.json"))[1] == "a.json",
        True,
    ),
    "a place that is none": (
        lambda m: chain("number").move({"number": [0, 1e9]}),
        "give two numbers between -1000000 and 1000000",
        lambda m: chain("number").move({"number": [0, 1e6]}).nodes["number"].at,
        (0.0, 1e6),
    ),
    "too many nodes": (lambda m: many(4), "remove some, or make a function of a part", lambda m: len(many(3).nodes), 3),
    "an edge into a value": (
        lambda m: joined(chain("number", "number"), (("number", "value"), ("number_2", "value"))),
        "set its value",
        lambda m: chain("number").set(engine().kinds(), "number", "value", 1).nodes["number"].values["value"],
        1.0,
    ),
    "a cycle": (
        lambda m: joined(chain(*GAINS), *LOOP),
        "a loop on the device is a loop in Slang, or fusepy.fori_loop in a fused function",
        lambda m: len(joined(chain(*GAINS), LOOP[0]).edges),
        1,
    ),
    "an edge that is gone": (
        lambda m: chain(*GAINS).disconnect(("gain", "x")),
        "reload the page: it shows an old document",
        lambda m: len(joined(chain(*GAINS), LOOP[0]).disconnect(("gain_2", "x")).edges),
        0,
    ),
    "a cycle that was not built by edits": (
        lambda m: Document(chain(*GAINS).nodes, {end: start for start, end in LOOP}).order(),
        "take one of their edges away",
        lambda m: Document(chain(*GAINS).nodes, {LOOP[0][1]: LOOP[0][0]}).order() == ["gain", "gain_2"],
        True,
    ),
    "a picture of a number": (
        lambda m: (engine().evaluate(chain("number")), engine().picture("number", "value")),
        "a picture has two axes of numbers or vectors",
        lambda m: (engine().evaluate(chain("pixels")), engine().picture("pixels", "uv")[1:4] == b"PNG")[1],
        True,
    ),
    "a node that waits": (
        lambda m: errors_of_last(joined(chain("photograph", "look.slang/tint"), PICTURE).set(engine().kinds(), *MISSING)),
        "see photograph",
        lambda m: errors_of(joined(chain("photograph", "look.slang/tint"), PICTURE).set(engine().kinds(), *WHITE)),
        0,
    ),
    "a program of nothing": (
        lambda m: engine().export(Document()),
        "add a node with an output",
        lambda m: engine().export(chain("look.slang/gain")).count("look.gain("),
        1,
    ),
    "a program of no output": (
        lambda m: engine().export(chain("look.slang/gain"), ("gain", "x")),
        "name an output of the node",
        lambda m: engine().export(chain("look.slang/gain"), ("gain", "result")).count("look.gain("),
        1,
    ),
    "a name that is no path": (
        lambda m: inside(folder(), ""),
        'give a path below the folder of the studio, such as "look.slang"',
        lambda m: inside(folder(), "look.slang").name == "look.slang",
        True,
    ),
    "a path that leads out": (
        lambda m: inside(folder() / "inner", "../look.slang"),
        "copy the file into it, or start the studio further up",
        lambda m: inside(folder(), "look.slang").name == "look.slang",
        True,
    ),
    "a name that is too long": (
        lambda m: inside(folder(), f"{'x' * 300}.slang"),
        "choose another name",
        lambda m: inside(folder(), "look.slang").name == "look.slang",
        True,
    ),
    "a path of another ending": (
        lambda m: inside(folder(), "look.txt", (".slang",)),
        "give one of .slang",
        lambda m: inside(folder(), "look.slang", (".slang",)).name == "look.slang",
        True,
    ),
    "a long file": (
        lambda m: read_modules(" " * (1 << 21)),
        "a document has at most 1,048,576",
        lambda m: of_file(nodes={"a": NODE}),
        1,
    ),
    "a file with too many nodes": (
        lambda m: of_file(nodes={f"n{i}": NODE for i in range(501)}),
        "a document has at most 500",
        lambda m: of_file(nodes={f"n{i}": NODE for i in range(500)}),
        500,
    ),
    "a file of a later version": (
        lambda m: of_file(**{"fusepy studio": 2}),
        "this studio reads version 1",
        lambda m: of_file(**{"fusepy studio": 1}),
        0,
    ),
    "a file that is none": (
        lambda m: read_modules("nodes"),
        'start from a file that the studio has saved; an empty one is {"fusepy studio": 1, "nodes": {}}',
        lambda m: read_modules('{"fusepy studio": 1, "nodes": {}}')[1],
        [],
    ),
    "modules that are no names": (
        lambda m: of_file(modules=[1]),
        'write "modules": ["look.slang"]',
        lambda m: of_file(modules=["look.slang"]),
        0,
    ),
    "a node with a strange name": (
        lambda m: of_file(nodes={"1a": NODE}),
        "use letters, digits and _, at most 64, and begin with a letter",
        lambda m: of_file(nodes={"a_1": NODE}),
        1,
    ),
    "a kind that is no text": (
        lambda m: of_file(nodes={"a": {"kind": 1, "at": [0, 0]}}),
        'write "kind": "photograph", or "look.slang/exposure"',
        lambda m: of_file(nodes={"a": {"kind": "photograph", "at": [0, 0]}}),
        1,
    ),
    "an edge that is no text": (
        lambda m: of_file(nodes={"a": NODE, "g": GAIN}, edges=["a -> g"]),
        'write "node.output -> node.input"',
        lambda m: of_file(nodes={"a": NODE, "g": GAIN}, edges=["a.value -> g.x"]),
        2,
    ),
    "an input with two edges": (
        lambda m: of_file(nodes={"a": NODE, "g": GAIN}, edges=["a.value -> g.x"] * 2),
        "an input has one edge",
        lambda m: of_file(nodes={"a": NODE, "g": GAIN}, edges=["a.value -> g.x"]),
        2,
    ),
    "an input without an edge": (
        lambda m: errors_of(chain("absolute", "number")),
        "connect an output with it",
        lambda m: errors_of(joined(chain("absolute", "number"), (("number", "value"), ("absolute", "a")))),
        0,
    ),
    "a photograph without a file": (
        lambda m: without_pictures(lambda: errors_of(chain("photograph"))),
        "set its value",
        lambda m: without_pictures(lambda: errors_of(chain("photograph").set(engine().kinds(), *WHITE))),
        0,
    ),
    "nothing to undo": (
        lambda m: History(Document()).undo(),
        "edit the graph first",
        lambda m: undone().can_undo,
        False,
    ),
    "nothing to redo": (lambda m: History(Document()).redo(), "undo an edit first", lambda m: undone().can_redo, True),
    "a value of another type": (
        lambda m: chain("look.slang/tint").set(engine().kinds(), "tint", "c", 1),
        "set a finite number, a list of them for a vector, or connect an output",
        lambda m: chain("look.slang/tint").set(engine().kinds(), "tint", "c", [1, 0, 0]).nodes["tint"].values["c"],
        (1.0, 0.0, 0.0),
    ),
    "a Python file without fused functions": (
        lambda m: python("plain.py"),
        "put @fp.fuse above the functions that are to be nodes",
        lambda m: python("fused.py"),
        True,
    ),
    "a Python file with an error": (
        lambda m: python("wrong.py"),
        "run it yourself: python wrong.py",
        lambda m: python("fused.py"),
        True,
    ),
    "results that cannot be read from the text": (
        lambda m: computed("hidden"),
        "return one value, or write the tuple or the dict of several right behind return",
        lambda m: computed("told"),
        True,
    ),
    "a function that raises": (
        lambda m: computed("failing"),
        "mend the function: the file is run again as soon as it is saved",
        lambda m: computed("told"),
        True,
    ),
    "a picture that is none": (
        lambda m: photograph(folder() / "bad.png", 16),
        "give a picture that other programs open, below the folder of the studio",
        lambda m: photograph(folder() / "white.png", 16).shape,
        (8, 6, 3),
    ),
    "photographs without Pillow": (
        lambda m: without("PIL", lambda: photograph(folder() / "white.png", 16)),
        'pip install "fusepy-slang[studio]"',
        lambda m: photograph(folder() / "white.png", 16).shape,
        (8, 6, 3),
    ),
    "the studio without aiohttp": (
        lambda m: without("aiohttp", server),
        'pip install "fusepy-slang[studio]"',
        lambda m: server(),
        True,
    ),
    "a picture that is too large": (
        lambda m: limited(lambda: photograph(large(11), 16)),
        "give a smaller version of it",
        lambda m: limited(lambda: photograph(large(10), 16).shape),
        (10, 10, 3),
    ),
    "a picture that is not there": (
        lambda m: errors_of(chain("photograph").set(engine().kinds(), *MISSING)),
        "copy it into the folder of the studio",
        lambda m: errors_of(chain("photograph").set(engine().kinds(), *WHITE)),
        0,
    ),
    "a message of another page": (
        lambda m: asked("add"),
        "reload the page: it is not of this studio",
        lambda m: asked("add", kind="number", at=[0, 0]),
        True,
    ),
    "a message that names no port": (
        lambda m: asked("disconnect", to=["a"]),
        "send [node, port]",
        lambda m: asked("disconnect", *CONNECTED, to=["gain", "x"]),
        True,
    ),
    "a message with both ends": (
        lambda m: asked("fitting"),
        'send {"from": [node, port]} or {"to": [node, port]}',
        lambda m: asked("fitting", *CONNECTED, to=["gain", "x"]),
        True,
    ),
    "a document without a name": (
        lambda m: asked("save"),
        'give a name such as "look.json"',
        lambda m: asked("save", path="look.json"),
        True,
    ),
    "a name that another document has": (
        lambda m: [asked("save", path="old.json") for _ in range(2)],
        "save once more to replace it, or give another name",
        lambda m: asked("save", path="old.json", replace=True) and asked("save", path="older.json", replace=True),
        True,
    ),
    "a message that names no pixel": (
        lambda m: asked("pixel", *CONNECTED, node="gain", port="result", at=["y", "x"]),
        'send {"at": [y, x]}',
        lambda m: asked("pixel", ("add", {"kind": "pixels", "at": [0, 0]}), node="pixels", port="uv", at=[1, 2]),
        True,
    ),
    "a file that is locked": (lambda m: saved("locked.json"), "choose another name", lambda m: saved("other.json"), True),
    "a port that is taken": (lambda m: taken(), "give another --port, or none: a free one is chosen", lambda m: at_port(0), True),
    "a document that is no text": (
        lambda m: read_text(folder() / "binary.json"),
        "give a document that the studio has saved",
        lambda m: read_modules(read_text(folder() / "empty.json"))[1],
        [],
    ),
    "a call that does not end": (
        lambda m: answer_of(Pipe(ended=False)),
        "look for a loop that does not end in the Slang that was edited last",
        lambda m: answer_of(answering()),
        True,
    ),
    "a process that has ended": (
        lambda m: answer_of(Pipe(ended=True)),
        "undo the last edit; the terminal of the studio shows more",
        lambda m: answer_of(answering()),
        True,
    ),
}

PICTURE = (("photograph", "picture"), ("tint", "c"))
MISSING, WHITE = ("photograph", "file", "none.png"), ("photograph", "file", "white.png")
CONNECTED = (
    ("add", {"kind": "number", "at": [0, 0]}),
    ("add", {"kind": "look.slang/gain", "at": [0, 0]}),
    ("connect", {"from": ["number", "value"], "to": ["gain", "x"]}),
)


def errors_of_last(document: Document) -> None:
    engine().evaluate(document)
    raise engine().evaluator.errors[list(document.nodes)[-1]]


def undone() -> History:
    history = History(Document())
    history.take(chain("number"))
    history.undo()
    return history


def without_pictures(call: Callable[[], Any]) -> Any:
    """A call in a studio whose folder had no pictures when it was started."""
    library = engine().node_library
    with mock.patch("fusepy.studio.sources.pictures_in", return_value=()):
        library.add_pictures()
    try:
        return call()
    finally:
        library.add_pictures()
