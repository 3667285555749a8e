"""The gradients of a polynomial: as values, added to tensors by `bwds`, and for a fit of its coefficients.

python examples/23_polynomial.py loss.png    # also draws the loss over the steps
"""

import sys

import numpy as np

import fusepy as fp

SOURCE = "[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }"
m = fp.Module.load_from_source(fp.default_device(), "polynomial", SOURCE)
x = np.linspace(-1, 1, 64, dtype=np.float32)

# as values: the slopes by a, b and c are sums over all x, that by x has its shape
slopes = fp.grad(m.polynomial, (0, 1, 2, 3))(2.0, 4.0, 1.0, x)
print("by a, b and c:", *(round(float(slope), 3) for slope in slopes[:3]))
for found, wanted in zip(slopes, [np.sum(x * x), np.sum(x), 64, 2 * 2 * x + 4]):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)

# added to tensors: `bwds` takes the arguments of the call, and adds to the `grad` of those that have one
a, some = fp.differentiable(3.0), fp.Tensor([2, 5], needs_grads=True)
m.polynomial.bwds(a, 0.0, 0.0, some)
print("by a:", float(a.grad), "by x:", some.grad.tolist())
assert (float(a.grad), some.grad.tolist()) == (2 * 2 + 5 * 5, [12, 30])


def distance(p, x, y):
    return fp.mean((m.polynomial(p["a"], p["b"], p["c"], x) - y) ** 2)


# a fit: loss, gradients and the new coefficients are one program
true = {"a": 2.0, "b": -0.5, "c": 0.25}
y = m.polynomial(*true.values(), x) + np.random.default_rng(0).normal(0, 0.05, x.shape).astype(np.float32)
fitted = fp.nn.parameters({"a": 0.0, "b": 0.0, "c": 0.0})
step = fp.training_step(distance, fp.nn.Adam(lr=0.1))
losses = [float(step(fitted, x, y)) for _ in range(200)]
for name, value in fitted.items():
    print(f"{name}: {float(value):.3f}, true: {true[name]}")
print(f"loss: {losses[0]:.4f}, after {len(losses)} steps {losses[-1]:.4f}; the noise alone: {0.05**2:.4f}")
assert losses[-1] < 0.003
assert np.allclose([float(v) for v in fitted.values()], np.polyfit(x, y, 2), atol=1e-3)
if len(sys.argv) > 1:
    from photograph import plot

    plot(sys.argv[1], losses)
