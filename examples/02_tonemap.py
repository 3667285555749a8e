"""A chain of Slang functions, composed in Python and run as one kernel."""

import numpy as np

import fusepy as fp

SOURCE = """
float3 exposure(float3 color, float stops) { return color * exp2(stops); }

// Reinhard et al., "Photographic Tone Reproduction for Digital Images", 2002, equation 4, on each channel
float3 tonemap(float3 color, float white) { return color * (1 + color / (white * white)) / (1 + color); }

// with Rec. 709 luminance
float3 saturation(float3 color, float amount)
{
    float grey = dot(color, float3(0.2126, 0.7152, 0.0722));
    return lerp(float3(grey), color, amount);
}
"""
device = fp.default_device()
m = fp.Module.load_from_source(device, "tonemap_example", SOURCE)


@fp.fuse
def look(color, stops, white):
    light = m.exposure(color, stops)
    film = m.saturation(m.tonemap(light, white), 1.2)
    return fp.saturate(film) ** (1 / 2.2), film.x  # operators and fusepy's functions are part of the kernel


image = np.random.default_rng(1).exponential(0.5, (480, 640, 3)).astype(np.float32)
picture, red = look(fp.Tensor.from_numpy(device, image, m.float3), 0.5, 4.0)

print(look.ir(image, 0.5, 4.0))
print(look.explain(image, 0.5, 4.0))
assert look.explain(image, 0.5, 4.0).kernels == 1

# Another exposure is another number in the same kernel.
compiled = fp.stats().kernels_compiled
for stops in (-1.0, 0.0, 1.0):
    brighter, _ = look(fp.Tensor.from_numpy(device, image, m.float3), stops, 4.0)
    print(f"{stops:+.0f} stops: mean {brighter.to_numpy().mean():.3f}")
assert fp.stats().kernels_compiled == compiled

light = image * np.float32(2**0.5)
film = light * (1 + light / 16) / (1 + light)
grey = film @ np.array([0.2126, 0.7152, 0.0722], np.float32)
film = grey[..., None] + 1.2 * (film - grey[..., None])
assert np.allclose(red.to_numpy(), film[..., 0], atol=1e-5)
assert np.allclose(picture.to_numpy(), np.clip(film, 0, 1) ** (1 / 2.2), atol=1e-4)
