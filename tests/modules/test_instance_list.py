"""`InstanceList`: objects of a Slang struct with a tensor for each field, and constructors over any extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Material { float3 color; float gloss; };
struct Particle
{
    float3 position;
    float3 velocity;
    Material material;
    __init(float3 p, float3 v) { position = p; velocity = v; material.color = p + v; material.gloss = 0.5; }
    [mutating] void update(float dt) { position += velocity * dt; material.gloss += dt; }
    float speed() { return velocity.x + velocity.y + velocity.z; }
    static float fixed(float x) { return x + 1; }
};
float3 where_in(Particle p, float t) { return p.position + t * p.velocity; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "instance_lists", SOURCE)


def material() -> dict[str, Any]:
    return {"color": [1, 2, 3], "gloss": 0.25}


def lists(m: Any) -> dict[str, Any]:
    """One kind of storage each: tensors of vectors, of floats, arrays, and a view."""
    wide = fp.Tensor.zeros(m.device, (12, 3))
    return {
        "tensors": (fp.Tensor.zeros(m.device, 6, m.float3), fp.Tensor.zeros(m.device, 6, m.float3)),
        "floats": (fp.Tensor.zeros(m.device, (6, 3)), fp.Tensor.zeros(m.device, (6, 3))),
        "arrays": (np.zeros((6, 3), F32), np.zeros((6, 3), F32)),
        "views": (wide[::2], wide[1::2]),
    }


@pytest.mark.req("T12", "T13", "T9")
@pytest.mark.parametrize("kind", daily(["tensors", "floats", "arrays", "views"], "arrays", "views"))
def test_construct_and_mutate(m: Any, kind: str) -> None:
    position, velocity = lists(m)[kind]
    particles = fp.InstanceList(m.Particle, {"position": position, "velocity": velocity, "material": material()})
    assert particles.construct(p=[1, 2, 3], v=ramp(6, 3)) is particles
    same(np.asarray(position), np.tile(np.array([1, 2, 3], F32), (6, 1)))
    same(np.asarray(velocity), ramp(6, 3))
    particles.update(0.5)
    moved = np.array([1, 2, 3], F32) + F32(0.5) * ramp(6, 3)
    same(np.asarray(particles.position), moved)
    assert particles.material == material(), "single values stay as they are"
    same(np.asarray(particles.speed()), ramp(6, 3)[:, 0] + ramp(6, 3)[:, 1] + ramp(6, 3)[:, 2])
    same(np.asarray(m.where_in(particles, 2.0)), moved + 2 * ramp(6, 3))
    assert particles.fixed(1.0) == 2


@pytest.mark.req("T12")
def test_construct_takes_its_extents_from_the_fields(m: Any) -> None:
    particles = fp.InstanceList(m.Particle)
    particles.position, particles.velocity = np.zeros((4, 3), F32), fp.Tensor.zeros(m.device, 4, m.float3)
    particles.material = {"color": np.zeros((4, 3), F32), "gloss": np.zeros(4, F32)}
    particles.construct([1, 2, 3], [4, 5, 6])  # one value for all
    same(particles.position, np.tile(np.array([1, 2, 3], F32), (4, 1)))
    same(particles.velocity.to_numpy(), np.tile(np.array([4, 5, 6], F32), (4, 1)))
    same(particles.material["color"], np.tile(np.array([5, 7, 9], F32), (4, 1)))
    same(particles.material["gloss"], np.full(4, 0.5, F32))
    particles.construct(0, fp.rand_float(2, 3, 3))
    drawn = particles.velocity.to_numpy()
    assert len(np.unique(drawn)) > 4
    assert drawn.min() >= 2
    assert drawn.max() < 3
    particles.update(1.0)
    same(particles.position, drawn)
    same(particles.material["gloss"], np.full(4, 1.5, F32))


@pytest.mark.req("T12")
def test_tensors_of_instances_take_single_values_and_generators(m: Any) -> None:
    particles = fp.InstanceTensor(struct=m.Particle, shape=(4,))
    particles.construct([1, 2, 3], 4)
    same(particles.to_numpy()["position"], np.tile(np.array([1, 2, 3], F32), (4, 1)))
    particles.construct(p=0, v=fp.rand_float(-1, 1, 3))
    assert len(np.unique(particles.to_numpy()["velocity"])) == 12
    same(particles.speed.map()(_result="numpy"), particles.speed(_result="numpy"))


@pytest.mark.req("T6", "T12")
def test_subclasses_have_attributes_of_their_own(m: Any) -> None:
    class Swarm(fp.InstanceList):
        def __init__(self, name: str, count: int):
            super().__init__(m.Particle, {"material": material()})
            self.name = name
            self.position = np.zeros((count, 3), F32)
            self.velocity = np.ones((count, 3), F32)

        def centre(self) -> Any:
            return self.position.mean(axis=0)

    swarm = Swarm("bees", 5)
    swarm.update(2.0)
    assert swarm.name == "bees"
    same(swarm.centre(), np.full(3, 2, F32))
    look = fp.fuse(lambda s, t: m.where_in(s, t) + fp.vcast(s.position, m.float3))
    same(look(swarm, 1.0), 2 * swarm.position + 1)
    assert "position" in repr(swarm)


def test_refusals(m: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="did you mean 'position'"):
        fp.InstanceList(m.Particle, {"positon": 1})
    empty = fp.InstanceList(m.Particle)
    with pytest.raises(AttributeError, match="'position'"):
        _ = empty.position
    with pytest.raises(AttributeError, match="speed"):
        _ = empty.sped
    with pytest.raises(fp.FusepyError, match="position"):
        empty.speed()
    with pytest.raises(fp.ArgumentError, match="without arrays"):
        empty.construct(1, 2)
    with pytest.raises(fp.ShapeError):
        fp.InstanceList(m.Particle, {"position": np.zeros((4, 3), F32)}).construct(ramp(5, 3), 1)
