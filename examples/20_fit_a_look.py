"""A look is learned from one picture of it: exposure, white balance, contrast and saturation, fitted by gradients.

python examples/20_fit_a_look.py picture.png loss.png    # also writes the photograph, what was learned, and the look; the loss
"""

import sys

import numpy as np
import photograph

import fusepy as fp

SOURCE = """
struct Look : IDifferentiable { float3 gain; float3 lift; float contrast; float saturation; };

[Differentiable] float3 graded(float3 c, Look look)
{
    c = c * look.gain + look.lift;
    c = 0.18 * pow(max(c, 1e-4) / 0.18, look.contrast);
    return lerp(float3(dot(c, float3(0.2126, 0.7152, 0.0722))), c, look.saturation);
}
"""
m = fp.Module.load_from_source(fp.default_device(), "look_example", SOURCE)


def distance(look, picture, wanted):
    apart = m.graded(picture, look) - fp.vcast(wanted, "float3")
    return fp.mean(fp.dot(apart, apart))


def evening(picture):
    """The look: warm lights, blue shadows, more contrast. It is no `graded` picture, so that the fit is not exact."""
    light = picture @ np.float32([0.2126, 0.7152, 0.0722])
    warm = light[..., None] / (light[..., None] + 0.25)
    tint = warm * np.float32([1.25, 0.95, 0.65]) + (1 - warm) * np.float32([0.7, 0.85, 1.2])
    return (1.3 * (picture * tint) ** 1.15).astype(np.float32)


picture = photograph.read()
wanted = evening(picture)
look = fp.nn.parameters({"gain": np.ones(3), "lift": np.zeros(3), "contrast": 1.0, "saturation": 1.0})
step = fp.training_step(distance, fp.nn.Adam(lr=lambda n: 0.03 if n < 150 else 0.01))
images = [fp.Tensor.from_numpy(fp.default_device(), x) for x in (picture, wanted)]
losses = [float(step(look, *images)) for _ in photograph.bar(range(250), "training")]
print(f"kernels of a step: {step.explain(look, *images).kernels}")
for name, value in fp.nn.named(look).items():
    print(f"{name}: {value.to_numpy().round(3)!s}")
print(f"loss: {losses[0]:.5f}, after 250 steps {losses[-1]:.5f}")
assert losses[-1] < 0.15 * losses[0]
if len(sys.argv) > 1:
    photograph.write(sys.argv[1], picture, m.graded(picture, look, _result="numpy"), wanted)
if len(sys.argv) > 2:
    photograph.plot(sys.argv[2], losses)
