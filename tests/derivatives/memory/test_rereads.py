"""Gradients of programs that write memory which they have read before: what a derivative reads again is what the program read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import fusepy;
[Differentiable] float whole(Tensor<float, 1> t, int i, float x) { return t[i] * t[i] * x * x; }
[Differentiable] float single(float t, float x) { return t * t * x * x; }
float pointed(float* t, int i) { return t[i] * t[i]; }
float buffered(StructuredBuffer<float> t, int i) { return t[i] * t[i]; }
float texel(Texture2D<float> t, int i) { return t[int2(i, 0)] * t[int2(i, 0)]; }
void put(RWTensor<float, 1> t, int i, float v) { t[i] = v; }
void put_buffer(RWStructuredBuffer<float> t, int i, float v) { t[i] = v; }
void put_pointer(float* t, int i, float v) { t[i] = v; }
void put_texel(RWTexture2D<float> t, int i, float v) { t[int2(i, 0)] = v; }
void add(AtomicTensor<float, 1> t, int i, float v) { t.add(i, v); }
RWStructuredBuffer<float> log;
[Differentiable] float logged(int i, float x) { return log[i] * x * x; }
void put_log(int i, float v) { log[i] = v; }
"""
AT = np.arange(3, dtype=np.int32)
BACK = AT[::-1].copy()
X = np.float32([1, 1.5, 2])
T = np.float32([1, 2, 3])
PUTS = ("put", "put_buffer", "put_pointer")
READS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "whole": lambda m, t, x: m.whole(t, BACK, x),
    "single": lambda m, t, x: m.single(t[::-1], x),
    "operators": lambda m, t, x: t[::-1] ** 2 * x * x,
    "gather": lambda m, t, x: t[BACK] ** 2 * x * x,
}


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "rereads", SOURCE)


def tensor(device: fp.Device, values: Any = T) -> fp.Tensor:
    return fp.Tensor.from_numpy(device, np.float32(values))


@pytest.mark.parametrize("put", daily(PUTS, "put"))
@pytest.mark.parametrize("read", READS)
def test_derivatives_read_what_the_program_has_read(device: fp.Device, m: fp.Module, read: str, put: str) -> None:
    def loss(t: Any, x: Any) -> Any:
        y = fp.sum(READS[read](m, t, x))
        m[put](t, AT, 10.0)
        return y

    by_t, by_x = fp.grad(loss, (0, 1))(tensor(device), X)
    np.testing.assert_allclose(by_t.to_numpy(), 2 * T * X[::-1] ** 2)
    np.testing.assert_allclose(np.asarray(by_x), 2 * X * T[::-1] ** 2)
    t = tensor(device)
    value, tangent = fp.jvp(loss, (t, X), (None, np.ones(3, np.float32)))
    assert (float(value), float(tangent)) == (22.0, 34.0)
    assert t.to_numpy().tolist() == [10, 10, 10]


@pytest.mark.parametrize("put", daily(PUTS, "put_buffer"))
def test_second_derivatives_read_what_the_program_has_read(device: fp.Device, m: fp.Module, put: str) -> None:
    def loss(t: Any, x: Any) -> Any:
        y = fp.sum(t * t * x * x)
        m[put](t, AT, 10.0)
        return y

    twice = fp.grad(lambda t, x: fp.sum(fp.grad(loss, 1)(t, x)), 1)
    np.testing.assert_allclose(np.asarray(twice(tensor(device), X)), 2 * T**2)


def test_arguments_that_share_memory_are_found_at_each_call(device: fp.Device, m: fp.Module) -> None:
    def loss(t: Any, u: Any, x: Any) -> Any:
        y = fp.sum(m.whole(t, BACK, x))
        m.put(u, AT, 10.0)
        return y

    want, slope = 2 * X * T[::-1] ** 2, fp.grad(loss, 2)
    np.testing.assert_allclose(np.asarray(slope(tensor(device), tensor(device), X)), want)
    t, long = tensor(device), tensor(device, [1, 2, 3, 4])
    np.testing.assert_allclose(np.asarray(slope(t, t, X)), want)
    np.testing.assert_allclose(np.asarray(slope(long[:3], long[1:], X)), want)


def test_what_is_written_from_an_argument_and_read_by_another_name_is_an_error(device: fp.Device, m: fp.Module) -> None:
    def loss(t: Any, u: Any, x: Any) -> Any:
        m.put(u, AT, x)
        return fp.sum(m.whole(t, BACK, x))

    t, slope = tensor(device), fp.grad(loss, 2)
    np.testing.assert_allclose(np.asarray(slope(t, tensor(device), X)), 2 * X * T[::-1] ** 2)
    with pytest.raises(fp.GradientError, match=r"put\(\) writes '[tu]', on which the result depends"):
        slope(t, t, X)
    with pytest.raises(fp.GradientError, match=r"put\(\) writes '[tu]', on which the result depends"):
        fp.jvp(loss, (t, t, X), (None, None, X))


@pytest.mark.parametrize("put", daily(PUTS, "put_pointer"))
@pytest.mark.parametrize("read", ["pointed", "buffered"])
def test_reads_by_pointers_and_buffers_before_a_write_are_errors(device: fp.Device, m: fp.Module, read: str, put: str) -> None:
    def loss(t: Any) -> Any:
        y = fp.sum(m[read](t, BACK))
        m[put](t, AT, 10.0)
        return y

    with pytest.raises(fp.GradientError, match=rf"{read}\(\) reads 't', and {put}\(\) writes it before") as error:
        fp.grad(loss)(tensor(device))
    assert "write into another array" in str(error.value)
    with pytest.raises(fp.GradientError, match=rf"{put}\(\) writes 't', on which the result depends"):
        fp.grad(lambda t: (m[put](t, AT, 10.0), fp.sum(m[read](t, BACK)))[1])(tensor(device))


