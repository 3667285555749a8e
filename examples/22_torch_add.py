"""A Slang function in torch's autograd: the gradients of an addition, then a line that is fitted by an optimiser of torch.

python examples/22_torch_add.py
"""

import sys

import numpy as np

import fusepy as fp

try:
    import torch
except ImportError:
    sys.exit("this example needs torch: pip install torch")

m = fp.Module.load_from_source(fp.default_device(), "torch_add", "[Differentiable] float add(float a, float b) { return a + b; }")
Add = m.add.torch()

a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
result = Add(a, 10)
result.sum().backward()
print("a + 10 =", result.tolist())
print("gradient:", a.grad.tolist())
assert np.array_equal(a.grad.numpy(), np.ones(3))


@fp.fuse
def loss(p, x, y):
    e = m.add(p["slope"] * x, p["offset"]) - y
    return fp.mean(e * e)


x = torch.linspace(0, 1, 100)
y = 3 * x - 1
params = {"slope": torch.zeros((), requires_grad=True), "offset": torch.zeros((), requires_grad=True)}
optimiser = torch.optim.Adam(params.values(), lr=0.1)
for _ in range(200):
    optimiser.zero_grad()
    value = loss(params, x, y)
    value.backward()
    optimiser.step()
print("loss", value.item(), {name: round(p.item(), 2) for name, p in params.items()})
assert value.item() < 1e-4
