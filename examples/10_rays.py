"""One Slang function, and rays stored in every way: as structs, as numbers, as arrays of fields or components, as objects."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import fusepy as fp

SOURCE = """
struct Ray { float3 pos; float3 dir; };

// What a ray sees: a unit sphere at the origin, shaded by its normal, before a sky that brightens upwards.
float3 raytrace(Ray ray)
{
    float b = dot(ray.pos, ray.dir), root = b * b - dot(ray.pos, ray.pos) + 1;
    if (root < 0)
        return lerp(float3(1), float3(0.3, 0.5, 1), saturate(ray.dir.y));
    return 0.5 + 0.5 * (ray.pos + (-b - sqrt(root)) * ray.dir);
}
"""
m = fp.Module.load_from_source(fp.default_device(), "rays_example", SOURCE)
y, x = np.mgrid[1.2:-1.2:32j, -1.2:1.2:64j].astype(np.float32)
pos = np.stack([x, y, np.full_like(x, -3)], axis=-1).reshape(-1, 3)
dir = np.tile(np.array([0, 0, 1], np.float32), (len(pos), 1))
expected = m.raytrace({"pos": pos, "dir": dir})  # an array for each field

# Arrays of structs: structured, or plain numbers that `vcast` declares to be rays. Nothing is copied or rearranged.
rays = np.zeros(len(pos), m.Ray.dtype)
rays["pos"], rays["dir"] = pos, dir
rows = np.concatenate([pos, dir], axis=1)  # (N, 6): x y z x y z
layouts = {
    "structured": rays,
    "tensor of rays": fp.Tensor.from_numpy(m.device, rays, m.Ray),
    "numbers (N, 6)": fp.vcast(rows, m.Ray),
    "numbers (N, 2, 3)": fp.vcast(rows.reshape(-1, 2, 3), m.Ray),
    "numbers (N*6,)": fp.vcast(rows.reshape(-1), m.Ray),
    # Structs of arrays: by field, by component, or what is one value for all rays as one value.
    "fields, one constant": {"pos": pos, "dir": [0, 0, 1]},
    "components": {"pos": {"x": pos[:, 0], "y": pos[:, 1], "z": -3}, "dir": [0, 0, 1]},
}


@dataclass
class RayTraceInput:
    pos: Any
    dir: Any


layouts["an object"] = RayTraceInput(fp.Tensor.from_numpy(m.device, pos), [0, 0, 1])
for name, given in layouts.items():
    colors = m.raytrace(given, _result="numpy")
    assert np.allclose(colors, expected, atol=1e-6)
    print(f"{name:22} {colors.shape} {m.raytrace.explain(given).kernels} kernel")
print("\n".join("".join(" .:-=+*#%@"[int(v * 9.99)] for v in row) for row in expected[:, 1].reshape(32, 64)[::2]))
