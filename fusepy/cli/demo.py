"""``fusepy demo``: develops a photograph with eight Slang functions, composed in Python, that run as one kernel.

The functions are in ``develop.slang``; `darkroom` composes them, `meter` chooses white balance and exposure as a camera does, and
the rest reads, times, checks and prints.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fusepy as fp
from fusepy.errors import FusepyError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from fusepy.cli.picture import Picture

SLANG = Path(__file__).with_name("develop.slang")
# The photograph of the cat Chelsea that comes with scikit-image; its licence stands in the docstring of skimage.data.chelsea.
DEFAULT = "chelsea.png"
CREDIT = 'the cat Chelsea; photograph by Stefan van der Walt, CC0, from the package scikit-image ("skimage.data.chelsea")'

BAND_PIXELS = 1 << 24  # larger pictures are developed in bands of rows, which bounds the device memory by about 1 GB
ROUNDS = 9
ROUNDS_S = 4.0  # no new round of timing is begun after this long
TOLERANCE = 1e-3  # a quarter of a step of 8 bits: fused and separate kernels may round differently


@dataclass(frozen=True)
class Settings:
    """What a photographer would choose.

    Attributes:
        gains: of the channels, for white balance; a grey of the picture keeps its luminance.
        stops: exposure, in powers of two.
        white: light that becomes white on film, after `contrast`.
        corner: tangent of the angle between the axis of the lens and the corners, for the vignette; 0.55 darkens them by 0.76 stops.
        contrast: slope of the film's straight line.
        saturation: 1 leaves colours as they are; a little less makes up for what contrast, channel by channel, adds.
    """

    gains: tuple[float, float, float]
    stops: float
    white: float
    corner: float = 0.55
    contrast: float = 1.2
    saturation: float = 0.95


def meter(encoded: NDArray[np.float32]) -> Settings:
    """Settings for a picture: a light meter and an automatic white balance, both restrained.

    The light is estimated by the Minkowski mean of the channels, and half of its colour (in stops) is taken out: all of it would
    cool every sunset. Source: Finlayson and Trezzi, "Shades of Gray and Colour Constancy", 2004, with p = 6 as they found best.
    The exposure brings the log-average luminance 0.6 of the way (in stops) to a key of 0.19. Source: Reinhard et al., "Photographic
    Tone Reproduction for Digital Images", 2002, equation 1.

    Args:
        encoded: sRGB code values in 0 … 1, of shape ``(height, width, 3)``; a sample of the pixels is enough.
    """
    weights = np.array([0.2126, 0.7152, 0.0722])  # Rec. 709
    # IEC 61966-2-1, as in develop.slang
    light = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4).reshape(-1, 3).astype(np.float64)
    illuminant = np.mean(light**6, axis=0) ** (1 / 6) + 1e-4
    gains = ((illuminant @ weights) / illuminant) ** 0.5
    gains = np.clip(gains, 0.5, 2.0)  # a picture of nothing but a red wall stays red
    gains /= gains @ weights
    average = np.exp(np.mean(np.log(light @ (gains * weights) + 1e-3)))
    stops = float(np.clip(0.6 * np.log2(0.19 / average), -1.0, 1.6))
    # What was white, or clipped, becomes white again: the channel with the least gain reaches it last.
    white = 0.18 * (2.0**stops * float(gains.min()) / 0.18) ** Settings.contrast
    return Settings((float(gains[0]), float(gains[1]), float(gains[2])), stops, white)


def darkroom(device: fp.Device) -> fp.FusedFunction:
    """The developing function, which is one kernel; its ``__wrapped__`` is the plain Python function, which is eight."""
    m = fp.Module.load_from_file(device, SLANG)

    @fp.fuse
    def develop(
        picture: Any, pixel: Any, size: Any, gains: Any, stops: Any, corner: Any, gamma: Any, white: Any, amount: Any
    ) -> Any:
        light = m.srgb_decode(picture)
        light = m.white_balance(light, gains)
        light = m.exposure(light, stops)
        light = m.vignette(light, pixel, size, corner)
        light = m.contrast(light, gamma)
        film = m.filmic(light, white)
        film = m.saturation(film, amount)
        return m.srgb_encode(film)

    return develop


def arguments_of(device: fp.Device, picture: Picture, rows: slice, settings: Settings) -> tuple[Any, ...]:
    """What `darkroom`'s function takes, for some rows of a picture, on the device."""
    pixels = picture.floats(rows)
    return (
        fp.Tensor.from_numpy(device, pixels, "float3"),
        fp.grid(pixels.shape[:2], offset=(rows.start, 0)),
        fp.Tensor.from_numpy(device, np.array(picture.size, np.float32), "float2"),
        fp.Tensor.from_numpy(device, np.array(settings.gains, np.float32), "float3"),
        *(settings.stops, settings.corner, settings.contrast, settings.white, settings.saturation),
    )


