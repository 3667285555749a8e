"""Python functions as stages of rays, beside the same stages in Slang; and those that no stage can run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.rays.test_ray_function import DOWN, looked, m, same, world

__all__ = ["m", "world"]  # fixtures


def sky(payload: Any) -> Any:
    return {"color": fp.float3(0.25, 0.5, 0.75), "t": -1.0}


@pytest.mark.req("R1")
def test_stages_in_python_make_the_picture_of_those_in_slang(m: Any, world: Any) -> None:
    scene, origins, *_ = world
    origins, wanted = origins.reshape(20, 20, 3), looked(world).reshape(20, 20, 4)
    colors = np.float32([[1, 2, 3], [4, 5, 6]])

    def matte(payload: Any, at: Any, instance_id: Any, ray_t_current: Any) -> Any:
        return {"color": fp.where(instance_id == 0, fp.float3(1, 2, 3), fp.float3(4, 5, 6)), "t": ray_t_current}

    pictures = [
        fp.ray_gen(m, "look", miss=miss, closesthit=hit).set(tlas=scene, sky=[0.25, 0.5, 0.75], albedo=colors)(origins, DOWN)
        for miss in ("missed", fp.fuse(sky))
        for hit in ("matte", fp.fuse(matte))
    ]
    assert same(pictures[0].reshape(400, 4), wanted.reshape(400, 4))
    assert all(np.array_equal(picture, pictures[0]) for picture in pictures[1:])

    @fp.fuse
    def toned(eye: Any) -> Any:
        return m.tone(m.look(eye, DOWN).xyz)

    generated = fp.ray_gen(m, toned, miss="missed", closesthit=matte).set(tlas=scene, sky=[0.25, 0.5, 0.75])
    assert np.allclose(generated(origins), pictures[0][..., :3] / (1 + pictures[0][..., :3]), rtol=1e-5)
    assert generated.explain(origins).kernels == 1
    assert np.allclose(fp.fuse(lambda o: generated(o) * 2.0)(origins), 2 * generated(origins))
    glass = fp.Scene(fp.Mesh([[-9, -9, 0], [9, -9, 0], [0, 9, 0], [-9, -9, 1], [9, -9, 1], [0, 9, 1]], opaque=False))
    open_ = fp.ray_gen(m, "look", miss=sky, closesthit="numbered", anyhit=lambda primitive_index: primitive_index == 0)
    assert np.array_equal(open_.set(tlas=glass)([0.0, 0, 3], DOWN), [0, 0, 7, 3])  # the first triangle lies behind the second


@pytest.mark.req("R1")
def test_fused_stages_branch_loop_trace_rays_and_call_other_modules(m: Any) -> None:
    other = fp.Module.load_from_source(m.device, "own_tone", "uniform float far; float tone(float x) { return far * x; }")
    floor = fp.Scene(fp.Mesh([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], device=m.device))

    def met(payload: Any, barycentrics: Any) -> Any:
        t = fp.cond(barycentrics.x > 0.1, lambda: payload.t + 2, lambda: payload.t + 1)
        t = fp.fori_loop(0, 3, lambda i, s: s + i, t)
        up = m.look(fp.float3(0, 0, 5), fp.float3(0, 0, 1))
        return {"t": other.tone.set(far=4.0)(t), "color": m.tone(up.xyz)}

    seen = fp.ray_gen(m, "look", miss=sky, closesthit=met).set(tlas=floor)
    light = np.float32([0.25, 0.5, 0.75])
    assert np.allclose(seen([[0.0, 0, 3], [-8, -8, 3]], DOWN), [[*light / (1 + light), 20], [*light / (1 + light), 16]])
    with pytest.raises(fp.ArgumentError, match=r"met traces rays, past the recursion[\s\S]*max_recursion=2"):
        seen.options(max_recursion=1)([0.0, 0, 3], DOWN)
    endless = fp.ray_gen(m, "look", miss=sky, closesthit=lambda t: {"t": t + m.look(fp.float3(0, 0, 1), fp.float3(0, 0, -1)).w})
    with pytest.raises(fp.ArgumentError, match=r"look: hit or miss functions trace rays, past[\s\S]*max_recursion=2"):
        endless.set(tlas=floor)([0.0, 0, 3], DOWN)

    def unshadowed(shadow: m.Shadow) -> Any:
        return {"lit": 1.0}

    rows = [fp.HitGroup(closesthit="numbered"), fp.HitGroup(closesthit="dark")]
    both = fp.ray_gen(m, "both", miss=["missed", unshadowed], hit_groups=rows)
    assert both.set(tlas=floor, sky=[0, 0, 0])([[0.0, 0, 3], [20, 0, 3]]) == [[3, 0.25], [-1, 1]]
    called = fp.ray_gen(m, "called", callable=["twice", lambda x: {"x": x * 5}])
    assert called([1.0, 2.0], [0, 1]) == [2.0, 10.0]


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ({"closesthit": lambda payload: {"colour": payload.color}}, r"returns 'colour'[\s\S]*did you mean 'color'"),
        ({"closesthit": lambda payload: {"t": payload.color}}, "returns a float3 for 't' of the payload"),
        ({"closesthit": lambda payload: 3.0}, "returns a float for the payload"),
        ({"closesthit": lambda p, q, worldray: {"t": 1.0}}, "takes 'worldray', and the stage closesthit has no such value"),
        ({"closesthit": "matte", "anyhit": lambda t: t}, "returns a float for whether the hit counts"),
        ({"closesthit": lambda payload: {"t": payload.t + fp.Tensor([1.0])}}, "reads a value from outside"),
        ({"intersection": lambda: 1}, "an intersection reports hits from within"),
        ({"miss": "missed", "closesthit": "Shadow"}, "payloads of miss and hit do not match"),
        ({"miss": ["missed", "unshadowed"], "hit_groups": [fp.HitGroup(lambda t: {"t": t})]}, "nothing says which payload"),
    ],
)
def test_python_functions_that_are_no_stages_are_refused(m: Any, world: Any, stages: Any, words: str) -> None:
    if stages.get("closesthit") == "Shadow":

        def shade(payload: m.Shadow) -> Any:
            return {"lit": 1.0}

        stages = {**stages, "closesthit": shade}
    with pytest.raises(fp.ArgumentError, match=words) as caught:
        fp.ray_gen(m, "look", **stages).set(tlas=world[0], sky=[0, 0, 0])([0.0, 0, 0], DOWN)
    assert caught.value.hint
