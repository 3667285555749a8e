"""Structs: NumPy dtypes from reflection, tensors of structs, constructors and members in a fused function."""

import numpy as np

import fusepy as fp

SOURCE = """
struct Ray
{
    float3 position;
    float3 direction;
};

struct Hit
{
    float distance;
    float3 normal;
};

float3 along(Ray ray, float t) { return ray.position + t * ray.direction; }

// The nearer crossing with a unit sphere at the origin; distance -1 where there is none.
Hit sphere(Ray ray)
{
    float b = dot(ray.position, ray.direction), c = dot(ray.position, ray.position) - 1;
    float root = b * b - c;
    Hit hit;
    hit.distance = root < 0 ? -1 : -b - sqrt(root);
    hit.normal = root < 0 ? float3(0) : along(ray, hit.distance);
    return hit;
}
"""
m = fp.Module.load_from_source(fp.default_device(), "structs_example", SOURCE)

# The layout is Slang's own, so a structured array goes to the device as it lies.
print(m.Ray.dtype)
rays = np.zeros((32, 64), m.Ray.dtype)
y, x = np.mgrid[1.2:-1.2:32j, -1.2:1.2:64j]
rays["position"] = np.stack([x, y, np.full_like(x, -3)], axis=-1)
rays["direction"] = (0, 0, 1)
hits = m.sphere(rays)
inside = x**2 + y**2 < 1
assert np.allclose(hits["distance"][inside], 3 - np.sqrt((1 - x**2 - y**2)[inside]), atol=1e-5)
assert (hits["distance"][~inside] == -1).all()


@fp.fuse
def shade(x, y, light):
    ray = m.Ray(m.float3(x, y, -3.0), m.float3(0, 0, 1))  # a constructor
    return fp.saturate(fp.dot(m.sphere(ray).normal, light))  # a member


tensor = fp.Tensor.from_numpy(m.device, rays, m.Ray)
print(tensor.dtype, tensor.shape, m.along(tensor[0, :2], 2.0).to_numpy())
light = np.array([-0.6, 0.5, -0.62], np.float32)
image = shade(x.astype(np.float32), y.astype(np.float32), fp.vcast(light, m.float3))
assert np.allclose(image, (hits["normal"] @ light).clip(0, 1), atol=1e-5)
print("\n".join("".join(" .:-=+*#%@"[int(v * 9.99)] for v in row) for row in image))
