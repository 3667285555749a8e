"""A buffer that every thread may read anywhere: a picture passed as a pointer, sampled and tone mapped in one kernel."""

import numpy as np

import fusepy as fp

SOURCE = """
float3 sample_picture(float3* texels, int2 size, float2 uv)
{
    float2 place = uv * size - 0.5;
    int2 corner = int2(floor(place));
    float2 t = place - corner;
    int2 a = clamp(corner, 0, size - 1), b = clamp(corner + 1, 0, size - 1);
    float3 top = lerp(texels[a.y * size.x + a.x], texels[a.y * size.x + b.x], t.x);
    float3 bottom = lerp(texels[b.y * size.x + a.x], texels[b.y * size.x + b.x], t.x);
    return lerp(top, bottom, t.y);
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
def tone_map_sample(texels, size, uv):
    return m.tone_map(m.sample_picture(texels, size, uv), 1, 0.5)


height, width = 48, 64
y, x = np.mgrid[:height, :width].astype(np.float32)
picture = np.stack([x / width, y / height, 0.5 + 0.5 * np.sin(x / 5)], axis=-1)
texels = fp.Tensor.from_numpy(m.device, picture, m.float3)
uv = np.random.default_rng(1).random((100_000, 2), dtype=np.float32)

# The parameter is a pointer, so the tensor goes in whole; the coordinates are what the call runs over.
found = tone_map_sample(texels, [width, height], uv)
print(fp.resolve(m.sample_picture, texels, [width, height], uv))
print(found.shape, found.dtype, f"{tone_map_sample.explain(texels, [width, height], uv).kernels} kernel")

place = uv * [width, height] - 0.5
corner = np.floor(place).astype(int)
(ax, ay), (bx, by) = (np.clip(corner + k, 0, [width - 1, height - 1]).T for k in (0, 1))
tx, ty = (place - corner).T[..., None]
top, bottom = picture[ay, ax] * (1 - tx) + picture[ay, bx] * tx, picture[by, ax] * (1 - tx) + picture[by, bx] * tx
color = top * (1 - ty) + bottom * ty
film = np.clip(color * (2.51 * color + 0.03) / (color * (2.43 * color + 0.59) + 0.14), 0, 1)
grey = film @ np.array([0.2126, 0.7152, 0.0722])
assert np.allclose(found.to_numpy(), 0.5 * (grey[:, None] + film), atol=1e-4)
