"""Destinations under `vmap`: ``out`` and ``inout`` arguments and ``_result=``, nested ones too, in every way to call."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.selection import seldom
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 position; float3 direction; };
void mix(float x, float y, out float r) { r = 10 * x + y; }
float mixed(float x, float y) { return 10 * x + y; }
float cube(float x, float y, float z) { return 100 * x + 10 * y + z; }
void tint(float3 c, float k, out float3 r, out float sum) { r = c * k; sum = (c.x + c.y + c.z) * k; }
void make(float3 p, float k, out Ray ray) { ray.position = p * k; ray.direction = p + k; }
void bump(inout float x, float by) { x += by; }
void grow(inout float3 c, float by) { c *= by; }
void move(inout Ray ray, float t) { ray.position += t * ray.direction; }
float wide(float3 c) { return c.x + 10 * c.y + 100 * c.z; }
void at(int2 p, out float r) { r = 10 * p.x + p.y; }
"""
X, Y = ramp(3), ramp(4)
WANT = 10 * X[:, None] + Y  # over a grid of 3 by 4
MADE = [
    lambda device, shape: np.zeros(shape, F32),
    lambda device, shape: fp.Tensor.zeros(device, shape),
    lambda device, shape: fp.Tensor.zeros(device, (*shape, 2))[..., 1],
    lambda device, shape: np.zeros(shape[::-1], F32).T,
]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "mapped_outputs", SOURCE)


def read(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, fp.Tensor) else value


@pytest.mark.req("V5", "C10")
@pytest.mark.parametrize(
    "way",
    seldom(["out", "declared", "result", "fused", "graph", "lazy", "of lazy values", "appended", "two kernels"], "two kernels"),
)
def test_destinations_in_every_way(m: Any, device: Any, way: str) -> None:
    x, y = fp.vmap(X, (0,)), fp.vmap(Y, (1,))
    a, b = fp.Tensor.from_numpy(device, X), fp.Tensor.from_numpy(device, Y)
    graph = fp.Graph(inputs=["x", "y"])
    graph.set_outputs(m.mixed.node()(*graph.get_inputs()))
    fused = fp.fuse(lambda x, y: m.mixed(x, y))
    two = fp.fuse(lambda x, y: m.mixed(x, y) - fp.max(m.mixed(x, y)))
    declared = m.mix.declare(fp.vmapping(0), fp.vmapping(1), r=fp.vmapping(1, 0))

    want = {"two kernels": WANT - WANT.max(), "of lazy values": m.mixed(fp.vmap(np.abs(10 * X), 0), y)}.get(way, WANT).T

    def call(out: Any) -> None:
        given = fp.vmap(out, (1, 0))
        if way == "out":
            assert m.mix(x, y, given) is None
        elif way == "declared":
            assert declared(X, Y, out) is None
        elif way == "lazy":
            with fp.lazy():
                m.mix(x, y, given)
        elif way == "of lazy values":
            with fp.lazy():
                assert m.mixed(fp.vmap(fp.abs(m.mixed(a, 0)), 0), y, _result=given) is out
        elif way == "appended":
            encoder = device.sgl.create_command_encoder()
            m.mix.append_to(encoder, fp.vmap(a, 0), fp.vmap(b, 1), given)
            device.sgl.submit_command_buffer(encoder.finish())
        else:
            assert {"result": m.mixed, "graph": graph, "fused": fused, "two kernels": two}[way](x, y, _result=given) is out

    for turn in range(3):
        for make in MADE[1:3] if way == "appended" else MADE:
            out = make(device, (4, 3))
            before = fp.stats().plan_misses
            call(out)
            assert not turn or fp.stats().plan_misses == before
            same(read(out), want)
    same(np.asarray(m.mixed(x, y)), WANT)  # without a destination it stands in the order of the grid