def test_reads_of_textures_before_a_write_are_errors(device: fp.Device, m: fp.Module) -> None:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access

    def texture() -> Any:
        return device.sgl.create_texture(format=spy.Format.r32_float, width=3, height=1, usage=usage, data=T.reshape(1, 3))

    def loss(t: Any, u: Any) -> Any:
        y = fp.sum(m.texel(t, BACK))
        m.put_texel(u, AT, 10.0)
        return y

    t, slope = texture(), fp.grad(loss)
    np.testing.assert_allclose(slope(t, texture()).to_numpy(), [2 * T])
    with pytest.raises(fp.GradientError, match=r"texel\(\) reads 't', and put_texel\(\) writes it"):
        slope(t, t)


def test_reads_of_globals_before_a_write_are_errors(device: fp.Device, m: fp.Module) -> None:
    def loss(x: Any) -> Any:
        y = fp.sum(m.logged(AT, x))
        m.put_log(AT, 10.0)
        return y

    with pytest.raises(fp.GradientError, match=r"logged\(\) reads global memory, and put_log\(\) writes it"):
        fp.grad(loss).set(log=tensor(device))(X)


def test_loops_and_branches_that_write_are_errors(device: fp.Device, m: fp.Module) -> None:
    def looped(t: Any, x: Any) -> Any:
        def body(k: Any, carry: Any) -> Any:
            m.add(t, k, 1.0)
            return carry * x

        return fp.sum(fp.fori_loop(0, 3, body, x))

    def branched(t: Any, x: Any) -> Any:
        def yes(x: Any) -> Any:
            m.add(t, 0, 1.0)
            return x * x

        return fp.sum(fp.cond(x > 1.0, yes, lambda x: x, x))

    for loss in (looped, branched):
        t = tensor(device)
        with pytest.raises(fp.GradientError, match=r"writes 't', and its derivative would run it again"):
            fp.grad(loss, 1)(t, X)
        assert t.to_numpy().tolist() == T.tolist()


def test_loops_before_a_write_read_what_the_program_has_read(device: fp.Device, m: fp.Module) -> None:
    def loss(t: Any, x: Any) -> Any:
        y = fp.sum(fp.fori_loop(0, 3, lambda k, c: c + m.whole(t, k, x), x * 0.0))
        m.put(t, AT, 10.0)
        return y

    by_t, by_x = fp.grad(loss, (0, 1))(tensor(device), X)
    np.testing.assert_allclose(by_t.to_numpy(), 2 * T * (X**2).sum())
    np.testing.assert_allclose(np.asarray(by_x), 2 * X * (T**2).sum())


def test_the_function_of_vjp_has_the_arguments_of_the_call(device: fp.Device, m: fp.Module) -> None:
    def loss(t: Any, x: Any) -> Any:
        y = fp.sum(t * t * x * x)
        m.put(t, AT, 10.0)
        return y

    t = tensor(device)
    _, pull = fp.vjp(loss, t, X)
    assert t.to_numpy().tolist() == [10, 10, 10]
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(pull(np.float32(1))[1]), 2 * X * T**2)

    @fp.fuse
    def inside(t: Any, x: Any) -> Any:
        _, pull = fp.vjp(loss, t, x)
        return pull(1.0)[1]

    with pytest.raises(fp.GradientError, match=r"mul reads 't', and put\(\) writes it before"):
        inside(tensor(device), X)


def test_torch_records_no_call_that_writes(device: fp.Device, m: fp.Module) -> None:
    torch: Any = pytest.importorskip("torch")

    @fp.fuse
    def loss(t: Any, x: Any) -> Any:
        y = fp.sum(t * t * x * x)
        m.put(t, AT, 10.0)
        return y

    t, x = tensor(device), torch.tensor(X, requires_grad=True)
    with pytest.raises(fp.GradientError, match=r"put\(\) writes 't', where autograd cannot follow"):
        loss(t, x)
    assert t.to_numpy().tolist() == [1, 2, 3]
    assert float(loss(t, x.detach())) == 46


def test_torch_notices_what_fusepy_writes_before_the_backward_pass(device: fp.Device, m: fp.Module) -> None:
    torch: Any = pytest.importorskip("torch")
    square = fp.fuse(lambda t, x: fp.sum(t * t * x * x))
    t, x = torch.tensor(T), torch.tensor(X, requires_grad=True)
    y = square(t, x)
    m.put(t, AT, 10.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_errors_name_the_function_whose_derivative_has_none(device: fp.Device, m: fp.Module) -> None:
    slope = fp.grad(lambda t: fp.sum(m.whole(t, AT, 1.0)))
    with pytest.raises(fp.GradientError, match=r"the derivative of whole\(\) has no gradient here"):
        fp.grad(lambda t: fp.sum(slope(t)))(tensor(device))
    with pytest.raises(fp.GradientError, match=r"whole\(\) has no tangent: it reads fusepy::Tensor<float,1> whole"):
        fp.jvp(slope, (T,), (T,))
