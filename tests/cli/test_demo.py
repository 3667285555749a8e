"""`fusepy demo`: the developed picture against NumPy, the kernel count, and pictures and files of every kind."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rich")
pytest.importorskip("skimage")
Image = pytest.importorskip("PIL.Image")

import fusepy as fp  # noqa: E402
from fusepy.cli import darkroom, demo, main, picture, timing  # noqa: E402
from fusepy.cli.comparison import comparison  # noqa: E402
from fusepy.cli.timing import measure  # noqa: E402
from tests.support.selection import daily, seldom  # noqa: E402

CAT = demo._default()


@pytest.fixture(autouse=True)
def quick(device: fp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Demos share the device of the tests, with its kernels, and are timed once."""
    opens = fp.init_device
    monkeypatch.setattr(fp, "init_device", lambda kind: device if kind is None else opens(kind))
    monkeypatch.setattr(timing, "ROUNDS", 1)


@pytest.fixture(scope="module")
def crop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eye of the cat: 96 x 64 pixels with darks, lights and colours."""
    path = tmp_path_factory.mktemp("crop") / "eye.png"
    Image.open(CAT).convert("RGB").crop((130, 70, 226, 134)).save(path)
    return path


def by_hand(pixels: np.ndarray, s: darkroom.Settings) -> np.ndarray:
    """The chain in float64, written from the formulas and not from develop.slang."""
    height, width = pixels.shape[:2]
    encoded = pixels.astype(np.float64) / 255
    light = np.where(encoded > 0.04045, np.power((encoded + 0.055) / 1.055, 2.4), encoded / 12.92)
    light = light * np.array(s.gains) * 2.0**s.stops
    y, x = np.indices((height, width)) + 0.5
    radius = np.hypot(x - width / 2, y - height / 2) / np.hypot(width / 2, height / 2)
    light = light * (np.cos(np.arctan(radius * s.corner)) ** 4)[..., None]
    light = 0.18 * np.exp(s.contrast * np.log(np.maximum(light, 1e-30) / 0.18))

    def hable(v: np.ndarray) -> np.ndarray:  # Uncharted 2, as printed in the slides
        return ((v * (0.15 * v + 0.10 * 0.50) + 0.20 * 0.02) / (v * (0.15 * v + 0.50) + 0.20 * 0.30)) - 0.02 / 0.30

    film = hable(2 * light) / hable(np.float64(2 * s.white))
    grey = film @ np.array([0.2126, 0.7152, 0.0722])
    film = np.clip(grey[..., None] * (1 - s.saturation) + film * s.saturation, 0, 1)
    return np.where(film > 0.0031308, 1.055 * np.power(film, 1 / 2.4) - 0.055, film * 12.92)


def developed(source: Path, out: Path) -> np.ndarray:
    assert main(["demo", str(source), "-o", str(out)]) == 0
    return np.asarray(Image.open(out))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on stderr of a demo that fails."""
    assert main(["demo", *arguments]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("fusepy demo: ")
    return lines[0]


# ---- the picture ------------------------------------------------------------------------------------------------------------


def test_develops_the_default_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.undo()  # a device of its own, as for a user
    assert main(["demo", "-o", str(tmp_path / "cat.png")]) == 0
    said = capsys.readouterr().out
    assert "Stefan van der Walt, CC0" in said
    assert "graph @develop(%picture: Tensor<float3>[?,?]" in said
    assert "1 kernel for 8 Slang calls" in said
    assert [line.split("│")[1:3] for line in said.splitlines() if "call by call " in line] == [[" call by call ", "       8 "]]
    assert "Both give the same picture" in said
    assert Image.open(tmp_path / "cat.png").size == (451, 300)
    assert Image.open(tmp_path / "cat-before-after.png").size == (904, 300)


@pytest.mark.rest
def test_the_default_picture_comes_out_better(tmp_path: Path):
    """Before, its greys are pink and its tones flat; afterwards nothing may be clipped."""
    before, after = np.asarray(Image.open(CAT)).astype(float), developed(CAT, tmp_path / "cat.png").astype(float)
    pillow = (slice(60, 110), slice(0, 20))  # is white
    cast = [np.ptp(p[pillow].mean(axis=(0, 1))) for p in (before, after)]
    assert cast[1] < 0.3 * cast[0]
    assert after.mean(axis=2).std() > before.mean(axis=2).std()
    assert np.mean((after.max(axis=2) >= 254) | (after.max(axis=2) <= 1)) < 0.001


def test_agrees_with_numpy(crop: Path, tmp_path: Path):
    pixels = np.asarray(Image.open(crop))
    expected = by_hand(pixels, darkroom.meter(pixels.astype(np.float32) / 255))
    assert expected.std() > 0.1
    found = developed(crop, tmp_path / "eye.png")
    assert np.abs(found - expected * 255).max() <= 0.55  # rounding, and float32


def test_is_one_kernel_where_calls_are_eight(crop: Path):
    device = fp.default_device()
    photograph = picture.read(crop)
    settings = darkroom.meter(photograph.floats())
    given = darkroom.arguments_of(device, photograph, slice(0, 64), settings)
    report, result = measure(device, darkroom.developer(device), given)
    assert report.explanation.kernels == 1
    assert [t.kernels for t in report.timings] == [1, 8]
    assert all(len(t.seconds) >= 1 and t.median > 0 for t in report.timings)
    assert report.ir.count("slang.call") == 8
    assert report.difference <= 1e-4
    assert np.abs(result - by_hand(photograph.rgb, settings)).max() <= 2e-4


def test_the_kernel_does_not_depend_on_size_or_settings(crop: Path):
    device = fp.default_device()
    photograph = picture.read(crop)
    develop = darkroom.developer(device)
    settings = darkroom.meter(photograph.floats())
    develop(*darkroom.arguments_of(device, photograph, slice(0, 64), settings))
    before = fp.stats(device)
    other = darkroom.Settings((1.0, 1.1, 0.9), -1.0, 0.7)
    develop(*darkroom.arguments_of(device, photograph, slice(3, 20), other))
    after = fp.stats(device)
    assert (after.kernels_compiled, after.plan_misses) == (before.kernels_compiled, before.plan_misses)


def test_bands_join_without_a_seam(crop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = developed(crop, tmp_path / "whole.png")
    monkeypatch.setattr(darkroom, "BAND_PIXELS", 96 * 10)  # seven bands, the last one shorter
    assert np.array_equal(developed(crop, tmp_path / "bands.png"), whole)


def test_a_difference_is_an_error(crop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(demo, "TOLERANCE", -1.0)
    assert main(["demo", str(crop), "-o", str(tmp_path / "eye.png")]) == 1
    assert "differs from the call-by-call one" in capsys.readouterr().err
    assert not (tmp_path / "eye.png").exists()


# ---- metering ---------------------------------------------------------------------------------------------------------------


def test_meter_leaves_a_good_exposure_and_greys_alone():
    grey = np.full((4, 4, 3), 0.4735, np.float32)  # sRGB of luminance 0.19
    settings = darkroom.meter(grey)
    assert np.allclose(settings.gains, 1)
    assert abs(settings.stops) < 0.02


def test_meter_takes_half_of_a_cast_out_and_brightens():
    settings = darkroom.meter(np.full((4, 4, 3), (0.3, 0.25, 0.2), np.float32))
    assert settings.gains[0] < settings.gains[1] < settings.gains[2]
    assert 0 < settings.stops <= 1.6
    assert np.isclose(np.dot(settings.gains, (0.2126, 0.7152, 0.0722)), 1)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_meter_bears_black_and_white(level: float):
    settings = darkroom.meter(np.full((2, 2, 3), level, np.float32))
    assert np.all(np.isfinite([*settings.gains, settings.stops, settings.white]))


# ---- kinds of pictures ------------------------------------------------------------------------------------------------------


def test_grey_with_alpha_keeps_its_transparency(tmp_path: Path):
    grey = Image.open(CAT).convert("L").resize((60, 40))
    grey.putalpha(Image.linear_gradient("L").resize((60, 40)))
    grey.save(tmp_path / "la.png")
    found = developed(tmp_path / "la.png", tmp_path / "out.png")
    assert found.shape == (40, 60, 4)
    assert np.array_equal(found[..., 3], np.asarray(grey.getchannel("A")))
    assert np.array_equal(found[..., 0], found[..., 2])  # grey stays grey
    assert Image.open(tmp_path / "out-before-after.png").mode == "RGB"


def test_sixteen_bits_are_neither_clipped_nor_cut(tmp_path: Path):
    ramp = np.tile(np.linspace(0, 65535, 64).astype(np.uint16), (32, 1))
    Image.fromarray(ramp).save(tmp_path / "ramp.png")
    assert np.array_equal(picture.read(tmp_path / "ramp.png").rgb[..., 1], ramp)
    found = developed(tmp_path / "ramp.png", tmp_path / "out.png")
    assert np.all(np.diff(found[16, :, 0].astype(int)) >= 0)
    assert len(np.unique(found)) > 50


def test_floats_are_scaled_and_nan_is_black(tmp_path: Path):
    Image.fromarray(np.array([[0.0, 0.5, 2.0, np.nan]], np.float32)).save(tmp_path / "f.tif")
    assert picture.read(tmp_path / "f.tif").rgb[0, :, 0].tolist() == [0, 16384, 65535, 0]


@pytest.mark.parametrize("mode", daily(["1", "L", "P", "RGBA", "CMYK", "YCbCr", "LAB", "I;16"], "P", "RGBA", "I;16"))
def test_reads_every_mode(mode: str, tmp_path: Path):
    source = Image.open(CAT).convert("RGB").resize((40, 30))
    image = Image.fromarray(np.asarray(source)[..., 1].astype(np.uint16) * 257) if mode == "I;16" else source.convert(mode)
    path = tmp_path / ("in.jpg" if mode == "YCbCr" else "in.tif")  # Pillow 12 does not read back its own YCbCr TIFF
    image.save(path)
    found = picture.read(path)
    assert found.size == (40, 30)
    if mode not in ("1", "CMYK"):
        error = np.abs(found.floats() - np.asarray(source) / 255)[..., 1]
        assert error.mean() < 0.06


@pytest.mark.parametrize(
    "name", seldom(["in.png", "in.jpg", "in.webp", "in.bmp", "in.tif", "in.gif"], "in.webp", "in.bmp", "in.tif", "in.gif")
)
def test_reads_and_writes_every_format(name: str, crop: Path, tmp_path: Path):
    Image.open(crop).save(tmp_path / name)
    found = developed(tmp_path / name, tmp_path / f"out{Path(name).suffix}")
    assert found.shape[:2] == (64, 96)


def test_transparent_palette(tmp_path: Path):
    image = Image.new("P", (4, 2), 0)
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((0, 0), 1)
    image.save(tmp_path / "p.png", transparency=0)
    found = picture.read(tmp_path / "p.png")
    assert found.alpha is not None
    assert found.alpha[0].tolist() == [255, 0, 0, 0]
    assert found.rgb[0, 0].tolist() == [0, 0, 255]


def test_transparency_goes_onto_white_in_jpeg(crop: Path, tmp_path: Path):
    image = Image.open(crop).convert("RGBA")
    image.putalpha(0)
    image.save(tmp_path / "in.png")
    assert developed(tmp_path / "in.png", tmp_path / "out.jpg").min() >= 253


def test_exif_orientation_is_applied(crop: Path, tmp_path: Path):
    image = Image.open(crop)
    exif = image.getexif()
    exif[274] = 6  # to be shown turned by 90 degrees clockwise
    image.save(tmp_path / "in.jpg", exif=exif, quality=95)
    found = picture.read(tmp_path / "in.jpg")
    assert found.size == (64, 96)
    turned = np.rot90(np.asarray(image), -1).astype(float)
    assert np.abs(found.rgb - turned).mean() < 4


def test_colour_profiles_are_converted(tmp_path: Path):
    path = CAT.with_name("rocket.jpg")  # has a profile with other primaries
    image = Image.open(path)
    assert image.info.get("icc_profile")
    plain = np.asarray(image).astype(float)
    assert np.abs(picture.read(path).rgb - plain).mean() > 1
    image.save(tmp_path / "in.jpg", icc_profile=b"broken", quality=95)  # a damaged profile is ignored
    assert np.abs(picture.read(tmp_path / "in.jpg").rgb - plain).mean() < 2


@pytest.mark.parametrize("size", daily([(1, 1), (1, 200), (300, 1), (7, 5)], 1, one=True))
def test_tiny_pictures(size: tuple[int, int], tmp_path: Path):
    Image.new("RGB", size, (120, 90, 60)).save(tmp_path / "in.png")
    found = developed(tmp_path / "in.png", tmp_path / "out.png")
    assert found.shape == (size[1], size[0], 3)


def test_comparison_is_bounded_and_stacks_what_is_wide():
    wide, tall = Image.new("RGB", (4000, 500), "red"), Image.new("RGB", (900, 1800), "red")
    assert comparison(wide, wide).size == (1600, 2 * 200 + 4)
    assert comparison(tall, tall).size == (2 * 800 + 4, 1600)
    assert np.asarray(comparison(tall, tall))[800, 800:804].min() == 255  # the divider


# ---- bad input --------------------------------------------------------------------------------------------------------------


def test_missing_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = str(tmp_path / "out.png")
    (tmp_path / "holiday.jpg").touch()
    line = refused(capsys, str(tmp_path / "holidy.jpg"), "-o", out)
    assert "there is no file" in line
    assert "did you mean" in line
    assert "holiday.jpg" in line
    assert "check the path" in refused(capsys, str(tmp_path / "no" / "x.png"), "-o", out)
    assert "check the path" in refused(capsys, "x" * 5000, "-o", out)
    assert r"a\nb" in refused(capsys, "a\nb", "-o", out)
    assert not os.path.exists(out)


def test_directory_for_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert "is a directory; name one picture file" in refused(capsys, str(tmp_path), "-o", str(tmp_path / "out.png"))


@pytest.mark.parametrize("content", [b"", b"hello, I am text", b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_broken_picture(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "in.png").write_bytes(content)
    line = refused(capsys, str(tmp_path / "in.png"), "-o", str(tmp_path / "out.png"))
    assert "is not a picture of a known format; give a PNG" in line or "is damaged" in line


def test_truncated_pictures(crop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for suffix in ("png", "jpg", "tif", "webp", "bmp"):
        path = tmp_path / f"in.{suffix}"
        Image.open(crop).save(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        line = refused(capsys, str(path), "-o", str(tmp_path / "out.png"))
        assert "is damaged (" in line or "not a picture of a known format" in line, suffix
    assert developed(crop, tmp_path / "out.png").shape == (64, 96, 3)  # the next good call works


def test_oversized_picture(crop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    assert "million pixels; give a smaller version" in refused(capsys, str(crop), "-o", str(tmp_path / "out.png"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/out.png", "there is no folder"),
        ("folder", "it is a directory; give a file name"),
        ("out", "its name ends in no picture format"),
        ("out.doc", "its name ends in no picture format"),
        ("file.png/out.png", "there is no folder"),
    ],
)
def test_unwritable_output(name: str, said: str, crop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.png").touch()
    assert said in refused(capsys, str(crop), "-o", str(tmp_path / name))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_full_disk(crop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "out.png").symlink_to("/dev/full")
    assert "No space left on device" in refused(capsys, str(crop), "-o", str(tmp_path / "out.png"))


@pytest.mark.parametrize("name", ["out.png", "out-before-after.png"])
def test_the_source_is_never_overwritten(name: str, crop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / name
    source.write_bytes(crop.read_bytes())
    assert "is the picture to develop" in refused(capsys, str(source), "-o", str(tmp_path / "out.png"))
    assert source.read_bytes() == crop.read_bytes()


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    found = demo.importlib.util.find_spec
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None if name in ("PIL", "skimage") else found(name))
    assert 'Pillow missing; install the extra: pip install "fusepy-slang[demo]"' in refused(capsys)
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None if name == "skimage" else found(name))
    assert "the default picture is missing" in refused(capsys)


def test_unknown_device(crop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["demo", str(crop), "-o", str(tmp_path / "out.png"), "--device", "abacus"]) == 1
    assert "unknown device type 'abacus'" in capsys.readouterr().err