@pytest.mark.rest
@pytest.mark.req("V5")
def test_every_order_of_three_dimensions(m: Any, device: Any) -> None:
    """One program for each order, and the same values in all of them."""
    x, y, z = ramp(2), ramp(3), ramp(4)
    want = 100 * x[:, None, None] + 10 * y[:, None] + z
    for order in itertools.permutations(range(3)):
        out = fp.Tensor.zeros(device, [(2, 3, 4)[d] for d in order])
        assert m.cube(fp.vmap(x, 0), fp.vmap(y, 1), fp.vmap(z, 2), _result=fp.vmap(out, order)) is out
        same(out.to_numpy(), want.transpose(order))


@pytest.mark.rest
@pytest.mark.req("V5", "C10", "T7")
def test_vectors_several_results_and_nested_destinations(m: Any, device: Any) -> None:
    c, k = ramp(3, 3), ramp(4, start=2)
    given = (fp.vmap(c, (0,)), fp.vmap(k, (1,)))
    tinted = c[:, None] * k[:, None]
    for cast in (lambda v: v, lambda v: fp.vcast(v, m.float3), lambda v: fp.vcast(v, "float3")):
        r, total = fp.Tensor.zeros(device, (4, 3, 3)), np.zeros((3, 4), F32)
        m.tint(*given, fp.vmap(cast(r), (1, 0)), total)  # one of them mapped, the other in the order of the grid
        same(r.to_numpy(), tinted.transpose(1, 0, 2))
        same(total, tinted.sum(-1))
    r, total = np.zeros((4, 3, 3), F32), np.zeros((4, 3), F32)
    m.tint(*given, _result=(fp.vcast(fp.vmap(r, (1, 0)), m.float3), fp.vmap(total, (1, 0))))
    same(r, tinted.transpose(1, 0, 2))
    same(total, tinted.sum(-1).T)
    # a word for the whole tree, leaves with words of their own, members that are left away
    p, d = np.zeros((4, 3, 3), F32), fp.Tensor.zeros(device, (4, 3), "float3")
    m.make(*given, fp.vmap({"position": p, "direction": d}, (1, 0)))
    same(p, tinted.transpose(1, 0, 2))
    same(d.to_numpy(), (c[:, None] + k[:, None]).transpose(1, 0, 2))
    plain, y = np.zeros((3, 4, 3), F32), np.zeros((4, 3), F32)
    m.make(*given, {"position": plain, "direction": {"y": fp.vmap(y, (1, 0))}})
    same(plain, tinted)
    same(y, (c[:, None] + k[:, None])[..., 1].T)
    p[:] = 0
    m.make.declare(None, None, fp.vmapping(1, 0))(*given, {"position": p})
    same(p, tinted.transpose(1, 0, 2))
    rays = fp.Tensor.zeros(device, (4, 3), m.Ray)
    m.make(*given, fp.vmap(rays, (1, 0)))
    same(rays.to_numpy()["position"], tinted.transpose(1, 0, 2))
    flat = np.zeros((4, 3, 6), F32)
    m.make(*given, fp.vmap(fp.vcast(flat, m.Ray), (1, 0)))
    same(flat[..., :3], tinted.transpose(1, 0, 2))


@pytest.mark.req("V5", "C10")
def test_inout_is_read_and_written_under_one_mapping(m: Any, device: Any) -> None:
    values, by = ramp(4, 3), ramp(3)
    for _ in range(2):
        for make in (np.copy, lambda v: fp.Tensor.from_numpy(device, v)):
            x = make(values)
            m.bump(fp.vmap(x, (1, 0)), fp.vmap(by, (0,)))
            same(read(x), values + by)
            c = make(ramp(4, 2, 3))
            m.grow(fp.vmap(c, (1, 0)), fp.vmap(ramp(4), 1))
            same(read(c), ramp(4, 2, 3) * ramp(4)[:, None, None])
            p, d = make(ramp(4, 2, 3)), make(ramp(4, 2, 3, start=5))
            m.move(fp.vmap({"position": p, "direction": d}, (1, 0)), fp.vmap(ramp(2), 0))
            same(read(p), ramp(4, 2, 3) + ramp(2)[:, None] * ramp(4, 2, 3, start=5))
            same(read(d), ramp(4, 2, 3, start=5))
    # what each thread reads is what it writes, in whatever order; anything else overlaps
    square = fp.Tensor.from_numpy(device, ramp(3, 3))
    m.mixed(fp.vmap(square, (1, 0)), 1.0, _result=fp.vmap(square, (1, 0)))
    same(square.to_numpy(), 10 * ramp(3, 3) + 1)
    with pytest.raises(fp.ShapeError, match="the result overlaps argument 'x'"):
        m.mixed(square, 1.0, _result=fp.vmap(square, (1, 0)))
    with pytest.raises(fp.ShapeError, match="the result overlaps argument 'x'"):
        m.mixed(fp.vmap(square, (1, 0)), 1.0, _result=square)
    same(square.to_numpy(), 10 * ramp(3, 3) + 1)


