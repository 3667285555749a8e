"""Existing kernels: a compute entry point, buffers bound by name, and filling a texture three ways."""

import numpy as np
import slangpy as spy

import fusepy as fp

SOURCE = """
RWTexture2D<float4> target;
uniform float3 color;

[shader("compute")]
[numthreads(16, 16, 1)]
void main(uint3 tid: SV_DispatchThreadID)
{
    uint2 dim;
    target.GetDimensions(dim.x, dim.y);
    if (any(tid.xy >= dim))
        return;
    target[tid.xy] = float4(color, 1);
}

float add(float a, float b) { return a + b; }

[numthreads(128, 1, 1)]
void addBuffer(StructuredBuffer<float> a, StructuredBuffer<float> b, RWStructuredBuffer<float> res, int i: SV_DispatchThreadID)
{
    res[i] = add(a[i], b[i]);
}

void fill(int2 pixel, float3 with) { target[pixel] = float4(with, 1); }
"""
m = fp.Module.load_from_source(fp.default_device(), "raw_example", SOURCE)
dev = m.device

# Buffers are Tensors: a structured buffer gets a copy of its size, a pointer the memory itself.
a, b = np.random.default_rng(0).random((2, 1024), np.float32)
result = fp.Tensor.zeros(dev, 1024)
m.addBuffer.dispatch(1024, a=fp.Tensor.from_numpy(dev, a), b=fp.Tensor.from_numpy(dev, b), res=result)
assert np.array_equal(result.to_numpy(), a + b)
assert np.array_equal(m.add(a, b), a + b)  # the same without a kernel of one's own
print("addBuffer:", result.to_numpy()[:3])

# A texture is a global here. It is made with slangpy; sgl is the device underneath.
usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
texture = dev.sgl.create_texture(width=40, height=20, format=spy.Format.rgba32_float, usage=usage)
m.main.set(color=[1, 0, 0], target=texture).threads(texture.width, texture.height).call()
dev.wait()
assert (texture.to_numpy() == [1, 0, 0, 1]).all()
print("main:", texture.to_numpy()[0, 0])

# A function needs no kernel around it: every pixel of a grid, or just a few.
paint = m.fill.set(target=texture)
paint(fp.grid((20, 40)), np.array([0, 1, 0], np.float32))
paint(fp.vcast(np.array([[3, 4], [5, 6]], np.int32), m.int2), np.array([0, 0, 1], np.float32))
dev.wait()
image = texture.to_numpy()
assert (image[4, 3] == [0, 0, 1, 1]).all()
assert (image[..., 1].sum(), image[..., 2].sum()) == (798, 2)
print("fill:", image[0, 0], "and", image[4, 3])