def bands(picture: Picture) -> Iterator[slice]:
    """Ranges of rows of at most `BAND_PIXELS` pixels."""
    width, height = picture.size
    step = max(1, BAND_PIXELS // width)
    return (slice(top, min(top + step, height)) for top in range(0, height, step))


@dataclass(frozen=True)
class Timing:
    """How long one way of running took, in seconds a round, and how many kernels it dispatched in each."""

    name: str
    kernels: int
    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Report:
    """What developing a picture has shown.

    Attributes:
        explanation: how the fused function runs.
        timings: of the fused function, and of the same one call by call.
        difference: the largest difference between the two results, in code values from 0 to 1.
    """

    ir: str
    explanation: fp.Explanation
    timings: tuple[Timing, Timing]
    difference: float


def measure(device: fp.Device, develop: fp.FusedFunction, arguments: tuple[Any, ...]) -> tuple[Report, NDArray[np.float32]]:
    """Runs the fused function and the same Python function call by call, in turns, and compares their results."""
    runs: dict[str, Callable[..., Any]] = {"fused": develop, "call by call": getattr(develop, "__wrapped__")}  # noqa: B009
    results: dict[str, NDArray[np.float32]] = {}
    kernels: dict[str, int] = {}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for name, function in runs.items():  # compiles
        before = fp.stats(device).dispatches
        results[name] = function(*arguments).to_numpy()
        kernels[name] = fp.stats(device).dispatches - before
    begun = time.perf_counter()
    while len(seconds["fused"]) < ROUNDS and (time.perf_counter() - begun < ROUNDS_S or not seconds["fused"]):
        for name, function in runs.items():
            start = time.perf_counter()
            kept = function(*arguments)  # until the device is done
            device.wait()
            seconds[name].append(time.perf_counter() - start)
            del kept
    fused, separate = (Timing(name, kernels[name], seconds[name]) for name in runs)
    difference = float(np.max(np.abs(results["fused"] - results["call by call"])))
    return Report(develop.ir(*arguments), develop.explain(*arguments), (fused, separate), difference), results["fused"]


def run(arguments: argparse.Namespace) -> int:
    """Develops ``arguments.image``, or the default picture, into ``arguments.output``.

    Raises:
        FusepyError: for a picture that cannot be read or written, a missing package, or no device.
    """
    _check_packages()
    from rich.console import Console

    from fusepy.cli import picture as files

    console = Console(highlight=False)
    source = Path(arguments.image) if arguments.image is not None else _default()
    output = Path(arguments.output)
    beside = output.with_name(f"{output.stem}-before-after.png")
    for path in (output, beside):
        files.check_writable(path, source)
    photograph = files.read(source)
    width, height = photograph.size
    settings = meter(photograph.floats(step=max(1, round((width * height / 1e6) ** 0.5))))
    device = fp.init_device(arguments.device)

    with console.status("compiling and running"):
        develop = darkroom(device)
        report: Report | None = None
        parts: list[NDArray[np.uint8]] = []
        for rows in bands(photograph):
            given = arguments_of(device, photograph, rows, settings)
            if report is None:
                report, result = measure(device, develop, given)
            else:
                result = develop(*given).to_numpy()
            parts.append((result * 255 + 0.5).astype(np.uint8))
            del given, result
    assert report is not None
    developed = files.Picture(np.concatenate(parts), photograph.alpha)
    _print(console, report, photograph, settings, device, "" if arguments.image is not None else CREDIT, str(source))
    if not report.difference <= TOLERANCE:
        raise FusepyError(
            f"the fused picture differs from the call-by-call one by {report.difference:.2g}",
            expected=f"at most {TOLERANCE}",
            hint="this is a bug of fusepy or of the driver; please report it with the output of 'fusepy doctor'",
        )
    with console.status("writing"):
        files.write(output, developed.image())
        files.write(beside, files.comparison(photograph.image(), developed.image()))
    console.print(f"Written: [bold]{_plain(output)}[/bold] and [bold]{_plain(beside)}[/bold]", soft_wrap=True)
    return 0


def _check_packages() -> None:
    """Raises unless the extra ``demo`` is installed."""
    missing = [name for module, name in (("rich", "rich"), ("PIL", "Pillow")) if importlib.util.find_spec(module) is None]
    if missing:
        raise FusepyError(f'{" and ".join(missing)} missing; install the extra: pip install "fusepy-slang[demo]"')


def _default() -> Path:
    """The file of the default picture.

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


def _print(
    console: Console, report: Report, picture: Picture, settings: Settings, device: fp.Device, credit: str, name: str
) -> None:
    from rich.table import Table
    from rich.text import Text

    width, height = picture.size
    gains = " ".join(f"{gain:.2f}" for gain in settings.gains)
    for label, text in (
        ("Picture", f"{credit or name}, {width} x {height}"),
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
    rows = bands(picture).__next__()
    pixels = (rows.stop - rows.start) * width
    title = f"Median of {len(fused.seconds)} rounds" + ("" if rows.stop == height else f" on the first {rows.stop} rows")
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("run")
    for column in ("kernels", "ms", "million pixels/s", "time"):
        table.add_column(column, justify="right")
    for timing in (fused, separate):
        table.add_row(
            timing.name,
            str(timing.kernels),
            f"{timing.median * 1e3:.2f}",
            f"{pixels / timing.median / 1e6:.0f}",
            f"{timing.median / fused.median:.2f} x",
        )
    console.print()
    console.print(table)
    same = "the same picture" if report.difference <= TOLERANCE else "NOT the same picture"
    console.print(f"Both give {same}: the largest difference is {report.difference:.2g} of 1", soft_wrap=True)


def _coloured(ir: str) -> Text:
    """Textual IR with its values, functions and comments told apart."""
    from rich.text import Text

    text = Text(ir.rstrip())
    text.highlight_regex(r"%\w+", "cyan")
    text.highlight_regex(r"@[\w.]+", "bold")
    text.highlight_regex(r"//.*", "dim")
    return text


def _plain(path: Path) -> str:
    """A path inside rich's markup."""
    from rich.markup import escape

    return escape(str(path))
