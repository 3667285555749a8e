"""Rasterisation: vertex and fragment functions, in Slang or in Python, as one function over a mesh.

Imports `language` and what stands below it.
"""

from fusepy.drawing.function import Raster, raster

__all__ = ["Raster", "raster"]
