"""Arrays as pictures: pixels, scales, kinds of values, and where a picture goes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.debug import show as module
from fusepy.debug.sheet import BACKGROUND, GAP, LINE

F32 = np.float32
Image = pytest.importorskip("PIL.Image")  # reads what is written, by another's decoder
RAMP = np.linspace(0, 1, 6, dtype=F32).reshape(2, 3)
GREYS = [[0, 51, 102], [153, 204, 255]]
MAGENTA = [255, 0, 255]


@pytest.fixture
def pixels(tmp_path: Path) -> Any:
    """A function that shows, and reads the file."""

    def read(image: Any, **options: Any) -> Any:
        shown = fp.show(image, path=tmp_path / "shown.png", **options)
        assert shown.path == tmp_path / "shown.png"
        made = np.asarray(Image.open(shown.path))
        assert shown.size == made.shape[1::-1]
        assert shown._repr_png_() == shown.path.read_bytes()
        return made

    return read


@pytest.mark.parametrize(
    ("image", "want"),
    [
        (RAMP, GREYS),
        (RAMP[..., None].astype(np.float64), GREYS),
        (RAMP.astype(np.float16), GREYS),
        (np.uint8(GREYS), GREYS),
        (np.uint16(GREYS) * 257, GREYS),
        (np.int32(GREYS) // 51 * 20, GREYS),
        (RAMP > 0.5, [[0, 0, 0], [255, 255, 255]]),
        ([[0.0, 0.2, 0.4], [0.6, 0.8, 1]], GREYS),
        (RAMP * 4 - 2, [[0, 0, 0], [102, 255, 255]]),
    ],
    ids=["floats", "doubles", "halfs", "uint8", "uint16", "int32", "bools", "lists", "clipped"],
)
def test_one_component_is_grey(pixels: Any, image: Any, want: Any) -> None:
    assert pixels(image).tolist() == np.repeat(np.array(want)[..., None], 3, 2).tolist()


def test_components(pixels: Any) -> None:
    two, four = np.stack([RAMP, RAMP[::-1]], -1), np.stack([RAMP, RAMP * 0, RAMP, RAMP[::-1]], -1)
    assert pixels(two)[0].tolist() == [[0, 153, 0], [51, 204, 0], [102, 255, 0]]
    assert pixels(four)[0].tolist() == [[0, 0, 0, 153], [51, 0, 51, 204], [102, 0, 102, 255]]
    assert pixels(four, vmax=0.5)[0].tolist() == [[0, 0, 0, 153], [102, 0, 102, 204], [204, 0, 204, 255]]


def test_scales(pixels: Any) -> None:
    grey = lambda *args, **options: pixels(*args, **options)[..., 0].tolist()  # noqa: E731
    assert grey(RAMP * 10 + 3, vmin=3, vmax=13) == GREYS
    assert grey(RAMP * 10 - 3, normalise=True) == GREYS
    assert grey(RAMP * 10, normalise=True, vmax=20) == [[0, 26, 51], [77, 102, 128]]
    assert grey(RAMP * 0 + 7, normalise=True) == [[0] * 3] * 2
    assert grey(F32([[0, 0.001, 0.5, 1]]), encode_srgb=True) == [[0, 3, 188, 255]]
    assert (
        grey(F32([[-3e38, 0, 3e38]]), normalise=True)
        == grey(np.array([[-1.7e308, 0, 1.7e308]]), normalise=True)
        == [[0, 128, 255]]
    )
    assert grey(np.int64([[2**53 + 1, 2**53 + 3]]), normalise=True) == [[0, 255]]


def test_what_is_not_finite_is_magenta(pixels: Any) -> None:
    colours = np.ones((1, 4, 3), F32)
    colours[0, 1, 2], colours[0, 2, 0], colours[0, 3, 1] = np.nan, np.inf, -np.inf
    assert pixels(colours)[0].tolist() == [[255] * 3, MAGENTA, MAGENTA, MAGENTA]
    assert pixels(F32([[1, 2, np.nan, np.inf]]), normalise=True)[0].tolist() == [[0] * 3, [255] * 3, MAGENTA, MAGENTA]
    assert pixels(F32([[[1, 1, 1, np.nan]]]))[0].tolist() == [[*MAGENTA, 255]]
    assert pixels(F32([[np.nan]]), normalise=True)[0].tolist() == [MAGENTA]


def test_values_of_every_kind(device: Any, pixels: Any) -> None:
    grey = lambda *args: pixels(*args)[..., 0].tolist()  # noqa: E731
    tensor = fp.Tensor.from_numpy(device, RAMP)
    assert grey(tensor) == GREYS
    with fp.lazy():
        assert grey(fp.sqrt(tensor * tensor)) == GREYS
    colours = fp.Tensor.from_numpy(device, np.stack([RAMP] * 3, -1), "float3")
    assert grey(colours) == GREYS
    assert grey(fp.vcast(colours, "float3")) == GREYS
    texture = device.sgl.create_texture(width=3, height=2, format=spy.Format.rgba32_float, usage=spy.TextureUsage.shader_resource)
    texture.copy_from_numpy(np.stack([RAMP] * 4, -1))
    assert grey(texture) == GREYS


def test_torchs_tensors(pixels: Any) -> None:
    torch = pytest.importorskip("torch")
    image = torch.from_numpy(RAMP).requires_grad_()
    assert pixels(image)[..., 0].tolist() == GREYS
    assert pixels((image * 5).to(torch.bfloat16), vmax=5)[..., 0].tolist() == GREYS


def test_several_stand_side_by_side(pixels: Any) -> None:
    made = pixels([RAMP, np.ones((4, 5, 3), F32)])
    assert made.shape == (4, 3 + GAP + 5, 3)
    assert made[:2, :3, 0].tolist() == GREYS
    assert (made[:, 3 + GAP :] == 255).all()
    assert (made[2:, :3] == BACKGROUND).all()
    assert (made[:, 3 : 3 + GAP] == BACKGROUND).all()
    assert pixels((RAMP, np.ones((1, 1, 4), F32) * 0.2)).shape == (2, 3 + GAP + 1, 4)


def test_structs_show_their_fields(device: Any, pixels: Any) -> None:
    m = fp.Module.load_from_source(
        device, "shown_structs", "struct P { float a; float3 c; }; P p(float x) { P p; p.a = x; p.c = x; return p; }"
    )
    for value in (m.p(RAMP), m.p(fp.Tensor.from_numpy(device, RAMP)), {"_type": "P", "a": RAMP, "c": np.stack([RAMP] * 3, -1)}):
        made = pixels(value)
        assert made.shape[0] == 2 + LINE
        assert made[LINE:, :3, 0].tolist() == GREYS
        assert (made[:LINE] > 150).any()  # the ink of the names
        assert pixels(value, titles=()).shape == (2, 3 + GAP + 3, 3)


def test_titles(pixels: Any) -> None:
    assert pixels(RAMP, titles="a ramp")[LINE:, :3, 0].tolist() == GREYS
    assert pixels([RAMP, RAMP], titles=["a", "b"]).tolist() != pixels([RAMP, RAMP], titles=["a", "c"]).tolist()


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (np.ones(3), fp.ShapeError, "image is no picture"),
        (np.ones((2, 0)), fp.ShapeError, "has elements"),
        (np.ones((3, 40, 50)), fp.ShapeError, "channels come last"),
        (np.ones((5, 4, 4, 3)), fp.ShapeError, "several as a list"),
        ([RAMP, RAMP[0]], fp.ShapeError, r"image\[1\] is no picture"),
        (np.ones((2, 2), complex), fp.UnsupportedArgumentError, "complex128"),
        ({"a": "text"}, fp.UnsupportedArgumentError, r"image\.a has no numbers"),
        (None, fp.UnsupportedArgumentError, "a NoneType"),
    ],
    ids=str,
)
def test_what_is_no_picture(pixels: Any, image: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        pixels(image)


def test_options_that_do_not_fit(pixels: Any, tmp_path: Path) -> None:
    with pytest.raises(fp.ArgumentError, match="vmin 2, vmax 1"):
        pixels(RAMP, vmin=2)
    with pytest.raises(fp.ArgumentError, match="1 titles for 2 pictures"):
        pixels([RAMP, RAMP], titles="a")
    with pytest.raises(fp.ArgumentError, match="no PNG file"):
        fp.show(RAMP, path=tmp_path / "a.jpg")
    with pytest.raises(fp.ArgumentError, match="cannot be written"):
        fp.show(RAMP, path=tmp_path / "nowhere" / "a.png")


def test_titles_without_pillow(monkeypatch: pytest.MonkeyPatch, pixels: Any) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(fp.MissingPackageError, match="pip install pillow"):
        pixels(RAMP, titles="a")


def test_without_a_viewer_the_path_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    shown = fp.show(RAMP)
    assert shown.path is not None
    assert capsys.readouterr().out == f"{shown.path}\n"
    assert np.asarray(Image.open(shown.path))[..., 0].tolist() == GREYS
    assert repr(shown) == f"<a picture of 3 x 2 pixels, {shown.path}>"
    shown.path.unlink()


def test_a_viewer_is_opened(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    opened: list[list[str]] = []
    monkeypatch.setattr(module, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", lambda words, **_: opened.append(words))
    monkeypatch.setenv("DISPLAY", ":0")
    for system, viewer in (("linux", "xdg-open"), ("darwin", "open"), ("win32", "explorer")):
        monkeypatch.setattr(sys, "platform", system)
        shown = fp.show(RAMP)
        end = time.monotonic() + 5
        while not opened and time.monotonic() < end:
            time.sleep(0.001)
        assert opened.pop() == [f"/bin/{viewer}", str(shown.path)]
        assert shown.path is not None
        shown.path.unlink()
    assert capsys.readouterr().out == ""


def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    shell, displayed = SimpleNamespace(kernel=1, execution_count=1), []
    display = SimpleNamespace(display=lambda data, raw: displayed.append(data["image/png"]))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    shown = fp.show(RAMP)
    assert displayed == [shown._repr_png_()]
    assert shown.path is None
    shown._ipython_display_()  # the cell ends with it: it is there already
    assert len(displayed) == 1
    shell.execution_count = 2
    shown._ipython_display_()
    assert len(displayed) == 2
    fp.show(RAMP, path=tmp_path / "a.png")
    assert len(displayed) == 2
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    shown._ipython_display_()  # IPython in a terminal
    assert capsys.readouterr().out == "<a picture of 3 x 2 pixels>\n"


def test_inside_of_a_fused_function() -> None:
    with pytest.raises(fp.TraceError, match="image is not computed yet"):
        fp.fuse(lambda x: fp.show(x))(RAMP)
