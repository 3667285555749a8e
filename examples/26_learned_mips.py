"""Mip levels of a material are learned: shaded, they look like the mean of the full material; box-filtered ones shine too much.

python examples/26_learned_mips.py picture.png loss.png    # one level: the mean, box-filtered, learned; the loss
"""

import sys
from pathlib import Path

import hammered
import numpy as np
import photograph

import fusepy as fp

m = fp.Module.load_from_file(fp.default_device(), Path(__file__).with_name("metal.slang"))
drawing = len(sys.argv) > 2
SIZE, TILES, STEPS, LAMPS, LEVELS = (128, 4, 300, 48, (2, 3, 4)) if drawing else (64, 1, 60, 16, (2, 3))


@fp.fuse
def full(texels, at, lamps):
    """What a pixel of a level must show under each lamp: the mean over its texels, which are the axes 2 and 5."""
    texels, at = fp.vmap(texels, (1, 2, 4, 5)), fp.vmap(at, (0, 1, 2, 3, 4, 5))
    return m.shown(fp.mean(m.shaded(texels, at, fp.vmap(lamps, (6,))), (2, 5)))


@fp.fuse
def drawn(texels, at, lamps):
    """What the texels of a level show; the plane repeats them."""
    return m.shown(m.shaded(fp.vmap(texels, (1, 3)), fp.vmap(at, (0, 1, 2, 3)), fp.vmap(lamps, (4,))))


def distance(levels, at, lamps, wanted):
    apart = [drawn(levels[k], at[k], lamps) - fp.vcast(wanted[k], "float3") for k in levels]
    return sum(fp.mean(fp.dot(a, a)) for a in apart)


random = np.random.default_rng(0)
lamps = random.uniform([-1, -1, 0.6], [1, 1, 1.5], (LAMPS, 3)).astype(np.float32)
lamps[0] = [0.2, -0.2, 0.9]  # this one is not trained
places = np.mgrid[-1 : 1 : TILES * SIZE * 1j, -1 : 1 : TILES * SIZE * 1j][::-1].astype(np.float32)
at, wanted, boxed = {}, {}, {}
for k, n, side in ((f"level_{level}", SIZE >> level, 2**level) for level in LEVELS):
    texels = {name: v.reshape(n, side, n, side, *v.shape[2:]) for name, v in hammered.material(SIZE).items()}
    points = np.moveaxis(places.reshape(2, TILES, n, side, TILES, n, side), 0, -1)
    wanted[k], at[k] = full(texels, points, lamps), points.mean((2, 5))
    boxed[k] = {name: v.mean((1, 3)) for name, v in texels.items()}
levels, losses = fp.nn.parameters(boxed), []
step = fp.training_step(distance, fp.nn.Adam(lr=lambda n: 0.03 * 0.1 ** (n / STEPS)))
for chosen in photograph.bar([random.choice(LAMPS - 1, 8, replace=False) + 1 for _ in range(STEPS)], "training"):
    losses.append(float(step(levels, at, lamps[chosen], {k: v[..., chosen, :] for k, v in wanted.items()})))
print(f"trained: {sum(v.size for v in fp.nn.named(levels).values())} values; loss: {losses[0]:.4f}, at the end {losses[-1]:.4f}")
for k in levels:
    strip = [wanted[k][..., :1, :], *(np.asarray(drawn(t[k], at[k], lamps[:1])) for t in (boxed, levels))]
    errors = [np.mean((picture - strip[0]) ** 2) for picture in strip[1:]]
    print(f"{k}, under another lamp: box-filtered {errors[0]:.4f}, learned {errors[1]:.4f}")
    assert max(errors[1] / errors[0] / 0.7, losses[-1] / (0.06 if drawing else 0.04)) < 1
    if drawing and k == "level_3":
        photograph.write(sys.argv[1], *(np.kron(p.reshape(TILES * SIZE // 8, -1, 3), np.ones((4, 4, 1))) for p in strip))
        photograph.plot(sys.argv[2], losses)
