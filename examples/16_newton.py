"""An iterative solver at every pixel: Newton's fractal of z^3 = 1, and Kepler's equation, as loops of one kernel each.

python examples/16_newton.py picture.png    # also writes the fractal
"""

import sys

import numpy as np

import fusepy as fp

m = fp.Module.load_from_source(
    fp.default_device(),
    "newton_example",
    """
    float2 times(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
    float2 over(float2 a, float2 b) { return times(a, float2(b.x, -b.y)) / dot(b, b); }
    float3 color(float2 z, int n) { return (0.5 + 0.5 * cos(atan2(z.y, z.x) + float3(0, 4.19, 2.09))) * exp(-0.07 * n); }
    """,
)


@fp.fuse
def newton(z, most):
    """Steps until ``|z^3 - 1|`` is small: each pixel stops for itself, and a pixel that never does after `most` steps."""

    def residual(z):
        return m.times(m.times(z, z), z) - m.float2(1.0, 0.0)

    def goes_on(c):
        return (fp.length(residual(c[0])) > 1e-4) & (c[1] < most)

    z, steps = fp.while_loop(goes_on, lambda c: (c[0] - m.over(residual(c[0]), 3 * m.times(c[0], c[0])), c[1] + 1), (z, 0))
    return m.color(z, steps), steps


@fp.fuse
def kepler(mean, eccentricity):
    """The eccentric anomaly E with ``E - e sin(E) = M``, by ten steps of Newton's method."""
    e = eccentricity
    return fp.fori_loop(0, 10, lambda i, x: x - (x - e * fp.sin(x) - mean) / (1 - e * fp.cos(x)), mean + e)


y, x = np.mgrid[-1.5:1.5:480j, -2:2:640j].astype(np.float32)
plane = fp.vcast(np.stack([x, y], axis=-1), "float2")
picture, steps = newton(plane, 40)
print(newton.ir(plane, 40))
print("steps:", np.bincount(steps.ravel())[:12])
assert (steps < 40).mean() > 0.99

mean, e = np.linspace(-3, 3, 1000, dtype=np.float32), np.array([[0.0167], [0.2], [0.6]], np.float32)
anomaly = kepler(mean, e)
assert np.allclose(anomaly - e * np.sin(anomaly), mean, atol=1e-5)
if len(sys.argv) > 1:
    from PIL import Image

    Image.fromarray((np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)).save(sys.argv[1])
