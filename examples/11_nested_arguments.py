"""Nested arguments: dicts in dicts become structs in the kernel, with constants and arrays mixed as they come."""

import numpy as np

import fusepy as fp

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Surface { float3 normal; float height; };

// Where a ray meets a plane, as far as it reaches.
void user_func(Ray ray, Surface surface, float max_dist, out float3 hit)
{
    float t = (surface.height - dot(ray.position, surface.normal)) / dot(ray.direction, surface.normal);
    hit = ray.position + clamp(t, 0, max_dist) * ray.direction;
}
"""
m = fp.Module.load_from_source(fp.default_device(), "nested_example", SOURCE)
count = 1000
z = np.linspace(-1, 1, count, dtype=np.float32)
directions = np.random.default_rng(1).normal(size=(count, 3)).astype(np.float32)
directions[:, 1] = -1

ray = {"position": {"x": 10, "y": 20, "z": z}, "direction": directions}
floor = {"normal": {"x": 0, "y": 1, "z": 0}, "height": 0}
hits = m.user_func(ray, floor, 100)

t = np.full(count, 20, np.float32)
expected = np.stack([10 + t * directions[:, 0], 20 - t, z + t * directions[:, 2]], axis=-1)
assert np.allclose(hits, expected, atol=1e-4)
print("hits", hits.shape, hits.dtype)

# Leaves are loaded flat; the constructors are composed in one function of the kernel. Constants are uniforms.
source = m.user_func.source(ray, floor, 100)
print(source[source.index("void fz_call_user_func") : source.index("#line 1 ")])
compiled = fp.stats().kernels_compiled
ray["position"]["x"] = -5
assert np.allclose(m.user_func(ray, floor, 100)[:, 0], expected[:, 0] - 15, atol=1e-4)
assert fp.stats().kernels_compiled == compiled

# The same tree goes into a fused function, and a part of it may come out of one.
drop = fp.fuse(lambda x, z: m.user_func({"position": {"x": x, "y": z * 2, "z": z}, "direction": [0, -1, 0]}, floor, 100))
x = np.arange(count, dtype=np.float32)
assert np.allclose(drop(x, np.abs(z)), np.stack([x, np.zeros(count), np.abs(z)], axis=-1), atol=1e-5)

# What does not fit is named by its path.
for wrong in ({"position": {"x": 1, "y": 2}, "direction": directions}, {**ray, "positon": 1}):
    try:
        m.user_func(wrong, floor, 100)
    except fp.FusepyError as error:
        print(error, end="\n\n")
try:
    m.user_func({"position": {"x": 1, "y": 2, "z": z[:7]}, "direction": directions}, floor, 100)
except ValueError as error:
    print(error)
