"""Buffers of the graphics layer as arrays of elements: inputs, results, every mode, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp

SOURCE = """
struct Ray { float3 pos; float3 dir; float t; };
interface IShape { float area(); }
struct Square : IShape { float side; float area() { return side * side; } }
float twice(float x) { return 2 * x; }
float total(float3 v) { return v.x + v.y + v.z; }
float3 scaled(float3 v, float s) { return v * s; }
void grow(inout float x) { x += 1; }
void rays(float x, out Ray r) { r.pos = x; r.dir = x + 1; r.t = x + 2; }
Ray moved(Ray r, float s) { r.pos += s * r.dir; return r; }
float far(Ray r) { return r.pos.x + r.t; }
bool negated(bool b) { return !b; }
float area_of(IShape s) { return s.area(); }
T doubled<T : __BuiltinFloatingPointType>(T x) { return x + x; }
float item(StructuredBuffer<float> b, int i) { return b[i]; }
float behind(float* b, int i) { return b[i]; }
void put(RWStructuredBuffer<float> b, int i) { b[i] = 7; }
float either(float x) { return x; }
float either(StructuredBuffer<float> x) { return x[1]; }
float number(float x) { return 1; }
float number(int x) { return 2; }
"""
RAW = "float raw(ByteAddressBuffer b, int i) { return b.Load<float>(4 * i); }"
BOTH = fp.BufferUsage.shader_resource | fp.BufferUsage.unordered_access


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "buffer_elements", SOURCE)


@pytest.fixture
def buffer(device: Any) -> Callable[..., Any]:
    def make(data: Any, struct_size: int, usage: Any = BOTH) -> Any:
        array = np.ascontiguousarray(data)
        return device.sgl.create_buffer(size=array.nbytes, struct_size=struct_size, usage=usage, data=array)

    return make


def floats(buffer: Any) -> list[float]:
    return buffer.to_numpy().view(F32).tolist()


def fused(f: Any) -> Any:
    return fp.fuse(lambda x: f(x))


@pytest.mark.req("T22")
def test_elements_as_inputs(m: Any, buffer: Any) -> None:
    x, v, rays = ramp(6), ramp(4, 3), ramp(3, 7)
    cases = [
        (m.twice, [buffer(x, 4)], 2 * x),
        (m.twice, [buffer(ramp(9), 4)], 2 * ramp(9)),  # another size
        (m.total, [buffer(v, 12)], v.sum(1)),
        (m.scaled, [buffer(v, 12), [1, 2, 3, 4]], v * np.float32([[1], [2], [3], [4]])),
        (m.scaled, [fp.vmap(buffer(v, 12), 1), fp.vmap(buffer(x, 4), 0)], v[None] * x[:, None, None]),
        (m.far, [buffer(rays, 28)], rays[:, 0] + rays[:, 6]),
        (m.far, [{"pos": buffer(v, 12), "dir": [0, 0, 1], "t": buffer(x[:4], 4)}], v[:, 0] + x[:4]),
        (m.negated, [buffer(np.uint32([0, 1, 0]), 4)], np.array([True, False, True])),
        (m.area_of, [fp.vcast(buffer(x, 4), m.Square)], x * x),
        (m.doubled, [fp.vcast(buffer(x, 4), m.float)], 2 * x),
        (m.twice.declare(m.float), [buffer(x, 4)], 2 * x),
    ]
    for f, given, wanted in cases:
        found = f(*given)
        assert isinstance(found, fp.Tensor)
        np.testing.assert_array_equal(found.to_numpy(), wanted)


@pytest.mark.req("T22")
def test_elements_as_results(m: Any, buffer: Any) -> None:
    x, empty = ramp(6), np.zeros(42, F32)
    grown = buffer(x, 4)
    for k in (1, 2):
        m.grow(grown)
        assert floats(grown) == (x + k).tolist()
    made = buffer(empty, 28)
    for start in (0, 5):
        m.rays(buffer(x + start, 4), made)
        columns = [x + start + i // 3 for i in range(7)]
        assert floats(made) == np.stack(columns, -1).ravel().tolist()
        assert m.far(m.moved(made, 2.0)).tolist() == (x + start + 2 * (x + start + 1) + x + start + 2).tolist()
    into = buffer(empty[:6], 4)
    assert m.twice(x, _result=into) is into
    assert floats(into) == (2 * x).tolist()
    m.twice(into, _result=into)  # each thread reads what it overwrites
    assert floats(into) == (4 * x).tolist()


@pytest.mark.req("T22")
def test_elements_in_every_mode(m: Any, buffer: Any, device: Any) -> None:
    x = ramp(6)
    held = buffer(x, 4)
    chain = fp.fuse(lambda b: m.twice(m.twice(b)) + 1)
    used_twice = fp.fuse(lambda b: m.item(b, 1) + m.twice(b))  # whole, and by elements
    cast = fp.fuse(lambda b: (fp.sum(fp.vcast(b, "float")), fp.vcast(b, "float") + 1))
    captured = fp.fuse(lambda a: m.twice(held) + a)
    looped = fp.fuse(lambda b: fp.fori_loop(0, 3, lambda i, s: s + m.twice(b), 0.0))
    graph = fp.Graph(inputs=["b"])
    (value,) = graph.get_inputs()
    graph.set_outputs(m.twice.node()(m.twice.node()(value)))
    assert chain.explain(held).kernels == 1
    compiled = []  # by each turn, through functions that stay: the kernels of lazy and recorded calls go with these
    for data in (x, x + 1, ramp(9)):  # the second and third call: another buffer, another size
        given = buffer(data, 4)
        before = fp.stats(device).kernels_compiled
        for found, wanted in [
            (chain(given), 4 * data + 1),
            (used_twice(given), data[1] + 2 * data),
            (looped(given), 6 * data),
            (graph(given), 4 * data),
        ]:
            assert found.tolist() == wanted.tolist()
        total, more = cast(given)
        assert (float(total), more.tolist()) == (data.sum(), (data + 1).tolist())
        compiled.append(fp.stats(device).kernels_compiled - before)
        with fp.lazy():
            found = m.twice(m.twice(given))
        assert found.tolist() == (4 * data).tolist()
        encoder = device.create_command_encoder()
        recorded = m.twice.append_to(encoder, given)
        device.submit_command_buffer(encoder.finish())
        assert recorded.tolist() == (2 * data).tolist()
    assert compiled[1:] == [0, 0]
    assert captured(1.0).tolist() == (2 * x + 1).tolist()
    held.copy_from_numpy(x + 5)  # the program keeps the buffer, and reads what is in it
    assert captured(1.0).tolist() == (2 * x + 11).tolist()


@pytest.mark.req("T22", "C9")
def test_whole_buffers_stay_whole_and_ambiguity_is_told(m: Any, buffer: Any) -> None:
    x = ramp(6)
    held = buffer(x, 4)
    for whole in (m.item, m.behind):
        for given in (held, fp.Tensor(x), x, held):  # one kernel, which finds each of them elsewhere
            assert list(map(float, whole(given, [1, 2]))) == x[1:3].tolist()
    assert m.item(held, [1, 2]).tolist() == m.behind(held, [1, 2]).tolist() == x[1:3].tolist()
    m.put(held, [0, 2])
    assert floats(held)[:3] == [7, x[1], 7]
    for f, hints in [
        (m.either, ["m.either(fp.vcast(x, m.float))", 'm.either(fp.vcast(x, m["StructuredBuffer<float>"]))']),
        (m.number, ["m.number(fp.vcast(x, m.float))", "m.number(fp.vcast(x, m.int))"]),
    ]:
        for call in (f, fused(f), lambda x, f=f: fp.resolve(f, x)):
            with pytest.raises(fp.AmbiguousCallError) as raised:
                call(held)
            assert all(hint in str(raised.value) for hint in hints)
    hold = floats(held)
    assert m.either(fp.vcast(held, m.float)).tolist() == m.either(fp.vmap(held, 0)).tolist() == hold
    for whole in (fp.vcast(held, m["StructuredBuffer<float>"]), fp.vmap(held, ())):
        assert float(m.either(whole)) == hold[1]
    assert m.number(fp.vcast(held, m.int)).tolist() == [2] * 6


@pytest.mark.req("T22")
def test_buffers_that_do_not_say_the_size_of_their_elements(m: Any, buffer: Any, device: Any) -> None:
    x, rays = ramp(42), ramp(6, 7)
    readable = buffer(x, 0, fp.BufferUsage.shader_resource)
    for f in (m.twice, fused(m.twice), lambda b: m.twice(fp.vmap(b, 0))):
        for data in (x, ramp(5)):  # another size: the same program
            assert f(buffer(data, 0)).tolist() == (2 * data).tolist()
        assert f(readable).tolist() == (2 * x).tolist()
    assert m.total(buffer(x, 0)).tolist() == x.reshape(-1, 3).sum(1).tolist()
    assert m.far(buffer(rays, 0)).tolist() == (rays[:, 0] + rays[:, 6]).tolist()
    assert m.doubled(fp.vcast(buffer(x, 0), m.float)).tolist() == (2 * x).tolist()
    assert m.item(buffer(x, 0), [1, 2]).tolist() == x[1:3].tolist()  # the whole buffer, as before
    into = buffer(x, 0)
    m.grow(into)
    assert floats(into) == (x + 1).tolist()
    assert m.twice(into, _result=into) is into
    assert floats(into) == (2 * x + 2).tolist()
    for f in (m.either, m.number):
        with pytest.raises(fp.AmbiguousCallError):
            f(into)
    with pytest.raises(fp.UnsupportedArgumentError, match="20 bytes holds no whole number of float3"):
        fused(m.total)(buffer(ramp(5), 0))


@pytest.mark.req("T22")
@pytest.mark.parametrize("in_fuse", [False, True])
def test_refused_buffers(m: Any, buffer: Any, device: Any, in_fuse: bool) -> None:
    held, zero = buffer(ramp(6), 4), device.sgl.create_buffer(size=24, usage=BOTH)
    read_only = buffer(ramp(6), 4, fp.BufferUsage.shader_resource)
    odd = device.sgl.create_buffer(size=20, usage=BOTH)
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: call(m.far, zero), fp.UnsupportedArgumentError, r"argument '[rx]'(?s:.)*size=24(?s:.)*multiple of 28"),
        (lambda: call(m.total, held), fp.UnsupportedArgumentError, r"4 bytes holds no float3, which takes 12"),
        (lambda: call(m.far, held), fp.UnsupportedArgumentError, r"4 bytes holds no Ray, which takes 28"),
        (lambda: call(m.twice, fp.vcast(held, m.float3)), fp.UnsupportedArgumentError, r"holds no float3"),
        (lambda: call(m.twice, held, _result=read_only), fp.UnsupportedArgumentError, r"cannot write to(?s:.)*unordered_access"),
        (lambda: call(m.scaled, [[1, 2, 3]], 2.0, _result=odd), fp.UnsupportedArgumentError, r"20 bytes(?s:.)*multiple of 12"),
        (lambda: call(m.twice, [1.0, 2.0], _result=held), fp.ShapeError, r"_result does not fit"),
        (lambda: call(m.item, held, [5, 4, 3, 2, 1, 0], _result=held), fp.ShapeError, r"overlaps argument"),
        (lambda: call(m.behind, held, [5, 4, 3, 2, 1, 0], _result=held), fp.ShapeError, r"overlaps argument"),
        (lambda: fp.fuse(lambda b: b + 1)(held), fp.UnsupportedArgumentError, r"fp.vcast\(b, type\)"),
        (lambda: fp.sum(held), fp.UnsupportedArgumentError, r"fp.vcast\(x, type\)"),
    ]

    def call(f: Any, *args: Any, **kwargs: Any) -> Any:
        return (fused(f) if in_fuse and len(args) == 1 else f)(*args, **kwargs)

    assert call(m.item, held, [5, 4, 3, 2, 1, 0], _result=buffer(ramp(6), 4)) is not None  # the same kernel, without overlap
    for bad, error, words in cases:
        with pytest.raises(error, match=words) as raised:
            bad()
        assert "test_buffers.py" in str(raised.value)
        assert call(m.twice, held).tolist() == (2 * ramp(6)).tolist()
    assert floats(held) == ramp(6).tolist()


@pytest.mark.req("V1", "T22")
@pytest.mark.rest  # 800 questions to Slang
def test_resolution_of_buffers_without_signatures(m: Any, buffer: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parameter types hidden Slang's answers say whether a buffer is passed whole, and what its elements are."""
    from fusepy.backend.slang import oracle as asked
    from fusepy.ir.oracle import Param, Signature

    real = asked.SlangOracle.declared

    def hidden(self: Any, module: str, function: str) -> Any:
        return [Signature(tuple(Param(p.name, None, p.direction) for p in s.params), None) for s in real(self, module, function)]

    monkeypatch.setattr(asked.SlangOracle, "declared", hidden)
    m = fp.Module.load_from_source(device, "buffers_hidden", SOURCE + RAW)
    x, rays = ramp(6), ramp(3, 7)
    for size in (0, 4):
        for f in (m.item, m.behind, m.raw):
            assert f(buffer(x, size), [1, 2]).tolist() == x[1:3].tolist()
    assert m.twice(buffer(x, 4)).tolist() == (2 * x).tolist()
    assert m.far(buffer(rays, 28)).tolist() == (rays[:, 0] + rays[:, 6]).tolist()
    with pytest.raises(fp.FusepyError, match="twice"):
        m.twice(buffer(x, 0))
