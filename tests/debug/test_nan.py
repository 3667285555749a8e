"""`fusepy.debug.check_nan`: the first operation that makes a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp

F32 = np.float32
SOURCE = """
struct Ray { float3 at; float t; float depth() { return sqrt(t); } };
float root(float x) { return sqrt(x); }
float over(float a, float b) { return a / b; }
Ray ray(float x) { Ray r; r.at = float3(x, 0, 1); r.t = sqrt(x); return r; }
float near(Ray r) { return r.at.z; }
float3 roots(float3 c) { return sqrt(c); }
float count(RWStructuredBuffer<float> b, int i, float x) { b[i] += 1; return sqrt(x); }
float3 counts(RWStructuredBuffer<float> b, int i, float x) { b[i] += 1; return sqrt(float3(1, x, x)); }
void root_into(float x, out float y) { y = sqrt(x); }
"""
BAD = F32([4, 1, -9, -16])
check = fp.debug.check_nan


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "nans", SOURCE)


def caught(function: Any, *args: Any, infinite: bool = False, **kwargs: Any) -> fp.NonFiniteError:
    with pytest.raises(fp.NonFiniteError) as error:
        check(function, infinite=infinite)(*args, **kwargs)
    assert isinstance(error.value, FloatingPointError)
    return error.value


def test_a_slang_function(m: Any) -> None:
    error = caught(m.root, BAD)
    assert str(error).startswith("test_nan.py:")
    assert "root: the Slang function root gives NaN" in str(error)
    assert "nan at (2,), of x = -9." in str(error)
    assert (error.index, error.operands) == ((2,), {"x": -9})
    assert "inspect_pixel" in error.hint
    assert check(m.root)(F32([4, 9])).tolist() == [2, 3]


def test_the_first_operation_of_a_fused_function_also_without_a_trace_in_the_result(m: Any) -> None:
    @fp.fuse
    def look(x: Any, k: Any) -> Any:
        y = x * k
        z = fp.where(y > 0, fp.log(y), 0.0)
        return z + m.root(x)

    line = look.tracer.function.__code__.co_firstlineno + 3
    error = caught(look, BAD, 2.0)
    assert str(error).startswith(f"test_nan.py:{line}: look: log(%0) gives NaN")
    assert error.index == (2,)
    assert error.operands == {"%0": -18}
    assert check(look)(F32([1]), 1.0).tolist() == [1]


def test_python_functions_of_several_kernels(m: Any) -> None:
    def steps(x: Any) -> Any:
        y = np.asarray(m.root(x)) - 2  # on the host, between two kernels
        return m.root(y)

    assert "the Slang function root" in str(caught(steps, F32([9, 1])))
    assert caught(steps, F32([9, 1])).index == (1,)
    assert check(steps)(F32([9, 4])).tolist() == [1, 0]


def test_reductions_loops_and_structs(m: Any) -> None:
    whole = caught(lambda x: fp.sum(fp.log(x), 1) * 0, fp.vmap(F32([[1, 1], [1, -1]]), (0, 1)))
    assert whole.index == (1, 1)
    lost = caught(fp.fuse(lambda x: fp.sum(x, 1)), F32([[1, 2], [np.inf, -np.inf]]))
    assert (lost.index, "reduce" in str(lost)) == ((1,), True)
    loop = caught(fp.fuse(lambda x: fp.fori_loop(0, 3, lambda i, c: fp.sqrt(c - 1), x)), F32([100, 2]))
    assert (loop.index, "fori_loop" in str(loop)) == ((1,), True)
    assert "the Slang function ray gives NaN" in str(caught(fp.fuse(lambda x: m.near(m.ray(x))), BAD))
    assert caught(m.roots, F32([[1, 2, 3], [1, -2, 3]])).index == (1,)
    method = caught(fp.fuse(lambda x: m.ray(x).depth()), F32([4, -1]))
    assert method.index == (1,)


def test_graphs_and_static_arguments(m: Any) -> None:
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(m.root.node()(*graph.get_inputs()))
    assert caught(graph, BAD).index == (2,)
    power = fp.fuse(lambda x, n: fp.log(x) * n, static=("n",))
    assert caught(power, BAD, 2).index == (2,)
    assert check(power)(F32([1]), n=3).tolist() == [0]


def test_infinities_are_an_option(m: Any) -> None:
    assert np.isinf(check(m.over)(F32([1, 2]), F32([1, 0]))[1])
    error = caught(m.over, F32([1, 2]), F32([1, 0]), infinite=True)
    assert "over gives infinity" in str(error)
    assert error.operands == {"a": 2, "b": 0}


def test_arguments_that_are_nan(m: Any) -> None:
    x = F32([4, np.nan, -1])
    assert caught(m.root, x).operands == {"x": -1}  # what makes one comes first
    error = caught(m.root, x[:2])
    assert "root: argument 'x' holds NaN" in str(error)
    assert error.index == (1,)


def test_results_go_where_they_went(device: Any, m: Any) -> None:
    target = fp.Tensor.zeros(device, 2)
    assert check(m.root)(fp.Tensor([4, 9]), _result=target) is target
    assert target.tolist() == [2, 3]
    out = np.zeros(2, F32)
    check(m.root_into)(F32([4, 9]), out)
    assert out.tolist() == [2, 3]
    assert caught(m.root_into, F32([4, -9]), out).index == (1,)
    with fp.lazy():
        assert check(m.root)(m.root(fp.Tensor([16.0]))).tolist() == [2]


def test_torchs_tensors(m: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([4.0, -1.0], requires_grad=True)
    assert caught(m.root, x.detach()).index == (1,)
    assert caught(fp.fuse(lambda x: fp.sqrt(x)), x).index == (1,)


def test_prints_are_printed_once(capsys: Any) -> None:
    check(fp.fuse(lambda x: (fp.debug.print("{}", x), x + 1)[1]))(F32([1]))
    assert capsys.readouterr().out == "[1.]\n"


def test_effects_happen_once_and_their_results_are_checked(device: Any, m: Any) -> None:
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    counts = device.sgl.create_buffer(element_count=3, struct_size=4, usage=usage, data=np.zeros(3, F32))
    assert check(m.count)(counts, [0, 1], F32([4, 9])).tolist() == [2, 3]
    hidden = fp.fuse(lambda b, i, x: fp.where(x > 0, m.count(b, i, x), 0.0))
    assert check(hidden)(counts, np.int32([1, 2]), F32([4, -9])).tolist() == [2, 0]
    assert counts.to_numpy().view(F32).tolist() == [1, 2, 1]
    error = caught(m.count, counts, [0, 1], F32([4, -9]))
    assert "count: a result holds NaN" in str(error)
    assert (error.index, error.operands) == ((1,), {})
    assert caught(m.count, counts, 0, -9.0).index == ()
    assert counts.to_numpy().view(F32).tolist() == [3, 3, 1]
    assert caught(m.counts, counts, [0, 1], F32([4, -9])).index == (1,)


def test_inside_of_a_fused_function() -> None:
    with pytest.raises(fp.TraceError, match="inside of a fused function"):
        fp.fuse(lambda x: check(fp.sqrt)(x))(BAD)


def test_parameters_may_be_called_as_keywords_of_python(device: Any) -> None:
    m = fp.Module.load_from_source(device, "nan_keywords", "float root(float from, float lambda) { return sqrt(from) * lambda; }")
    with pytest.raises(fp.NonFiniteError, match="root gives NaN"):
        fp.debug.check_nan(m.root)(np.float32([1, -4]), 2.0)
