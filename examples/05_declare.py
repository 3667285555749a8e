"""Mappings said once, in advance: declare()."""

import time

import numpy as np

import fusepy as fp

SOURCE = """
float3 tonemap(float3 color, float exposure, float saturation)
{
    float3 mapped = 1 - exp(-color * exposure);
    return lerp(float3(dot(mapped, float3(0.2126, 0.7152, 0.0722))), mapped, saturation);
}
"""
device = fp.default_device()
m = fp.Module.load_from_source(device, "declare_example", SOURCE)
image = np.random.default_rng(1).random((270, 480, 3), dtype=np.float32)
mapped = 1 - np.exp(-2 * image)
grey = mapped @ np.array([0.2126, 0.7152, 0.0722], np.float32)
expected = grey[..., None] + 0.5 * (mapped - grey[..., None])

# By mapping (the type is inferred), by type (the mapping is inferred), by name; None is "one value for all threads".
by_mapping = m.tonemap.declare(fp.vmapping(0, 1), None, None)
by_type = m.tonemap.declare(m.float3)
by_name = m.tonemap.declare(color=fp.vmapping(0, 1))
for declared in (by_mapping, by_type, by_name):
    assert np.allclose(declared(image, 2, 0.5), expected, atol=1e-5)

# A declared function is an object to keep; the one that it was made from is as it was.
rows = m.tonemap.declare(fp.vmapping(0, 1), fp.vmapping(0), None)  # an exposure for each row
exposures = np.linspace(0.5, 4, 270, dtype=np.float32)
banded = rows(image, exposures, 1.0)
assert np.allclose(banded, 1 - np.exp(-image * exposures[:, None, None]), atol=1e-5)

# A fused function is declared in the same way.
look = fp.fuse(lambda color, exposure: m.tonemap(color, exposure, 0.5) * 0.5).declare(m.float3)
assert np.allclose(look(image, 2), expected / 2, atol=1e-5)
print(look.ir(image, 2.0))

# The cheapest call: tensors in, and a tensor to write to.
pixel = fp.Tensor.from_numpy(device, image[0, 0], m.float3)
result = fp.Tensor.empty(device, (), m.float3)
pixel_tonemap = m.tonemap.declare(m.float3)
pixel_tonemap(pixel, 2, 0.5, _result=result)
start = time.perf_counter()
for _ in range(1000):
    pixel_tonemap(pixel, 2, 0.5, _result=result)
device.wait()
print(f"{(time.perf_counter() - start) * 1e3:.1f} µs a call of one pixel")
assert np.allclose(result.to_numpy(), expected[0, 0], atol=1e-5)
