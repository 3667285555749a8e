"""`show`: arrays as pictures, in a notebook or in the system's viewer."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import Any

from fusepy.backend.sealed import Sealed
from fusepy.debug.images import images_of
from fusepy.debug.pixels import Scale, pixels_of
from fusepy.debug.png import png
from fusepy.debug.sheet import side_by_side
from fusepy.errors import ArgumentError

__all__ = ["ShownImage", "show"]


class ShownImage(Sealed):
    """A picture that `show` has made. It is the output of a notebook's cell that ends with it.

    Attributes:
        path: the PNG file; ``None`` if none was written.
        size: width and height in pixels.
    """

    _assigning = {"": "show another image: fp.show(x)"}

    def __init__(self, data: bytes, size: tuple[int, int], path: Path | None):
        self.data = data
        self.size = size
        self.path = path
        self._cell: object = None  # the number of the notebook's cell that has displayed it

    def _repr_png_(self) -> bytes:
        return self.data

    def _ipython_display_(self) -> None:
        """Displays it, once in a cell: `show` does, and a cell that ends with it would again."""
        notebook = _notebook()
        if notebook is None:
            print(self)
        elif self._cell != (cell := notebook.execution_count):
            self._cell = cell
            sys.modules["IPython"].display.display({"image/png": self.data, "text/plain": repr(self)}, raw=True)

    def __repr__(self) -> str:
        written = "" if self.path is None else f", {self.path}"
        return f"<a picture of {self.size[0]} x {self.size[1]} pixels{written}>"


def show(
    image: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    titles: Sequence[str] | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    normalise: bool = False,
    encode_srgb: bool = False,
) -> ShownImage:
    """Shows an array as a picture: in a notebook below the cell, else in the system's viewer.

    Where there is no viewer, it writes a temporary PNG file and prints its path. Pixels that are NaN or infinite are magenta.

    Args:
        image: an array, tensor, texture or torch tensor of extents ``(height, width)`` or ``(height, width, 1 to 4)``, or of
            vectors; a struct, whose fields are shown side by side; or a list of these. Floats are from 0 (black) to 1 (white),
            ``uint8`` and ``uint16`` over their range, other integers from 0 to the largest. A fourth component is alpha.
        path: a PNG file to write; then nothing is opened.
        titles: a title for each picture; needs Pillow. By default structs show the names of their fields, other pictures nothing.
        vmin: the number that is black.
        vmax: the number that is white.
        normalise: true to take the smallest and largest finite number of each picture for `vmin` and `vmax`.
        encode_srgb: true for numbers that are linear light; otherwise they are taken as sRGB code values.

    Raises:
        ShapeError: for an array that is no picture.
        UnsupportedArgumentError: for something that has no numbers.
        ArgumentError: for a `path` that cannot be written, another number of titles, or a `vmin` that is not less than `vmax`.
        TraceError: for a traced value.
        MissingPackageError: for titles, if Pillow is not installed.

    Example:
        >>> import fusepy as fp, numpy as np, tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shown = fp.show(np.zeros((2, 3)), path=os.path.join(folder, "black.png"))
        >>> shown.size
        (3, 2)
    """
    images = images_of(image)
    scale = Scale(vmin, vmax, normalise, encode_srgb)
    pixels = side_by_side([pixels_of(array, scale) for _, array in images], _titles(titles, [name for name, _ in images]))
    shown = ShownImage(png(pixels), (pixels.shape[1], pixels.shape[0]), None)
    if path is not None:
        shown.path = _write(Path(path), shown.data)
    elif _notebook() is not None:
        shown._ipython_display_()  # pyright: ignore[reportPrivateUsage]
    else:
        shown.path = _temporary(shown.data)
        _open(shown.path)
    return shown


def _titles(titles: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Returns a title for each picture, or none at all."""
    if titles is None:
        fields = [name.partition(".")[2] for name in names]
        return fields if any(fields) else []
    given = [titles] if isinstance(titles, str) else list(titles)
    if given and len(given) != len(names):
        raise ArgumentError(
            f"show(): {len(given)} titles for {len(names)} pictures",
            hint="give a list with a title for each picture, or leave titles away",
        )
    return given


def _write(path: Path, data: bytes) -> Path:
    """Writes a file, and returns its path.

    Raises:
        ArgumentError: if it cannot be written, or is to be of another format.
    """
    if path.suffix.lower() != ".png":
        raise ArgumentError(f"show(): {path} is no PNG file", hint="end the path in .png")
    try:
        path.write_bytes(data)
    except OSError as error:
        hint = "give a path in a folder that exists and can be written"
        raise ArgumentError(f"show(): {path} cannot be written", saw=error.strerror, hint=hint) from None
    return path


def _temporary(data: bytes) -> Path:
    handle, name = tempfile.mkstemp(suffix=".png", prefix="fusepy-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return Path(name)


def _notebook() -> Any:
    """Returns the shell of the notebook in which the program runs; else ``None``."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if hasattr(shell, "kernel") else None


def _viewer() -> str | None:
    """Returns the program that opens files of the desktop; ``None`` without a desktop."""
    if sys.platform == "win32":
        return which("explorer")
    if sys.platform == "darwin":
        return which("open")
    return which("xdg-open") if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else None


def _open(path: Path) -> None:
    """Opens a file in the system's viewer, or prints where it is."""
    viewer = _viewer()
    if viewer is None:
        print(path)
        return
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    threading.Thread(target=subprocess.run, args=([viewer, str(path)],), kwargs=quiet, daemon=True).start()
