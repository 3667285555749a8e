"""Reading neighbours: a blur over a picture that every thread sees whole, beside coordinates that the call runs over."""

import numpy as np

import fusepy as fp

SOURCE = """
import fusepy;

float3 blur(int2 pixel, Tensor<float3,2> picture, Tensor<float,1> weights)
{
    int2 last = int2(picture.shape[1], picture.shape[0]) - 1;
    int reach = int(weights.shape[0]) / 2;
    float3 sum = 0;
    for (int y = -reach; y <= reach; ++y)
    {
        for (int x = -reach; x <= reach; ++x)
            sum += picture[clamp(pixel + int2(x, y), 0, last)] * weights[y + reach] * weights[x + reach];
    }
    return sum;
}

float2 sample(int position, Tensor<float2,1> source) { return source[position]; }

// any array that can be written: fusepy chooses which
void stripe<A : IWTensor<float3,2>>(int2 pixel, A picture) { picture[pixel] = float3(1, 0, 0); }
"""
m = fp.Module.load_from_source(fp.default_device(), "blur_example", SOURCE)

height, width = 48, 64
y, x = np.mgrid[:height, :width].astype(np.float32)
picture = np.stack([x / width, y / height, ((x // 8 + y // 8) % 2)], axis=-1).astype(np.float32)
weights = [0.0625, 0.25, 0.375, 0.25, 0.0625]

# The picture is (48, 64, 3) floats: float3 takes in the last axis. Lists, arrays and tensors of any strides will do.
soft = m.blur(fp.grid((height, width)), picture, weights, _result="numpy")
print(fp.resolve(m.blur, fp.grid((height, width)), picture, weights))

wide = np.pad(picture, ((2, 2), (2, 2), (0, 0)), mode="edge")
rows = sum(w * wide[i : i + height] for i, w in enumerate(weights))
assert np.allclose(soft, sum(w * rows[:, i : i + width] for i, w in enumerate(weights)), atol=1e-5)

points = m.sample([4, 0, 0, 5], np.arange(12, dtype=np.float32).reshape(6, 2))
print(points.tolist())
assert points.tolist() == [[8, 9], [0, 1], [0, 1], [10, 11]]

# What is written goes where it was passed, here every fourth row of a tensor, from the bottom up.
tensor = fp.Tensor.from_numpy(m.device, picture)
m.stripe(fp.grid((12, width)), tensor[::-4])
print(tensor.to_numpy()[::-1][:5, 0].tolist())
assert (tensor.to_numpy()[::-4] == [1, 0, 0]).all()
