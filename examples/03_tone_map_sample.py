"""A texture sampled on a uv grid and tone mapped, in one kernel; and read texel by texel, with the result in a texture."""

import numpy as np
import slangpy as spy

import fusepy as fp

SOURCE = """
float3 sample_texture(Texture2D<float3> image, SamplerState sampler, float2 uv) { return image.SampleLevel(sampler, uv, 0); }
float2 swirl(int2 pixel, float2 size, float turn)
{
    float2 place = (pixel + 0.5) / size - 0.5;
    float angle = turn * (1 - 2 * length(place)), s = sin(angle), c = cos(angle);
    return float2(c * place.x - s * place.y, s * place.x + c * place.y) + 0.5;
}

// K. Narkowicz, "ACES Filmic Tone Mapping Curve", 2015, blended with the colour as it was
float3 tone_map(float3 color, float filmic, float saturation)
{
    float3 film = saturate(color * (2.51 * color + 0.03) / (color * (2.43 * color + 0.59) + 0.14));
    float3 mapped = lerp(color, film, filmic);
    return lerp(float3(dot(mapped, float3(0.2126, 0.7152, 0.0722))), mapped, saturation);
}
"""
m = fp.Module.load_from_source(fp.default_device(), "sample_example", SOURCE)


@fp.fuse
def tone_map_sample(image, sampler, pixel, size, turn):
    return m.tone_map(m.sample_texture(image, sampler, m.swirl(pixel, size, turn)), 1, 0.5)


height, width = 192, 256
y, x = np.mgrid[:height, :width].astype(np.float32)
rings = 0.5 + 0.5 * np.sin(np.hypot(x - 128, y - 96) / 6)
picture = np.stack([2 * x / width, rings, 1.5 * y / height, np.ones_like(x)], axis=-1).astype(np.float32)

device = m.device.sgl  # textures and samplers are slangpy's own
usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
texture = device.create_texture(format=spy.Format.rgba32_float, width=width, height=height, usage=usage, data=picture)
mirror = spy.TextureAddressingMode.mirror_repeat
sampler = device.create_sampler(address_u=mirror, address_v=mirror)

pixels = fp.grid((height, width))
swirled = tone_map_sample(texture, sampler, pixels, [width, height], 3.0)
print(swirled.shape, swirled.dtype, tone_map_sample.explain(texture, sampler, pixels, [width, height], 3.0).kernels, "kernel")

# Where a parameter is a colour and no texture, each thread gets one texel; the result can be a texture as well.
mapped = m.tone_map(fp.vcast(texture, m.float3), 1, 0.5, _result="texture")
print(fp.resolve(m.tone_map, fp.vcast(texture, m.float3), 1, 0.5))

color = picture[..., :3]
film = np.clip(color * (2.51 * color + 0.03) / (color * (2.43 * color + 0.59) + 0.14), 0, 1)
expected = 0.5 * ((film @ np.array([0.2126, 0.7152, 0.0722]))[..., None] + film)
assert np.allclose(mapped.to_numpy()[..., :3], expected, atol=1e-4)
straight = tone_map_sample(texture, sampler, pixels, [width, height], 0.0)
assert np.allclose(straight.to_numpy(), expected, atol=1e-2)
