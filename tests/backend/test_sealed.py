"""Public attributes of fusepy's objects: an assignment works, or is refused with a hint; none is ignored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import need_raster
from tests.support.rays import need_rays
from tests.support.slang_functions import same

SOURCE = """
uniform float gain;
namespace ns { float same(float x) { return x; } }
struct Ball { float r; float size() { return r; } };
float scaled(float x) { return x * gain; }
[shader("compute")] [numthreads(8, 1, 1)] void fill(uint3 at: SV_DispatchThreadID, RWStructuredBuffer<float> to) { to[at.x] = 1; }
"""
DRAW = """
struct Corner { float4 at : SV_Position; };
[shader("vertex")] Corner vs(float3 position : POSITION) { return { float4(position, 1) }; }
[shader("fragment")] float4 fs(Corner c) : SV_Target { return 1; }
"""
CORNERS = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "sealed", SOURCE)


def context(m: Any) -> Any:
    seen: list[Any] = []
    m.scaled.hook(lambda given: (seen.append(given), given.set(gain=1.0)))(2.0)
    return seen[0]


def profile(m: Any) -> Any:
    with fp.profile() as found:
        m.ns.same(1.0)
    return found


def graph() -> Any:
    made = fp.Graph(inputs=["x"])
    made.set_outputs(made.get_inputs()[0] + 1)
    return made


def step() -> Any:
    return fp.training_step(lambda p: fp.sum(p * p), fp.nn.Adam(lr=1e-3))


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "module": lambda m: m,
    "namespace": lambda m: m.ns,
    "type": lambda m: m.Ball,
    "function": lambda m: m.scaled,
    "configured": lambda m: m.scaled.set(gain=2.0),
    "backward": lambda m: fp.fuse(lambda x: x * x).bwds,
    "method": lambda m: m.Ball.size.bind({"r": 1.0}),
    "dispatch": lambda m: m.fill.threads(8),
    "fused": lambda m: fp.fuse(lambda x, n=1: x + n),
    "gradient": lambda m: fp.grad(lambda x: x * x),
    "graph": lambda m: graph(),
    "node": lambda m: m.scaled.node(),
    "library": lambda m: fp.NodeLibrary(),
    "draw": lambda m: fp.raster(fp.Module.load_from_source(m.device, "sealed_draw", DRAW), vertex="vs", fragment="fs"),
    "capture": lambda m: fp.capture(fp.fuse(lambda x: x + 1), fp.Tensor([1, 2])),
    "context": context,
    "profile": profile,
    "image": lambda m: fp.ShownImage(b"", (1, 1), None),
    "cursor": lambda m: fp.Tensor([1, 2]).cursor(),
    "storage": lambda m: fp.Tensor([1, 2]).storage,
    "network": lambda m: fp.nn.MLP(2, 4, 1),
    "hash grid": lambda m: fp.nn.HashGrid(),
    "frequencies": lambda m: fp.nn.FrequencyEncoding(2),
    "step": lambda m: step(),
    "camera": lambda m: fp.Camera((0, 0, 1), (0, 0, 0)),
    "grid": lambda m: fp.grid((2, 2)),
    "linspace": lambda m: fp.linspace(0, 1, 3),
    "random": lambda m: fp.rand_float(0, 1, 2),
    "mesh": lambda m: fp.Mesh(CORNERS),
    "boxes": lambda m: fp.Boxes([[0, 0, 0]], [[1, 1, 1]]),
    "instance": lambda m: fp.Instance(fp.Mesh(CORNERS)),
    "scene": lambda m: fp.Scene(fp.Mesh(CORNERS)),
}
WORK = {"camera": {"position", "forward", "right", "up"}, "step": {"groups", "lr", "optimiser"}}
OF_RAYS = {"mesh", "boxes", "instance", "scene"}


@pytest.mark.parametrize("name", OBJECTS)
def test_no_assignment_and_no_deletion_is_ignored(m: Any, name: str) -> None:
    if name in OF_RAYS:
        need_rays(m.device)
    if name == "draw":
        need_raster(m.device)
    made = OBJECTS[name](m)
    names = [n for n in dir(made) if not n.startswith("_")]
    for attribute in (*names, "fov", "target", "static", "outputs", "gain", "unheard_of"):
        if attribute in WORK.get(name, ()):
            continue
        with pytest.raises(fp.AssignmentError, match=rf"'{attribute}'.*\n  hint:"):
            setattr(made, attribute, 1)
    for attribute in names:
        with pytest.raises(AttributeError, match=rf"'{attribute}'"):
            delattr(made, attribute)
    assert {*names} <= {*dir(made)}


def test_what_every_use_reads_is_assigned(m: Any) -> None:
    camera = fp.Camera((0, 0, 2), (0, 0, 0))
    camera.position = [1.0, 0.0, 2.0]
    origin, direction = camera.ray((50, 50), (101, 101))
    same(origin, np.float32([1, 0, 2]))
    same(direction, np.float32([0, 0, -1]))
    made = step()
    made.lr = 0.5
    made(weights := fp.nn.parameters(np.float32([1, 2])))
    same(weights.numpy(), np.float32([0.5, 1.5]))


def test_hints_name_what_to_write(m: Any) -> None:
    for made, name, words in [
        (fp.Camera((0, 0, 1), (0, 0, 0)), "fov", "fp.Camera(position, target, fov=45)"),
        (fp.fuse(lambda n: n), "static", 'fp.fuse(f, static=["n"])'),
        (graph(), "outputs", "graph.set_outputs(x)"),
        (m, "gain", "m.f.set(k=2.0)"),
        (m.scaled, "gain", "f.set(k=2.0)"),
    ]:
        with pytest.raises(fp.AssignmentError) as caught:
            setattr(made, name, 1)
        assert words in caught.value.hint


class Numbered(fp.Instance):
    """A class of the user's that derives from a frozen dataclass of fusepy's."""


class Early(fp.Tensor):
    def __init__(self, *rows: Any) -> None:
        self.tag = 1
        super().__init__(*rows)


class Named(fp.Tensor):
    label = "none"

    def __init__(self, *rows: Any) -> None:
        super().__init__(*rows)
        self.label = "named"
        self.tag = 1


def test_tensors_of_the_users_classes_have_attributes_of_their_own(device: Any) -> None:
    named = Named([1, 2, 3])
    named.tag += 1
    assert (named.label, named.tag) == ("named", 2)
    for name in ("shape", "T", "sum", "block"):  # what fusepy's tensors have stays as it is
        with pytest.raises(fp.AssignmentError, match=f"'{name}'"):
            setattr(named, name, (1,))
    same(fp.sum(named).numpy(), np.float32(6))
    with pytest.raises(fp.UnknownNameError, match=r"no elements yet.*\n.*\n.*call super\(\).__init__"):
        Early([1, 2, 3])


def test_frozen_dataclasses_stay_frozen_for_code_that_is_not_the_users(device: Any) -> None:
    need_rays(device)
    library: dict[str, Any] = {"__file__": "<string>"}  # as the text that a library makes
    exec("def assign(made, name): setattr(made, name, 1)", library)
    instance, own = fp.Instance(fp.Mesh(CORNERS)), Numbered(fp.Mesh(CORNERS))
    own.tag = 1  # type: ignore[attr-defined]
    assert own.tag == 1  # type: ignore[attr-defined]
    for made in (instance, own):
        with pytest.raises(FrozenInstanceError):
            library["assign"](made, "mask")
    with pytest.raises(FrozenInstanceError):
        own.mask = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        instance._given = None  # type: ignore[misc]
    assert (instance.mask, own.mask) == (255, 255)


class Wide(fp.Camera):
    def __init__(self) -> None:
        super().__init__((0, 0, 2), (0, 0, 0), fov=90)
        self.name = "wide"


def test_classes_of_the_user_have_attributes_of_their_own() -> None:
    wide = Wide()
    wide.name = "wider"
    assert wide.name == "wider"
    del wide.name
    assert not hasattr(wide, "name")


def test_no_attribute_of_fusepys_is_deleted(device: Any) -> None:
    for made in (fp.Camera((0, 0, 2), (0, 0, 0)), Wide()):
        with pytest.raises(fp.AssignmentError, match=r"the attribute 'position' of a \w+ is not deleted\n  hint:"):
            del made.position
        assert made.ray((50, 50), (101, 101))
    with pytest.raises(fp.AssignmentError, match="the attribute 'transform' of an Instance is not deleted"):
        del fp.Instance.__new__(fp.Instance).transform
    t = fp.Tensor([1, 2, 3])
    with pytest.raises(fp.AssignmentError, match="the attribute 'shape' of a Tensor is not deleted"):
        del t.shape
    assert fp.sum(t).item() == 6
