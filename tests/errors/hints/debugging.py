"""Programs after hints about debugging: pictures and prints."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import fusepy as fp
from tests.errors.hints.support import IMAGE, Program, X, fused, tensor
from tests.support.slang_functions import F32

FOLDER = Path(tempfile.mkdtemp())
GREY = np.ones((2, 3), F32)


def shown(image: Any, path: Any = FOLDER / "shown.png", **options: Any) -> tuple[int, int]:
    return fp.show(image, path=path, **options).size


def without_pillow(titles: Any) -> Any:
    with mock.patch.dict(sys.modules, {"PIL": None}):
        return shown(GREY, titles=titles)


def said(call: Callable[[], Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as told:
        call()
    return told.getvalue().strip()


def printed(*args: Any, **kwargs: Any) -> str:
    return said(lambda: fp.debug.print(*args, **kwargs))


SPOT = SimpleNamespace(x=2.0)


def steps(x: Any) -> Any:
    for _ in range(2):
        fp.debug.print("{}", x)
        x = x + 1
    return x


def encoder() -> Any:
    return fp.default_device().sgl.create_command_encoder()


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a pixel of a number": (
        lambda m: fp.inspect_pixel(3, (X, X), at=0),  # type: ignore[arg-type]
        "write fp.inspect_pixel(f, (x, y), at=(0, 0))",
        lambda m: fp.inspect_pixel(lambda x, y: x + y, (X, X), at=0).first_bad is None,
        True,
    ),
    "a check for NaN of a number": (
        lambda m: fp.debug.check_nan(3),  # type: ignore[arg-type]
        "write fp.debug.check_nan(f)(x)",
        lambda m: fp.debug.check_nan(fp.sqrt)(9.0),
        3,
    ),
    "a picture of a traced value": (
        lambda m: fused(lambda x: fp.show(x), GREY),
        "return it from the function, and show what the call returns",
        lambda m: shown(fused(lambda x: x, GREY)),
        (3, 2),
    ),
    "a picture without elements": (
        lambda m: shown(np.ones((0, 3), F32)),
        "show an array that has elements",
        lambda m: shown(np.ones((1, 3), F32)),
        (3, 1),
    ),
    "a picture with channels first": (
        lambda m: shown(np.moveaxis(IMAGE, -1, 0).repeat(2, 2)),
        "show np.moveaxis(image, 0, -1), for torch x.permute(1, 2, 0)",
        lambda m: shown(np.moveaxis(np.moveaxis(IMAGE, -1, 0).repeat(2, 2), 0, -1)),
        (8, 2),
    ),
    "a picture of four axes": (
        lambda m: shown(np.stack([IMAGE, IMAGE])),
        "such as image[0], or several as a list, [image[0], image[1]]",
        lambda m: shown(np.stack([IMAGE, IMAGE])[0]),
        (4, 2),
    ),
    "a picture of one axis": (
        lambda m: shown(X),
        "x.reshape(height, width)",
        lambda m: shown(X.reshape(1, -1)),
        (X.size, 1),
    ),
    "a picture of text": (
        lambda m: shown(np.array([["0.5"]])),
        "show an array of numbers, such as np.asarray(image, np.float32)",
        lambda m: shown(np.asarray([["0.5"]], np.float32)),
        (1, 1),
    ),
    "black that is white": (
        lambda m: shown(GREY, vmin=1),
        "give a vmin that is less than vmax, such as vmin=0, vmax=1",
        lambda m: shown(GREY, vmin=0, vmax=1),
        (3, 2),
    ),
    "a title too many": (
        lambda m: shown(GREY, titles=["a", "b"]),
        "give a list with a title for each picture, or leave titles away",
        lambda m: shown(GREY),
        (3, 2),
    ),
    "titles without Pillow": (
        lambda m: without_pillow(["a"]),
        "pip install pillow, or pass titles=()",
        lambda m: without_pillow(()),
        (3, 2),
    ),
    "a picture in another format": (
        lambda m: shown(GREY, FOLDER / "shown.jpg"),
        "end the path in .png",
        lambda m: shown(GREY, FOLDER / "shown.png"),
        (3, 2),
    ),
    "a picture in a folder that is not there": (
        lambda m: shown(GREY, FOLDER / "nowhere" / "shown.png"),
        "give a path in a folder that exists and can be written",
        lambda m: shown(GREY, FOLDER / "shown.png"),
        (3, 2),
    ),
    "a print without a format": (
        lambda m: printed(1.0),
        'begin with it: fp.debug.print("x = {}", x)',
        lambda m: printed("x = {}", 1.0) == "x = 1.0",
        True,
    ),
    "a format with a brace": (
        lambda m: printed("{ {}", 1.0),
        "write {{ and }} for braces of the text",
        lambda m: printed("{{ {}", 1.0) == "{ 1.0",
        True,
    ),
    "a part of a printed value": (
        lambda m: printed("{0.x}", SPOT),
        'pass the part: fp.debug.print("{}", x[0])',
        lambda m: printed("{}", SPOT.x) == "2.0",
        True,
    ),
    "a format with a field too many": (
        lambda m: printed("{} and {y}", 1.0),
        'fp.debug.print("{} and {y}", x, y=y)',
        lambda m: printed("{} and {y}", 1.0, y=2.0) == "1.0 and 2.0",
        True,
    ),
    "a format with some numbers": (
        lambda m: printed("{} {0}", 1.0, 2.0),
        'number all fields or none: fp.debug.print("{} {}", x, y)',
        lambda m: printed("{} {}", 1.0, 2.0) == "1.0 2.0",
        True,
    ),
    "a conversion that is none": (
        lambda m: printed("{!z}", 1.0),
        "write {!r}, {!s} or {!a}, or leave it out",
        lambda m: printed("{!r}", 1.0) == "1.0",
        True,
    ),
    "a format of integers for floats": (
        lambda m: printed("{:d}", 1.5),
        "write .3f or the like for floats, d for integers, and nothing for structs",
        lambda m: printed("{:.3f}", 1.5) == "1.500",
        True,
    ),
    "a print in a loop": (
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: (fp.debug.print("{}", c), c + 1)[1], x), 1.0),
        "or write a Python loop, which prints each step",
        lambda m: said(lambda: fused(steps, 1.0)) == "1.0\n2.0",
        True,
    ),
    "a print in an encoder": (
        lambda m: fp.fuse(lambda x: fp.debug.print("{}", x)).append_to(encoder(), tensor(X)),
        "call the function itself, or return the value and read it after you have submitted the encoder",
        lambda m: said(lambda: fp.fuse(lambda x: fp.debug.print("{}", x))(tensor(X))) == str(X),
        True,
    ),
    "a NaN": (
        lambda m: fp.debug.check_nan(fp.sqrt)(np.float32([-4])),
        "keep its operands in range, such as fp.sqrt(fp.maximum(x, 0.0))",
        lambda m: fp.debug.check_nan(lambda x: fp.sqrt(fp.maximum(x, 0.0)))(np.float32([-4])),
        F32([0]),
    ),
    "a check inside of a fused function": (
        lambda m: fused(lambda x: fp.debug.check_nan(fp.sqrt)(x), X),
        "call it outside, on the fused function",
        lambda m: fp.debug.check_nan(fp.fuse(lambda x: x + 1))(X),
        X + 1,
    ),
}
