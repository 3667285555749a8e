"""A graph made with fusepy studio. It stands beside the files that it names, and writes its results as pictures."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

import fusepy as fp

HERE = Path(__file__).resolve().parent
device = fp.default_device()
poster = fp.Module.load_from_file(device, HERE / "poster.slang")


def photograph(name: str, longest: int) -> fp.Tensor:
    """Reads a picture beside this file, reduced until no side is longer than this number of pixels."""
    with Image.open(HERE / name) as opened:
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    picture.thumbnail((longest, longest), Image.Resampling.BOX)
    return fp.Tensor.from_numpy(device, np.asarray(picture, np.float32) / np.float32(255), "float3")


@fp.fuse
def graph(
    photograph_picture,
    pixels_grid,
    pixels_size,
    develop_stops,
    develop_contrast,
    dots_cell,
    edges_reach,
    edges_strength,
    press_paper,
    press_ink,
):
    pixels_uv = (pixels_grid + 0.5) / pixels_size
    develop = poster.develop(photograph_picture, develop_stops, develop_contrast)
    enlarge = poster.enlarge(pixels_uv, develop)
    luma = poster.luma(enlarge)
    dots = poster.dots(pixels_grid, enlarge, dots_cell)
    edges = poster.edges(pixels_grid, luma, edges_reach, edges_strength)
    return poster.press(dots, edges, press_paper, press_ink)


def compute():
    """Returns the results."""
    return graph(
        photograph_picture=photograph("cat.jpg", 512),
        pixels_grid=fp.grid((600, 902)),
        pixels_size=fp.vcast([902.0, 600.0], "float2"),
        develop_stops=0.6,
        develop_contrast=1.2,
        dots_cell=6.0,
        edges_reach=2,
        edges_strength=5.0,
        press_paper=fp.vcast([0.97, 0.95, 0.9], "float3"),
        press_ink=fp.vcast([0.1, 0.09, 0.14], "float3"),
    )


def save(name: str, values: np.ndarray) -> None:
    """Writes numbers as a picture: 0 is black, 1 is white."""
    rows = (np.clip(np.nan_to_num(values[..., :3] if values.ndim == 3 else values), 0, 1) * 255 + 0.5).astype(np.uint8)
    if rows.ndim == 3 and rows.shape[2] == 2:
        rows = np.concatenate([rows, np.zeros_like(rows[..., :1])], axis=2)
    Image.fromarray(rows).save(HERE / name)


if __name__ == "__main__":
    result = compute()
    save("press_result.png", np.asarray(result))
