"""The scene of 29_ray_pipeline.py: a knot of metal on a tiled floor, among balls of glass and lacquer."""

import numpy as np

import fusepy as fp

# place, radius, colour and roughness of the balls; a roughness below 0 is glass
BALLS = [
    ((-2.6, 0.8, 0.6), 0.8, (0.96, 0.99, 0.97, -1)),
    ((2.5, 0.62, 1.3), 0.62, (0.62, 0.04, 0.05, 0.02)),
    ((1.5, 0.36, 2.4), 0.36, (0.02, 0.16, 0.42, 0.02)),
    ((-1.3, 0.42, 2.3), 0.42, (0.85, 0.52, 0.06, 0.02)),
    ((3.6, 1.05, -2.2), 1.05, (0.05, 0.22, 0.10, 0.05)),
    ((0.25, 0.3, 2.9), 0.3, (0.95, 0.98, 1.0, -1)),
]
COPPER = (0.95, 0.60, 0.38, 0.06)
SUN = np.array([-0.62, 0.34, -0.71]) / np.linalg.norm([-0.62, 0.34, -0.71])


def line(s):
    """A trefoil knot."""
    return np.stack([np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), -np.sin(3 * s)], -1) * 0.5


def knot(around=360, about=28, thick=0.30):
    """A tube around the knot: positions, normals and triangles."""
    s, a = np.mgrid[0:around, 0:about] * np.reshape([2 * np.pi / around, 2 * np.pi / about], (2, 1, 1))
    along = line(s + 1e-3) - line(s - 1e-3)
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    side = np.cross(along, [0, 0, 1])
    side /= np.linalg.norm(side, axis=-1, keepdims=True)
    normal = np.cos(a)[..., None] * side + np.sin(a)[..., None] * np.cross(along, side)
    i, j = np.mgrid[0:around, 0:about]
    quad = [(i + di) % around * about + (j + dj) % about for di, dj in ((0, 0), (1, 0), (0, 1), (0, 1), (1, 0), (1, 1))]
    triangles = np.stack(quad, -1).reshape(-1, 3).astype(np.uint32)
    return (line(s) + thick * normal).reshape(-1, 3), normal.reshape(-1, 3).astype(np.float32), triangles


def place(at, size=1.0):
    """A transform that scales, then moves."""
    return np.concatenate([np.eye(3) * size, np.reshape(at, (3, 1))], axis=1)


def built():
    """The values of the globals of hall.slang."""
    positions, normals, triangles = knot()
    ground = fp.Mesh([[-60, 0, -60], [60, 0, -60], [-60, 0, 60], [60, 0, 60]], [[0, 2, 1], [1, 2, 3]])
    sphere = fp.Boxes([[-1, -1, -1]], [[1, 1, 1]])
    shown = [fp.Instance(ground, hit_group=0), fp.Instance(fp.Mesh(positions, triangles), place((0, 1.8, -0.4)), hit_group=1)]
    shown += [fp.Instance(sphere, place(at, size), hit_group=2) for at, size, _ in BALLS]
    paint = np.array([(0, 0, 0, 1), COPPER, *(paint for *_, paint in BALLS)], np.float32)
    return {"scene": fp.Scene(shown), "normals": normals, "corners": triangles, "paint": paint, "sun": SUN.tolist()}
