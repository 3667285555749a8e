"""Gaussian splats learn a photograph: places, sizes, angles and colours of 96 ellipses, all trained at once.

python examples/21_gaussian_splats.py picture.png 600    # more steps; also writes the splats before and after
"""

import sys

import numpy as np
import photograph

import fusepy as fp

SOURCE = """
struct Splat : IDifferentiable { float2 at; float2 size; float angle; float3 colour; };

// colour and weight of a splat at a pixel; sizes are logarithms
[Differentiable] float4 seen(no_diff float2 pixel, Splat s)
{
    float2 d = pixel - s.at, r = float2(cos(s.angle), sin(s.angle));
    float2 q = float2(dot(r, d), r.x * d.y - r.y * d.x) * exp(-s.size);
    return float4(s.colour, 1) * exp(-0.5 * dot(q, q));
}
"""
m = fp.Module.load_from_source(fp.default_device(), "splats_example", SOURCE)
HEIGHT, WIDTH, COUNT = 50, 75, 96


def drawn(splats, pixels):
    """The weighted mean of all splats at each pixel: a sum over the third dimension of the grid."""
    near = {name: fp.vmap(value, (2,)) for name, value in splats.items()}
    total = fp.sum(m.seen(fp.vmap(fp.vcast(pixels, "float2"), (0, 1)), near), 2)
    return total.xyz / (total.w + 1e-4)


def distance(splats, pixels, wanted):
    apart = drawn(splats, pixels) - fp.vcast(wanted, "float3")
    return fp.mean(fp.dot(apart, apart))


whole = photograph.read()[:300, :450]
wanted = np.sqrt(whole.reshape(HEIGHT, 6, WIDTH, 6, 3).mean((1, 3)))  # small, and brighter, so that shadows count
y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
pixels = np.stack([x, y], -1)
random = np.random.default_rng(1)
at = random.random((COUNT, 2)).astype(np.float32) * [WIDTH, HEIGHT]
colour = wanted[at[:, 1].astype(int), at[:, 0].astype(int)]
start = {"at": at, "size": np.full((COUNT, 2), np.log(4)), "angle": random.random(COUNT), "colour": colour}
splats = fp.nn.parameters(start)
fy, fx = np.mgrid[:300, :450].astype(np.float32) / 6 - 5 / 12
fine = np.stack([fx, fy], -1)  # the splats can be drawn in any size
first = fp.fuse(drawn)(splats, fine, _result="numpy")
step = fp.training_step(distance, fp.nn.Adam(lr=lambda n: 0.1 * 0.997**n))
images = [fp.Tensor.from_numpy(fp.default_device(), v.astype(np.float32)) for v in (pixels, wanted)]
losses = [float(step(splats, *images)) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 40)]
print(f"kernels of a step: {step.explain(splats, *images).kernels}\ntrained: {sum(v.size for v in start.values())} numbers")
print(f"loss: {losses[0]:.5f}, after {len(losses)} steps {losses[-1]:.5f}")
assert losses[-1] < 0.5 * losses[0]
if len(sys.argv) > 1:
    last = fp.fuse(drawn)(splats, fine, _result="numpy")
    photograph.write(sys.argv[1], first**2, last**2, np.kron(wanted, np.ones((6, 6, 1))) ** 2)
