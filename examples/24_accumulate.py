"""Many calls, one value: the accumulators of `out` parameters, of returned values and of gradients.

python examples/24_accumulate.py
"""

import numpy as np

import fusepy as fp

SOURCE = """
void scale(float3 v, out float3 result) { result = v * 10; }
[Differentiable] float energy(float mass, float speed) { return 0.5 * mass * speed * speed; }
"""
m = fp.Module.load_from_source(fp.default_device(), "accumulate", SOURCE)
NUMPY = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "first": lambda v, axis: v[0], "push": lambda v, axis: v}

# three calls of `scale`, one `out` value
v = np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
result = np.zeros(3, np.float32)
try:
    m.scale(v, result)
except fp.ShapeError as error:
    print("without an accumulator:", str(error).splitlines()[-1].strip())
else:
    raise AssertionError("three calls have written to one value")
for kind, meaning in NUMPY.items():
    found = m.scale.accumulate(result=kind)(v)
    print(f"{kind:5}", np.asarray(found).tolist())
    assert np.array_equal(found, meaning(10 * v, axis=0))
m.scale.accumulate(result="sum")(v, result)  # also into an array that is there
assert result.tolist() == [120, 150, 180]

# the same of gradients: one per speed by itself, and one for all of them with an accumulator
speeds = fp.Tensor([1, 2, 4], needs_grads=True)
m.energy.bwds(3.0, speeds)
print("gradient", speeds.grad.tolist())
assert speeds.grad.tolist() == [3, 6, 12]
for kind, meaning in NUMPY.items():
    speeds = fp.Tensor([1, 2, 4], needs_grads=True)
    m.energy.bwds.accumulate({"speed.grad": kind})(3.0, speeds)
    print(f"{kind:5}", np.asarray(speeds.grad).tolist())
    assert np.allclose(speeds.grad, meaning(np.float32([3, 6, 12]), axis=0))

# or said on the tensor: `mass` is one number, and its gradients are all kept
mass = fp.differentiable(3.0)
mass.accumulator = "push"
m.energy.bwds(mass, [1.0, 2.0, 4.0])
print("push ", mass.grad.tolist())
assert mass.grad.tolist() == [0.5, 2, 8]
