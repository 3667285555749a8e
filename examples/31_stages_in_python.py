"""A ray-tracing pipeline whose stages are Python functions: a knot with soft bands of colour, its shadow, and a sky.

python examples/31_stages_in_python.py stages.jpg    # a picture of 640 x 400 pixels, each the mean of 16 rays
"""

import sys
from pathlib import Path

import hall
import numpy as np

import fusepy as fp

HEIGHT, WIDTH = (1600, 2560) if len(sys.argv) > 1 else (40, 64)
m = fp.Module.load_from_file(fp.default_device(), str(Path(__file__).parent / "stages.slang"))
light, warm, haze = fp.float3(-0.48, 0.74, 0.47), fp.float3(1.5, 1.3, 1.05), fp.float3(0.8, 0.86, 0.92)


def sky(payload: m.Payload, world_ray_direction):
    up = fp.clip(3.0 * world_ray_direction.y, 0.0, 1.0)
    return {"colour": fp.lerp(haze, fp.float3(0.16, 0.34, 0.66), up), "t": -1.0}


def knot(payload: m.Payload, barycentrics, primitive_index, world_ray_origin, world_ray_direction, ray_t_current):
    at, n = world_ray_origin + ray_t_current * world_ray_direction, m.normal_of(primitive_index, barycentrics)
    paint = 0.42 + 0.38 * fp.cos(2.1 * at.y - 0.7 + fp.float3(0, 2.1, 4.2))
    shine = 0.5 * fp.maximum(fp.dot(n, fp.normalize(light - world_ray_direction)), 0.0) ** 60.0
    sun = m.lit(at + 1e-3 * n, light) * warm
    ambient = (0.6 + 0.4 * n.y) * fp.float3(0.3, 0.42, 0.6)
    return {"colour": paint * (ambient + fp.maximum(fp.dot(n, light), 0.0) * sun) + shine * sun, "t": ray_t_current}


def floor(payload: m.Payload, world_ray_origin, world_ray_direction, ray_t_current):
    at = world_ray_origin + ray_t_current * world_ray_direction
    tile = fp.where((fp.floor(at.x) + fp.floor(at.z)) % 2 == 0, 0.42, 0.16)
    seen = tile * (fp.float3(0.3, 0.38, 0.5) + 0.74 * m.lit(at, light) * warm)
    return {"colour": fp.lerp(haze, seen, fp.exp(-0.0018 * ray_t_current**2)), "t": ray_t_current}  # far tiles are haze


def picture(camera, uv):
    seen = m.seen(camera, uv)
    return fp.sqrt(fp.minimum(seen.colour, 1.0)), seen.t


positions, normals, triangles = hall.knot()
ground = fp.Mesh([[-60, 0, -60], [60, 0, -60], [-60, 0, 60], [60, 0, 60]], [[0, 2, 1], [1, 2, 3]])
above = fp.Instance(fp.Mesh(positions, triangles), hall.place((0, 1.8, 0)), hit_group=2)
rows = [fp.HitGroup(floor), fp.HitGroup("shaded"), fp.HitGroup(knot), fp.HitGroup("shaded")]
render = fp.ray_gen(m, fp.fuse(picture), miss=[sky, "unshaded"], hit_groups=rows)
render = render.set(scene=fp.Scene([fp.Instance(ground, hit_group=0), above]), normals=normals, corners=triangles)
camera = fp.Camera((1.2, 2.6, 7), (0, 1.5, 0), fov=38, aspect=WIDTH / HEIGHT)
uv = ((np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1) + 0.5) / [WIDTH, HEIGHT]).astype(np.float32)
image, t = render(camera, uv)
print(f"mean of the picture: {image.mean():.3f}\nrays to the sky: {(t < 0).mean():.1%}\nfarthest hit: {t.max():.1f}")
assert np.all(t[0] == -1) & np.all(t[-1] > 0), "the sky above, the floor below"

if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray((image * 255 + 0.5).astype(np.uint8)).resize((640, 400), Image.Resampling.BOX).save(sys.argv[1], quality=92)
