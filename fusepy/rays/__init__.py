"""Ray-tracing pipelines: `ray_gen` joins a Slang function that traces rays with the functions that its rays run.

Imports `modules`, `functions` and above.
"""

from fusepy.rays.ray_function import RayFunction, get_ray_gen, ray_gen
from fusepy.rays.stages import HitGroup

__all__ = ["HitGroup", "RayFunction", "get_ray_gen", "ray_gen"]
