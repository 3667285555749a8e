"""Pose and texture of a mesh are recovered from pictures, by gradients through rasterisation, shading and antialiased edges.

python examples/30_recovered.py film.jpg loss.png    # one view at some steps, and the original; the loss
"""

import sys
from pathlib import Path

import numpy as np
import photograph
import waved_ring

import fusepy as fp

m = fp.Module.load_from_file(fp.default_device(), Path(__file__).with_name("recovered.slang"))
drawing = len(sys.argv) > 2
SIZE, TEXELS, STEPS, VIEWS = (192, 32, 600, 8) if drawing else (32, 8, 200, 3)
vertices, normals, shape, coordinates, skin = waved_ring.ring()
across = fp.opposite_corners(shape)


@fp.fuse
def picture(mesh, view):
    positions = m.placed(vertices, mesh["turn"], mesh["shift"], view)
    fragments = fp.rasterize(positions, shape, (SIZE, SIZE))
    facing, uv = fp.interpolate(normals, fragments, shape), fp.interpolate(coordinates, fragments, skin)
    colours = m.shaded(fragments, facing, uv, mesh["texture"], mesh["turn"])
    return fp.antialias(colours, fragments, positions, shape, across)


def distance(mesh, view, wanted):
    apart = picture(mesh, view) - fp.vcast(wanted, "float3")
    return fp.mean(fp.dot(apart, apart))


y, x = np.mgrid[:TEXELS, :TEXELS] / TEXELS
painted = np.stack([0.55 + 0.4 * np.sin(2 * np.pi * (2 * x + y + k / 3)) for k in range(3)], -1).astype(np.float32)
truth = {"turn": np.float32([0.4, -0.3, 0.25]), "shift": np.float32([0.12, -0.1, 0.15]), "texture": painted}
views = [waved_ring.camera(2 * np.pi * k / VIEWS) for k in range(VIEWS)]
wanted = [np.asarray(picture(truth, view)) for view in views]

start = {"turn": np.float32([0.05, 0, 0]), "shift": np.zeros(3, np.float32), "texture": np.full_like(painted, 0.4)}
mesh, losses, film = fp.nn.parameters(start), [], []
step = fp.training_step(distance, fp.nn.Adam(lr=lambda n: 0.03 * 0.03 ** (n / STEPS)))
random = np.random.default_rng(0)
for n in photograph.bar(range(STEPS), "recovering"):
    if drawing and n in (0, 20, 80, 200):
        film.append(np.asarray(picture(mesh, views[0])))
    k = random.integers(VIEWS)
    losses.append(float(step(mesh, views[k], wanted[k])))
first, last = (np.mean([float(fp.fuse(distance)(t, v, w)) for v, w in zip(views, wanted)]) for t in (start, mesh))
print(f"kernels of a step: {step.explain(mesh, views[0], wanted[0]).kernels}; loss: {first:.4f}, at the end {last:.5f}")
for name in ("turn", "shift"):
    print(f"{name}: {mesh[name].to_numpy().round(3)!s}, in truth {truth[name]!s}")
assert last < (0.02 if drawing else 0.3) * first
if drawing:
    assert np.abs(mesh["turn"].to_numpy() - truth["turn"]).max() < 0.02
    photograph.write(sys.argv[1], *film, np.asarray(picture(mesh, views[0])), wanted[0])
    photograph.plot(sys.argv[2], losses)
