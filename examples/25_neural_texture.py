"""A network learns a photograph: a hash grid of the coordinates, and a small MLP behind it.

python examples/25_neural_texture.py picture.png loss.png    # every second pixel, 1500 steps; before and after; the loss
"""

import sys

import numpy as np
import photograph

import fusepy as fp

drawing = len(sys.argv) > 1
STEPS, EVERY = (1500, 2) if drawing else (100, 6)

wanted = np.sqrt(photograph.read()[::EVERY, ::EVERY])  # brighter, so that shadows count
HEIGHT, WIDTH = wanted.shape[:2]
grid = fp.nn.HashGrid(levels=7, features=2, log2_size=11 if drawing else 10, base=6, growth=1.6)
net = fp.nn.MLP(grid.width, 32, 3, activation="relu", output="sigmoid")
params = {"grid": grid.parameters(), "net": net.parameters()}


def texture(p, x):
    return net(p["net"], grid(p["grid"], x))


def distance(p, x, wanted):
    return fp.mean((texture(p, x) - wanted) ** 2)


def drawn():
    return np.asarray(texture(params, points)).reshape(HEIGHT, WIDTH, 3)


down, across = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32) + 0.5
points = np.stack([across / WIDTH, down / WIDTH], -1).reshape(-1, 2)
first = drawn()
step = fp.training_step(distance, fp.nn.Adam(lr=lambda n: 0.02 * 0.1 ** (n / STEPS)))
data = [fp.Tensor.from_numpy(fp.default_device(), v) for v in (points, wanted.reshape(-1, 3))]
losses = [float(step(params, *data)) for _ in photograph.bar(range(STEPS), "training")]
trained = sum(int(np.prod(v.shape)) for v in fp.nn.named(params).values())
print(f"kernels of a step: {step.explain(params, *data).kernels}\ntrained: {trained} numbers")
print(f"loss: {losses[0]:.5f}, after {STEPS} steps {losses[-1]:.5f}")
assert losses[-1] < (0.001 if drawing else 0.003)
if drawing:
    photograph.write(sys.argv[1], first**2, drawn() ** 2, wanted**2)
if len(sys.argv) > 2:
    photograph.plot(sys.argv[2], losses)