@pytest.mark.req("V5", "T15")
def test_a_mapped_destination_gives_the_grid(m: Any, device: Any) -> None:
    want = m.at(fp.call_id(), _result=fp.Tensor.zeros(device, (2, 3))).to_numpy().T
    assert len(np.unique(want)) == 6
    read_at = fp.fuse(lambda p: m.at(p))
    for _ in range(2):
        out, array, given = fp.Tensor.zeros(device, (3, 2)), np.zeros((3, 2), F32), fp.Tensor.zeros(device, (3, 2))
        m.at(fp.call_id(), fp.vmap(out, (1, 0)))
        m.at(fp.call_id(), _result=fp.vmap(array, (1, 0)))
        read_at(fp.call_id(), _result=fp.vmap(given, (1, 0)))
        for value in (out, array, given):
            same(read(value), want)
    with pytest.raises(fp.ShapeError, match=r"'r' is written to, and vmap names 1 of its 2 axes"):
        m.at(fp.call_id(), fp.vmap(out, 0))


@pytest.mark.req("V5")
@pytest.mark.parametrize("way", ["out", "result"])
def test_what_cannot_be_a_destination(m: Any, device: Any, way: str) -> None:
    name = "argument 'r'" if way == "out" else "_result"

    def call(out: Any) -> Any:
        x, y = fp.vmap(X, 0), fp.vmap(Y, 1)
        return m.mix(x, y, out) if way == "out" else m.mixed(x, y, _result=out)

    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    texture = device.sgl.create_texture(width=3, height=4, format=spy.Format.r32_float, usage=usage)
    for made in (lambda *shape: np.zeros(shape, F32), lambda *shape: fp.Tensor.zeros(device, shape)):
        for out, words in [
            (fp.vmap(made(3), (0,)), "is written to, and vmap names 1 of its 1 axes for a result over 2"),
            (fp.vmap(made(3, 4), (0,)), "is written to, and vmap names 1 of its 2 axes for a result over 2"),
            (fp.vmap(made(3, 4), (0, 2)), "is written to, and vmap names 2 of its 2 axes for a result over 2"),
            (fp.vmap(made(3, 4, 5), (0, 1, 2)), "is written to, and vmap names 3 of its 3 axes for a result over 2"),
            (fp.vmap(made(3), (1, 0)), "is written to, and vmap names 2 of its 1 axes for a result over 2"),
            (fp.vmap(made(3, 4), (1, 0)), r"under vmap\(d1,d0\) does not fit the result"),
            (fp.vmap(made(4, 3, 1), (1, 0)), "does not fit the result"),
            (fp.vcast(made(3, 4), "int"), "is cast to int, and receives float"),
            (fp.vmap(fp.vcast(made(4, 3), m.float3), (1, 0)), "is cast to float3, and receives float"),
            (fp.vmap(texture, (1, 0)), "is a texture, which is written in the order of the grid"),
        ]:
            with pytest.raises(fp.FusepyError, match=f"{name} {words}") as caught:
                call(out)
            assert str(caught.value).startswith("test_mapped_outputs.py")
            assert "hint:" in str(caught.value)
    good = np.zeros((4, 3), F32)
    call(fp.vmap(good, (1, 0)))
    same(good, WANT.T)
