"""Globals and hooks: a scene in a parameter block, a camera that moves every frame, and 16x16 thread groups."""

from dataclasses import dataclass

import numpy as np

import fusepy as fp

SOURCE = """
struct Camera { float2 position; float zoom; };
struct Scene { Camera camera; float3 tint; float* radii; };
ParameterBlock<Scene> g_scene;
uniform int g_frame;
extern static const int RINGS = 1;

float3 render(int2 pixel)
{
    float2 p = (pixel + 0.5 - g_scene.camera.position) / g_scene.camera.zoom;
    float light = 0;
    for (int i = 0; i < RINGS; i++)
        light += abs(length(p) - g_scene.radii[i]) < 0.12 ? 1 : 0;
    return g_scene.tint * saturate(light) / (1 + g_frame);
}
"""
m = fp.Module.load_from_source(fp.default_device(), "scene_example", SOURCE)


@dataclass
class Camera:
    position: tuple[float, float]
    zoom: float


class Scene:
    """What does not change is set once; what does is bound by the hook, before every call."""

    camera = Camera((20.0, 10.0), 9.0)
    frame = 0

    def bind(self, context: fp.CallContext) -> None:
        context.set(g_scene={"camera": self.camera}, g_frame=self.frame)
        self.frame += 1


scene = Scene()
radii = fp.Tensor.from_numpy(m.device, np.array([0.4, 0.9], np.float32))
render = m.render.constants(RINGS=2).options(numthreads=[16, 16])
render = render.set(g_scene={"tint": [1, 1, 1], "radii": radii}).hook(scene, Scene.bind)
grid = fp.grid((20, 40))
first = render(grid).to_numpy()
before = fp.stats()
scene.camera.position = (26.0, 10.0)
second = render(grid).to_numpy()
assert fp.stats().kernels_compiled == before.kernels_compiled  # another frame, the same kernel
assert np.allclose(second[:, 6:], first[:, :-6] / 2)
assert {float(v) for v in np.unique(first)} == {0.0, 1.0}

red = render.set(g_scene={"tint": [1, 0, 0]})(grid).to_numpy()
assert red[..., 1:].sum() == 0
print("\n".join("".join(" #"[int(v > 0)] for v in row[:, 0]) for row in first[::2]))
