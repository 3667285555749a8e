"""``fusepy demo``: develops a photograph with eight Slang functions, composed in Python, that run as one kernel.

`darkroom` has the functions and their settings; `picture` reads and writes files. This module times and compares the fused and
the separate kernels, and prints the report.
"""

# NumPy's stubs leave some of its functions partly untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import fusepy as fp
from fusepy.cli.timing import Report, measure
from fusepy.errors import FusepyError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from fusepy.cli.darkroom import Settings
    from fusepy.cli.picture import Picture

# The photograph of the cat Chelsea from scikit-image; the docstring of skimage.data.chelsea has its licence.
DEFAULT = "chelsea.png"
CREDIT = 'the cat Chelsea; photograph by Stefan van der Walt, CC0, from the package scikit-image ("skimage.data.chelsea")'

TOLERANCE = 1e-3  # a quarter of a step of 8 bits: fused and separate kernels may round differently


def run(arguments: argparse.Namespace) -> int:
    """Develops ``arguments.image``, or the default picture, into ``arguments.output``.

    Raises:
        FusepyError: if a picture cannot be read or written, a package is missing, or there is no device.
    """
    _check_packages()
    from rich.console import Console
    from rich.text import Text

    from fusepy.cli import darkroom
    from fusepy.cli import picture as files

    console = Console(highlight=False)
    source = Path(arguments.image) if arguments.image is not None else _default()
    output = Path(arguments.output)
    files.check_writable(output, source)
    beside = output.with_name(f"{output.stem}-before-after.png")
    files.check_writable(beside, source)
    photograph = files.read(source)
    width, height = photograph.size
    settings = darkroom.meter(photograph.floats(step=max(1, round((width * height / 1e6) ** 0.5))))
    device = fp.init_device(arguments.device)

    with console.status("compiling and running"):
        develop = darkroom.developer(device)
        report: Report | None = None
        parts: list[NDArray[np.uint8]] = []
        for rows in darkroom.bands(photograph):
            given = darkroom.arguments_of(device, photograph, rows, settings)
            if report is None:
                report, result = measure(device, develop, given)
            else:
                result = develop(*given).to_numpy()
            parts.append((result * 255 + 0.5).astype(np.uint8))
            del given, result
    assert report is not None
    developed = files.Picture(np.concatenate(parts), photograph.alpha)
    _print(console, report, photograph, settings, device, CREDIT if arguments.image is None else files.shown(source))
    if not report.difference <= TOLERANCE:
        raise FusepyError(
            f"the fused picture differs from the call-by-call one by {report.difference:.2g}",
            expected=f"at most {TOLERANCE}",
            hint="this is a bug of fusepy or of the driver; please report it with the output of 'fusepy doctor'",
        )
    with console.status("writing"):
        files.write(output, developed.image())
        files.write_comparison(beside, photograph.image(), developed.image())
    console.print(
        Text.assemble("Written: ", (files.shown(output), "bold"), " and ", (files.shown(beside), "bold")), soft_wrap=True
    )
    return 0


def _check_packages() -> None:
    """Raises unless the extra ``demo`` is installed."""
    missing = [name for module, name in (("rich", "rich"), ("PIL", "Pillow")) if importlib.util.find_spec(module) is None]
    if missing:
        raise FusepyError(f'{" and ".join(missing)} missing; install the extra: pip install "fusepy-slang[demo]"')


def _default() -> Path:
    """Returns the file of the default picture.

    Raises:
        FusepyError: if scikit-image is not installed, or without its pictures.
    """
    spec = importlib.util.find_spec("skimage")
    path = Path(spec.origin).parent / "data" / DEFAULT if spec and spec.origin else None
    if path is None or not path.is_file():
        raise FusepyError(
            'the default picture is missing; install the extra: pip install "fusepy-slang[demo]", or name a picture'
        )
    return path


# ---- printing -----------------------------------------------------------------------------------------------------------


def _print(console: Console, report: Report, picture: Picture, settings: Settings, device: fp.Device, name: str) -> None:
    from rich.table import Table
    from rich.text import Text

    width, height = picture.size
    gains = " ".join(f"{gain:.2f}" for gain in settings.gains)
    for label, text in (
        ("Picture", f"{name}, {width} x {height}"),
        ("Device", device.name),
        ("Metered", f"white balance {gains}, exposure {settings.stops:+.2f} stops"),
    ):
        console.print(Text.assemble((f"{label:9}", "bold"), text), soft_wrap=True)

    console.print("\n[bold]Textual IR[/bold], as traced from Python")
    console.print(_coloured(report.ir), soft_wrap=True)

    explanation = report.explanation
    count = f"{explanation.kernels} kernel{'s' * (explanation.kernels != 1)}"
    calls = sum(": fused" in reason for reason in explanation.reasons)
    console.print(
        Text.assemble((f"\n{count}", "bold green"), f" for {calls} Slang calls; its indexing: {explanation.variants[0]}"),
        soft_wrap=True,
    )

    fused, separate = report.timings
    title = f"Median of {len(fused.seconds)} rounds" + ("" if report.rows == height else f" on the first {report.rows} rows")
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("run")
    for column in ("kernels", "ms", "million pixels/s", "relative time"):
        table.add_column(column, justify="right")
    for timing in (fused, separate):
        table.add_row(
            timing.name,
            str(timing.kernels),
            f"{timing.median * 1e3:.2f}",
            f"{report.rows * width / timing.median / 1e6:.0f}",
            f"{timing.median / fused.median:.2f}",
        )
    console.print()
    console.print(table)
    same = "the same picture" if report.difference <= TOLERANCE else "NOT the same picture"
    console.print(f"Both give {same}: the largest difference is {report.difference:.2g} of 1", soft_wrap=True)


def _coloured(ir: str) -> Text:
    """Returns textual IR with colours for values, functions and comments."""
    from rich.text import Text

    text = Text(ir.rstrip())
    text.highlight_regex(r"%\w+", "cyan")
    text.highlight_regex(r"@[\w.]+", "bold")
    text.highlight_regex(r"//.*", "dim")
    return text
