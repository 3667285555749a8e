"""A ray-tracing pipeline whose stages are Python functions: a knot with soft bands of colour, its shadow, and a sky.

python examples/31_stages_in_python.py stages.jpg    # a picture of 640 x 400 pixels
"""

import sys
from pathlib import Path

import hall
import numpy as np

import fusepy as fp

HEIGHT, WIDTH, SIDE = (400, 640, 4) if len(sys.argv) > 1 else (40, 64, 1)  # SIDE x SIDE rays for each pixel
m = fp.Module.load_from_file(fp.default_device(), str(Path(__file__).parent / "stages.slang"))
light = fp.float3(-0.48, 0.74, 0.47)
warm, haze = fp.float3(1.5, 1.3, 1.05), fp.float3(0.8, 0.86, 0.92)


def sky(payload: m.Payload, world_ray_direction):
    up = fp.maximum(world_ray_direction.y, 0.0)
    return {"colour": haze + fp.minimum(3.0 * up, 1.0) * (fp.float3(0.16, 0.34, 0.66) - haze), "t": -1.0}


def knot(payload: m.Payload, barycentrics, primitive_index, world_ray_origin, world_ray_direction, ray_t_current):
    at, n = world_ray_origin + ray_t_current * world_ray_direction, m.normal_of(primitive_index, barycentrics)
    paint = 0.42 + 0.38 * fp.cos(2.1 * at.y - 0.7 + fp.float3(0, 2.1, 4.2))
    sun = m.lit(at + 1e-3 * n, light)
    ambient = (0.5 + 0.5 * n.y) * fp.float3(0.3, 0.42, 0.6) + fp.maximum(-n.y, 0.0) * fp.float3(0.16, 0.13, 0.1)
    half = fp.normalize(light - world_ray_direction)
    shine = 0.5 * fp.pow(fp.maximum(fp.dot(n, half), 0.0), 60.0) * sun
    rim = 0.35 * fp.pow(1 - fp.abs(fp.dot(n, world_ray_direction)), 4.0)
    return {
        "colour": paint * (ambient + fp.maximum(fp.dot(n, light), 0.0) * sun * warm) + shine * warm + rim * haze,
        "t": ray_t_current,
    }


def floor(payload: m.Payload, world_ray_origin, world_ray_direction, ray_t_current):
    at = world_ray_origin + ray_t_current * world_ray_direction
    tile = fp.where((fp.floor(at.x) + fp.floor(at.z)) % 2 == 0, 0.42, 0.16)
    far = 1 - fp.exp(-0.0018 * ray_t_current * ray_t_current)  # tiles that are smaller than a pixel are haze
    seen = tile * (fp.float3(0.3, 0.38, 0.5) + 0.74 * m.lit(at, light) * warm)
    return {"colour": seen + far * (haze - seen), "t": ray_t_current}


def picture(camera, uv):
    found = m.seen(camera, uv)
    return found.colour, found.t


positions, normals, triangles = hall.knot()
ground = fp.Mesh([[-60, 0, -60], [60, 0, -60], [-60, 0, 60], [60, 0, 60]], [[0, 2, 1], [1, 2, 3]])
scene = fp.Scene(
    [fp.Instance(ground, hit_group=0), fp.Instance(fp.Mesh(positions, triangles), hall.place((0, 1.8, 0)), hit_group=2)]
)
rows = [fp.HitGroup(floor), fp.HitGroup("shaded"), fp.HitGroup(knot), fp.HitGroup("shaded")]
render = fp.ray_gen(m, fp.fuse(picture), miss=[sky, "unshaded"], hit_groups=rows)
render = render.set(scene=scene, normals=normals, corners=triangles)


@fp.fuse
def film(camera, uv):
    colour, t = render(camera, uv)  # of all rays of a pixel, which lie along axis 2
    return fp.sqrt(fp.minimum(fp.mean(colour, axis=2), 1.0)), t


camera = fp.Camera((1.2, 2.6, 7), (0, 1.5, 0), fov=38, aspect=WIDTH / HEIGHT)
within = (np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), -1).reshape(-1, 2) + 0.5) / SIDE
uv = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1)[:, :, None] + within
uv = (uv / [WIDTH, HEIGHT]).astype(np.float32)
image, t = film(camera, uv)
print(f"kernels: {film.explain(camera, uv).kernels}\nmean of the picture: {image.mean():.3f}")
print(f"rays to the sky: {(t < 0).mean():.1%}, farthest hit: {t.max():.1f}")
assert t[:2].max() == -1, "the sky"
assert t[-2:].min() > 0, "the floor"

if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray((np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)).save(sys.argv[1], quality=92)
