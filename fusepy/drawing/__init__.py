"""Rasterisation: vertex and fragment functions, in Slang or in Python, as one function over a mesh.

Imports `language` and what stands below it.
"""

from fusepy.drawing import render
from fusepy.drawing.function import Raster
from fusepy.drawing.making import raster
from fusepy.drawing.primitives import antialias, interpolate, opposite_corners, rasterize

__all__ = ["Raster", "antialias", "interpolate", "opposite_corners", "raster", "rasterize", "render"]
