"""Saying how arguments meet the grid: vmap, vdim and vcast."""

import numpy as np

import fusepy as fp

SOURCE = """
float multiply(float a, float b) { return a * b; }
float3 scale(float3 color, float factor) { return color * factor; }
float brightest(float x) { return x; }
float brightest(float3 v) { return max(v.x, max(v.y, v.z)); }
"""
m = fp.Module.load_from_source(fp.default_device(), "maps_example", SOURCE)
a = np.arange(3, dtype=np.float32)
b = np.linspace(1, 2, 4, dtype=np.float32)

# Left alone, shapes broadcast from the right, and (3,) with (4,) is an error. vmap says which grid dimension an axis runs along:
# on dimensions 0 and 1 the same two arrays make an outer product.
outer = m.multiply(fp.vmap(a, (0,)), fp.vmap(b, (1,)))
print("outer product\n", outer)
assert np.allclose(outer, np.outer(a, b))

# The grid is what the dimensions are named after, so naming them the other way round transposes.
assert np.allclose(m.multiply(fp.vmap(a, 1), fp.vmap(b, 0)), np.outer(b, a))

# One factor per row of an image: NumPy would need factors[:, None].
image = np.random.default_rng(1).random((4, 5, 3), dtype=np.float32)
scaled = m.scale(fp.vmap(image, (0, 1)), fp.vmap(b, (0,)))
assert np.allclose(scaled, image * b[:, None, None])
assert np.allclose(m.scale(fp.vdim(image, 2), 2.0), image * 2)  # vdim(v, 2) is vmap(v, (0, 1))
print("rows scaled", scaled.shape)

# (4, 5, 3) floats are 60 numbers or 20 vectors: two overloads fit, and fusepy does not guess.
try:
    m.brightest(image)
except fp.AmbiguousCallError as error:
    print(error)
vectors = m.brightest(fp.vcast(image, m.float3))
numbers = m.brightest(fp.vcast(image, m.float))
print("as float3", vectors.shape, "as float", numbers.shape)
assert np.array_equal(vectors, image.max(axis=2))
assert np.array_equal(numbers, image)

# What was said travels through a fused function: results inherit the mapping of what they are computed from.
double_outer = fp.fuse(lambda x, y: m.multiply(m.multiply(x, y), 2))
assert np.allclose(double_outer(fp.vmap(a, 0), fp.vmap(b, 1)), 2 * np.outer(a, b))
print(fp.resolve(m.multiply, fp.vmap(a, 0), fp.vmap(b, 1)))
