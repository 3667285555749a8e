"""Gaussian splats learn a photograph: places, sizes, angles and colours of ellipses, all trained at once.

python examples/21_gaussian_splats.py picture.png loss.png    # 320 splats in place of 96, in a minute; before and after; the loss
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
CELL, COUNT, STEPS = (3, 320, 500) if len(sys.argv) > 1 else (6, 96, 40)
HEIGHT, WIDTH = 300 // CELL, 450 // CELL


def drawn(splats, pixels):
    """The weighted mean of all splats at each pixel: a sum over the third dimension of the grid."""
    near = {name: fp.vmap(value, (2,)) for name, value in splats.items()}
    total = fp.sum(m.seen(fp.vmap(fp.vcast(pixels, "float2"), (0, 1)), near), 2)
    return total.xyz / (total.w + 1e-4)


def distance(splats, pixels, wanted):
    apart = drawn(splats, pixels) - fp.vcast(wanted, "float3")
    return fp.mean(fp.dot(apart, apart))


whole = photograph.read()[:300, :450]
wanted = np.sqrt(whole.reshape(HEIGHT, CELL, WIDTH, CELL, 3).mean((1, 3)))  # small, and brighter, so that shadows count
pixels = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT)), -1).astype(np.float32)
random = np.random.default_rng(1)
detail = np.hypot(*np.gradient(wanted.mean(2))) + 0.01  # more splats where neighbours differ more
chosen = random.choice(HEIGHT * WIDTH, COUNT, replace=False, p=(detail / detail.sum()).ravel())
start = {"at": pixels.reshape(-1, 2)[chosen], "size": np.full((COUNT, 2), np.log(3)), "angle": random.random(COUNT)}
splats = fp.nn.parameters({**start, "colour": wanted.reshape(-1, 3)[chosen]})
fine = np.stack(np.meshgrid(np.arange(450), np.arange(300)), -1).astype(np.float32) / CELL - (CELL - 1) / 2 / CELL
first = fp.fuse(drawn)(splats, fine, _result="numpy")  # the splats can be drawn in any size
step = fp.training_step(distance, fp.nn.Adam(lr=lambda n: 0.1 * 0.996**n))
images = [fp.Tensor.from_numpy(fp.default_device(), v.astype(np.float32)) for v in (pixels, wanted)]
losses = [float(step(splats, *images)) for _ in photograph.bar(range(STEPS), "training")]
print(f"kernels of a step: {step.explain(splats, *images).kernels}\ntrained: {sum(v.size for v in splats.values())} numbers")
print(f"loss: {losses[0]:.5f}, after {len(losses)} steps {losses[-1]:.5f}")
assert losses[-1] < 0.5 * losses[0]
if len(sys.argv) > 2:
    last = fp.fuse(drawn)(splats, fine, _result="numpy")
    photograph.write(sys.argv[1], first**2, last**2, np.kron(wanted, np.ones((CELL, CELL, 1))) ** 2)
    photograph.plot(sys.argv[2], losses)
