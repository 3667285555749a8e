"""A path tracer as a ray-tracing pipeline: hit groups for a mesh, balls and a floor, with the tone mapping fused behind it.

python examples/29_ray_pipeline.py rays.jpg    # a picture of 800 x 450 pixels, 64 paths for each: some minutes on a CPU
"""

import sys
from pathlib import Path

import hall
import numpy as np

import fusepy as fp

WIDTH, HEIGHT, PATHS = (800, 450, 64) if len(sys.argv) > 1 else (64, 36, 2)
m = fp.Module.load_from_file(fp.default_device(), str(Path(__file__).parent / "hall.slang"))
develop = fp.Module.load_from_file(m.device, str(Path(fp.__file__).parent / "cli" / "develop.slang"))

# an instance chooses its hit group by number; rays of light to the sun are a second type, with a miss function of their own
groups = {"floor": "floor_met", "knot": "knot_met", "ball": "ball_met"}
stages = {"miss": ["into_the_sky", "unshaded"], "closesthit": groups, "intersection": {"ball": "ball_shape"}}
scene = hall.built()
render = fp.ray_gen(m, "render", **stages).set(scene)


@fp.fuse
def picture(camera, pixels, size, paths, stops):
    light = develop.exposure(render(camera, pixels, size, paths), stops)
    return develop.srgb_encode(develop.saturation(develop.filmic(light, 6.0), 1.1))


camera = fp.Camera((0.9, 1.9, 7.2), (0.1, 1.25, 0), fov=38, aspect=WIDTH / HEIGHT)
pixels, size = fp.grid((HEIGHT, WIDTH)), (WIDTH, HEIGHT)
image = picture(camera, pixels, size, PATHS, 0.2, _result="numpy")
print(f"kernels: {picture.explain(camera, pixels, size, PATHS, 0.2).kernels}\nmean of the picture: {image.mean():.3f}")

# the distance to the blue ball, which nothing hides, beside NumPy's
seen = fp.ray_gen(m, "distance_seen", **stages).set(scene)(camera, pixels, size, _result="numpy")
middle, radius, _ = hall.BALLS[2]
origins, ways = camera.ray(np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1), size)
along = np.einsum("yxc,yxc->yx", origins - middle, ways)
root = along**2 - ((origins - middle) ** 2).sum(-1) + radius**2
print(f"pixels of the blue ball: {(root > 0.01).sum()}")
assert np.allclose(seen[root > 0.01], (-along - np.sqrt(np.maximum(root, 0)))[root > 0.01], rtol=1e-3)

if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray((np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)).save(sys.argv[1], quality=92)
