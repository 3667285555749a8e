"""Scenes for rays: meshes, boxes, instances of these, cameras.

Imports `modules`, `language` and above.
"""

from fusepy.scenes.boxes import Boxes
from fusepy.scenes.camera import Camera, pixel_to_uv
from fusepy.scenes.geometry import Mesh
from fusepy.scenes.scene import Instance, Scene

__all__ = ["Boxes", "Camera", "Instance", "Mesh", "Scene", "pixel_to_uv"]
