"""Buffers of a Slang struct: filled with NumPy and element by element, passed to functions, read back by field."""

import numpy as np

import fusepy as fp

SOURCE = """
struct Pixel
{
    float r;
    float g;
    float b;
};

Pixel add(Pixel a, Pixel b) { return { a.r + b.r, a.g + b.g, a.b + b.b }; }
Pixel mix(Pixel a, Pixel b, float t) { return { lerp(a.r, b.r, t), lerp(a.g, b.g, t), lerp(a.b, b.b, t) }; }
float luma(Pixel p) { return 0.2126 * p.r + 0.7152 * p.g + 0.0722 * p.b; }
void invert(inout Pixel p) { p = { 1 - p.r, 1 - p.g, 1 - p.b }; }
"""
m = fp.Module.load_from_source(fp.default_device(), "pixels_example", SOURCE)
image_1 = fp.NDBuffer(m.device, dtype=m.Pixel, shape=(16, 16))
image_2 = fp.NDBuffer(m.device, dtype=m.Pixel, shape=(16, 16))

# By a cursor, pixel by pixel: what is written is kept until apply().
cursor = image_1.cursor()
for y in range(16):
    for x in range(16):
        cursor[x + y * 16].write({"r": (x + y) / 32, "g": 0, "b": 0})
cursor.apply()

# By NumPy: plain numbers fill the structs in order, and the dtype of the struct has its fields.
noise = 0.1 * np.random.default_rng(1).random(16 * 16 * 3).astype(np.float32)
image_2.from_numpy(noise)
print(m.Pixel.dtype)

result = m.add(image_1, image_2)
print(result.dtype, result.shape, "first pixel", result.cursor()[0].read())
y, x = np.mgrid[:16, :16]
rgb = noise.reshape(16, 16, 3) + np.stack([(x + y) / 32, 0 * x, 0 * x], axis=-1)
assert np.allclose(result.to_numpy()["r"], rgb[..., 0], atol=1e-6)
assert np.allclose(result.to_numpy()["b"], rgb[..., 2], atol=1e-6)

# A struct goes wherever its function does: written to, written back, broadcast, fused into one kernel.
m.add(image_1, image_2, _result=image_2)
m.invert(image_1)
white = {"r": 1.0, "g": 1.0, "b": 1.0}  # one value for all pixels
fade = fp.fuse(lambda a, b, t: m.luma(m.mix(m.mix(a, b, t), white, 0.5)))
faded = fade(image_1, image_2, np.linspace(0, 1, 16, dtype=np.float32))  # another t for each column
inverted = 1 - np.stack([(x + y) / 32, 0 * x, 0 * x], axis=-1)
mixed = inverted + (rgb - inverted) * np.linspace(0, 1, 16)[:, None]
assert np.allclose(faded.to_numpy(), (0.5 * mixed + 0.5) @ [0.2126, 0.7152, 0.0722], atol=1e-5)
print("\n".join("".join(" .:-=+*#%@"[int(v * 9.99)] for v in row) for row in faded.to_numpy()))
