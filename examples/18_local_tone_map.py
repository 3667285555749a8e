"""A separable blur and a tone map of a photograph: two kernels that read all of what the one before has computed.

python examples/18_local_tone_map.py picture.png    # also writes the photograph before and after
"""

import sys

import numpy as np
import photograph

import fusepy as fp

SOURCE = """
import fusepy;

float stops(float3 c) { return log2(dot(c, float3(0.2126, 0.7152, 0.0722)) + 0.002); }

float blur(int2 pixel, int2 along, Tensor<float,2> image, Tensor<float,1> weights)
{
    int2 last = int2(image.shape[1], image.shape[0]) - 1;
    float sum = 0;
    for (int i = 0; i < int(weights.shape[0]); ++i)
        sum += weights[i] * image[clamp(pixel + (i - int(weights.shape[0]) / 2) * along, 0, last)];
    return sum;
}

// less contrast between regions, and more within them
float3 tone_map(float3 c, float light, float base, float grey, float contrast, float detail)
{
    return c * exp2(grey + contrast * (base - grey) + detail * (light - base) - light);
}
"""
m = fp.Module.load_from_source(fp.default_device(), "local_tone_map_example", SOURCE)


@fp.fuse
def local_tone_map(picture, weights, contrast, detail):
    light = m.stops(picture)
    grey = fp.mean(light)
    rows = m.blur(fp.grid(light), m.int2(1, 0), light, weights)
    base = m.blur(fp.grid(light), m.int2(0, 1), rows, weights)
    return m.tone_map(picture, light, base, grey, contrast, detail)


picture = photograph.read()
reach = np.arange(-24, 25, dtype=np.float32)
weights = np.exp(-((reach / 10) ** 2) / 2) / 24.709  # which add up to 1
mapped = local_tone_map(picture, weights, 0.5, 1.6)
explanation = local_tone_map.explain(picture, weights, 0.5, 1.6)
print(explanation)
assert explanation.kernels == 3  # the light and its mean; rows; columns and the tone map

light = np.log2(picture @ np.array([0.2126, 0.7152, 0.0722]) + 0.002)
wide = np.pad(light, 24, mode="edge")
wide = sum(w * wide[i : i + light.shape[0]] for i, w in enumerate(weights))
base = sum(w * wide[:, i : i + light.shape[1]] for i, w in enumerate(weights))
expected = picture * np.exp2(light.mean() + 0.5 * (base - light.mean()) + 1.6 * (light - base) - light)[..., None]
assert np.allclose(mapped, expected, rtol=1e-3, atol=1e-5)
if len(sys.argv) > 1:
    photograph.write(sys.argv[1], picture, mapped)
