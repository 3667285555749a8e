"""A path tracer in three forms: as an entry point, as a function over pixels, and that in square groups of threads.

python examples/13_path_tracer.py picture.png    # also writes what it rendered
"""

import sys
import time
from pathlib import Path

import numpy as np

import fusepy as fp

HERE = Path(__file__).parent
device = fp.init_device(include_paths=[HERE])
m, raw = (fp.Module.load_from_file(device, HERE / name) for name in ("path_tracer.slang", "path_tracer_raw.slang"))
SIZE, FRAMES, SPP = 256, 6, 16

spheres = [  # center, radius, color, gloss
    ((0, -100.5, 0), 100, (0.82, 0.80, 0.76), 0),
    ((-0.05, 0.1, 0.1), 0.6, (1, 1, 1), 2),
    ((-1.3, 0.02, -0.5), 0.52, (0.8, 0.16, 0.12), 0),
    ((1.28, 0.1, -0.45), 0.6, (1, 0.76, 0.33), 0.94),
    ((-0.75, -0.28, 0.75), 0.22, (0.08, 0.35, 0.6), 0),
    ((0.78, -0.3, 0.85), 0.2, (0.95, 0.95, 0.97), 1),
    ((0.22, -0.36, 1.2), 0.14, (0.95, 0.55, 0.08), 0),
    ((0.15, 0.1, -2.2), 0.6, (0.25, 0.5, 0.22), 0),
]
camera = {"eye": [0.3, 0.95, 4.6], "target": [0, -0.02, 0], "zoom": 1.4, "aspect": 1.0}
buffer = fp.Tensor.from_numpy(device, np.array(spheres, m.Sphere.dtype), m.Sphere)
scene = {"camera": camera, "count": len(spheres), "spheres": buffer}

# 1. The program as it was: globals and an entry point.
usage = fp.TextureUsage.shader_resource | fp.TextureUsage.unordered_access
texture = device.create_texture(width=SIZE, height=SIZE, format=fp.Format.rgba32_float, usage=usage)
raw.main.set(g_scene=scene, g_output=texture, g_frame=0, g_spp=SPP).threads(SIZE, SIZE).call()
first = texture.to_numpy()

# 2. A function of one pixel: the grid supplies its coordinates, and `res` is written to.
raytrace = m.raytrace.set(g_scene=scene)
result = fp.Tensor.empty(device, (SIZE, SIZE), m.float4)
raytrace(frame=0, spp=SPP, size=[SIZE, SIZE], pixel=fp.grid((SIZE, SIZE)), res=result)
# Entry points are compiled as they stand; in fusepy's kernels NaN and signed zeros count, which moves a few pixels at edges.
assert np.allclose(result.to_numpy(), first, atol=1e-3)

# 3. Groups of 16 x 16 threads, which read the same parts of a scene; and what is left away is returned.
tiled = raytrace.options(numthreads=[16, 16])
assert np.allclose(tiled(0, SPP, [SIZE, SIZE], fp.grid((SIZE, SIZE))).to_numpy(), first, atol=1e-3)

# More frames are more samples; a filmic curve and sRGB make a picture of them.
start = time.perf_counter()
light = sum(tiled(i, SPP, [SIZE, SIZE], fp.grid((SIZE, SIZE))).to_numpy() for i in range(FRAMES)) / FRAMES
print(f"{FRAMES * SPP} paths for each of {SIZE} x {SIZE} pixels in {time.perf_counter() - start:.2f} s")
picture = (m.develop(light) * 255 + 0.5).astype(np.uint8)
print("mean colour", picture.mean(axis=(0, 1)).round(), "noise", np.abs(first - light)[..., :3].mean().round(3))
if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray(picture).save(sys.argv[1])
print("\n".join("".join(" .:-=+*#%@"[int(v) * 10 // 256] for v in row) for row in picture[::10, ::5, 1]))
