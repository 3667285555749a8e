"""A ray-tracing pipeline whose stages are Python functions: a knot with soft bands of colour, its shadow, and a sky.

python examples/31_stages_in_python.py stages.jpg    # a picture of 640 x 400 pixels
"""

import sys
from pathlib import Path

import hall
import numpy as np

import fusepy as fp

HEIGHT, WIDTH = (400, 640) if len(sys.argv) > 1 else (40, 64)
m = fp.Module.load_from_file(fp.default_device(), str(Path(__file__).parent / "stages.slang"))
light = fp.float3(*hall.SUN.tolist())


def sky(payload: m.Payload, world_ray_direction):
    return {"colour": fp.float3(0.55, 0.68, 0.9) * (1 - 0.6 * world_ray_direction.y), "t": -1.0}


def knot(payload: m.Payload, barycentrics, primitive_index, world_ray_origin, world_ray_direction, ray_t_current):
    at, n = world_ray_origin + ray_t_current * world_ray_direction, m.normal_of(primitive_index, barycentrics)
    bands = 0.5 + 0.5 * fp.cos(5.0 * at.y + fp.float3(0, 2, 4))
    return {"colour": bands * (0.25 + 0.9 * fp.maximum(fp.dot(n, light), 0.0) * m.lit(at, light)), "t": ray_t_current}


def floor(payload: m.Payload, world_ray_origin, world_ray_direction, ray_t_current):
    at = world_ray_origin + ray_t_current * world_ray_direction
    tile = fp.where((fp.floor(at.x) + fp.floor(at.z)) % 2 == 0, 0.6, 0.35)
    return {"colour": tile * (0.3 + 0.7 * m.lit(at, light)) * fp.float3(1, 1, 1), "t": ray_t_current}


def picture(camera, uv):
    found = m.seen(camera, uv)
    return fp.sqrt(fp.clip(found.colour, 0, 1)), found.t


positions, normals, triangles = hall.knot()
ground = fp.Mesh([[-60, 0, -60], [60, 0, -60], [-60, 0, 60], [60, 0, 60]], [[0, 2, 1], [1, 2, 3]])
scene = fp.Scene(
    [fp.Instance(ground, hit_group=0), fp.Instance(fp.Mesh(positions, triangles), hall.place((0, 1.8, 0)), hit_group=2)]
)
rows = [fp.HitGroup(floor), fp.HitGroup("shaded"), fp.HitGroup(knot), fp.HitGroup("shaded")]
render = fp.ray_gen(m, fp.fuse(picture), miss=[sky, "unshaded"], hit_groups=rows)
render = render.set(scene=scene, normals=normals, corners=triangles)

camera = fp.Camera((1.2, 2.6, 7), (0, 1.5, 0), fov=38, aspect=WIDTH / HEIGHT)
uv = (np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1).astype(np.float32) + 0.5) / np.float32([WIDTH, HEIGHT])
image, t = render(camera, uv)
print(f"kernels: {render.explain(camera, uv).kernels}\nmean of the picture: {image.mean():.3f}")
print(f"pixels of the sky: {(t < 0).mean():.1%}, farthest hit: {t.max():.1f}")
assert t[uv[..., 1] < 0.02].max() == -1, "the sky"
assert t[uv[..., 1] > 0.97].min() > 0, "the floor"

if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray((np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)).save(sys.argv[1], quality=90)
