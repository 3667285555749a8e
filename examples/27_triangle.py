"""The graphics pipeline as a call: state is options, vertex and index buffers are arguments, what is left is uniforms.

python examples/27_triangle.py picture.png    # also writes what it drew
"""

import sys

import numpy as np

import fusepy as fp

m = fp.Module.load_from_source(
    fp.default_device(),
    "triangle",
    """
struct Corner { float4 position : SV_Position; float3 colour : COLOR; };

[shader("vertex")]
Corner vs(float2 position : POSITION, float3 colour : COLOR, uniform float turn)
{
    float2 x = float2(cos(turn), sin(turn));
    return { float4(position.x * x.x - position.y * x.y, position.x * x.y + position.y * x.x, 0, 1), colour };
}

[shader("fragment")]
float4 fs(Corner c) : SV_Target { return float4(c.colour, 1); }
""",
)
triangle = fp.raster(m, vertex="vs", fragment="fs").options(cull="back", samples=4, clear=(0.02, 0.02, 0.03))
vertices = {
    "position": np.float32([[-0.8, -0.65], [0.8, -0.65], [0, 0.85]]),
    "colour": np.float32([[1, 0.1, 0.05], [0.05, 0.9, 0.2], [0.1, 0.2, 1]]),
}
indices = [[0, 1, 2]]
picture = triangle(vertices, indices, targets=(480, 640), turn=0.1)
print(type(picture).__name__, picture.shape, picture.dtype)

# The middle of the triangle has the mean of the colours of its corners; seen from behind there is none.
assert np.allclose(
    picture[(picture.shape[0] * 3) // 5, picture.shape[1] // 2, :3].sum(), vertices["colour"].sum(1).mean(), atol=0.2
)
assert not (triangle.options(clear=0)(vertices, [[2, 1, 0]], targets=(48, 64), turn=0.1) > 0).any()


@fp.fuse
def faded(vertices, turn):
    """What follows on the same grid is one compute kernel behind the draw."""
    light = triangle(vertices, indices, targets=(480, 640), turn=turn).xyz
    return fp.clip(light, 0.0, 1.0) ** (1 / 2.2)


encoded = faded(vertices, 0.1)
print(faded.explain(vertices, 0.1).kernels, "kernels;", "colours from", encoded.min().round(2), "to", encoded.max().round(2))
print("\n".join("".join(" .:-=+*#%@"[min(int(v * 4), 9)] for v in row) for row in encoded.sum(-1)[::32, ::14]))
if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray((encoded * 255 + 0.5).astype(np.uint8)).save(sys.argv[1])
