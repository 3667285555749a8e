"""The primitives of differentiable renderers under one name, `fusepy.render`, as nvdiffrast has them."""

from fusepy.drawing.primitives import antialias, interpolate, opposite_corners, rasterize
from fusepy.drawing.texture import mip_levels, texture

__all__ = ["antialias", "interpolate", "mip_levels", "opposite_corners", "rasterize", "texture"]
