"""A ring with waves, thick on one side, with texture coordinates; and cameras around it."""

import numpy as np


def ring(n=48, k=24):
    """Vertices, normals and triangles; then texture coordinates, which have seams, and their triangles."""
    u, v = np.meshgrid(np.arange(n + 1) / n * 2 * np.pi, np.arange(k + 1) / k * 2 * np.pi, indexing="ij")
    thick = 0.32 + 0.14 * np.cos(u) + 0.05 * np.cos(5 * u)
    p = np.stack([(0.9 + thick * np.cos(v)) * np.cos(u), (0.9 + thick * np.cos(v)) * np.sin(u), thick * np.sin(v)], -1)
    normals = np.cross(np.gradient(p, axis=0), np.gradient(p, axis=1))
    i, j = np.mgrid[:n, :k].reshape(2, -1)
    halves = [((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1))]

    def triangles(w):  # w: 1 where vertices at a seam are two
        corners = [[(i + a) % (n + w) * (k + w) + (j + b) % (k + w) for a, b in half] for half in halves]
        return np.concatenate([np.stack(half, -1) for half in corners]).astype(np.int32)

    solid = [x[:n, :k].reshape(-1, 3).astype(np.float32) for x in (p, normals)]
    return *solid, triangles(0), (np.stack([u, v], -1) / (2 * np.pi)).reshape(-1, 2).astype(np.float32), triangles(1)


def camera(angle):
    """The matrix that takes the world to clip space, from a place around it."""
    eye = 3.2 * np.array([np.sin(angle) * 0.9, 0.75 * np.cos(2.1 * angle), np.cos(angle)])
    back = eye / np.linalg.norm(eye)
    side = np.cross([0, 1, 0], back) / np.linalg.norm(np.cross([0, 1, 0], back))
    turned = np.stack([side, np.cross(back, side), back])
    view = np.vstack([np.column_stack([turned, -turned @ eye]), [0, 0, 0, 1]])
    near, far, f = 0.5, 10.0, 2.2
    lens = np.array([[f, 0, 0, 0], [0, f, 0, 0], [0, 0, far / (near - far), near * far / (near - far)], [0, 0, -1, 0]])
    return (lens @ view).astype(np.float32)
