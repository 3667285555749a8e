"""A kind of argument of one's own: points in polar coordinates that Slang sees as float2."""

import numpy as np

import fusepy as fp
from fusepy.testing import Example, check_marshal


class Polar:
    """Points given by radius and angle, numbers or arrays."""

    def __init__(self, radius, angle):
        self.radius, self.angle = np.broadcast_arrays(np.float32(radius), np.float32(angle))


class PolarMarshal:
    returns = "numpy"  # what comes back from a call that a Polar leads

    def key(self, value):  # what decides about code, and nothing else; asked for on every call
        return ("polar", value.radius.ndim)

    def describe(self, value):  # what Slang is offered: a float2 over these axes
        return fp.Description(fp.Type.parse("float2"), (None,) * value.radius.ndim, "Tensor")

    def place(self, value, type, device):  # the way to the device
        x, y = value.radius * np.cos(value.angle), value.radius * np.sin(value.angle)
        return fp.Tensor.from_numpy(device, np.stack([x, y], axis=-1), type)

    def extents(self, value):
        return value.radius.shape


fp.register(Polar, PolarMarshal())

m = fp.Module.load_from_source(
    fp.default_device(),
    "marshal",
    "float2 middle(float2 a, float2 b) { return (a + b) / 2; } float far(float2 p) { return length(p); }",
)
circle = Polar(2.0, np.linspace(0, 2 * np.pi, 6, endpoint=False))
print(fp.resolve(m.middle, circle, Polar(0, 0)))
print(m.middle(circle, [2.0, 0.0]).round(3))
assert np.allclose(m.far(circle), 2)
assert np.allclose(fp.fuse(lambda p: m.far(m.middle(p, p)) + p.x)(circle), 2 + 2 * np.cos(circle.angle), atol=1e-5)

# What fusepy's own kinds of arguments are held to.
check_marshal(
    PolarMarshal(),
    [Example(circle, "float2", m.middle(circle, circle), like=Polar(1, [0, 1])), Example(Polar(3, 0), "float2", [3, 0])],
)
print("PolarMarshal conforms")
