"""`fusepy.debug.print`: values of traced values, once the call has run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.debug import print as debug_print  # as users write it: fp.debug.print

F32 = np.float32
X = F32([1, 4, 9])
SOURCE = """
struct Ray { float3 at; float t; };
[Differentiable] float twice(float x) { return 2 * x; }
Ray ray(float x) { Ray r; r.at = float3(x, 0, 1); r.t = x; return r; }
float3 three(float x) { return float3(x, 0, 1); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "printing", SOURCE)


@pytest.fixture
def said(capsys: Any) -> Any:
    """A function that returns the lines that were printed since it was called last."""
    return lambda: capsys.readouterr().out.splitlines()


def traced(text: str, *more: Any, **named: Any) -> Any:
    """A function that prints its argument's root, and returns twice that."""

    def root(x: Any) -> Any:
        y = fp.sqrt(x)
        fp.debug.print(text, y, *more, **named)
        return y * 2

    return fp.fuse(root)


def test_each_call_prints_its_values(said: Any) -> None:
    assert debug_print is fp.debug.print
    f = traced("y = {}")
    for x in (X, X * 4, X):  # the first is traced, later ones have a known key
        assert f(x).tolist() == (2 * np.sqrt(x)).tolist()
        assert said() == [f"y = {np.sqrt(x)}"]
    assert f([4.0]) == [4.0]
    assert said() == ["y = [2.]"]
    assert f(16.0) == 8.0
    assert said() == ["y = 4.0"]


def test_it_stores_what_is_printed_in_the_same_kernel(device: Any) -> None:
    f, x = traced("{}"), fp.Tensor.from_numpy(device, X)
    assert f.explain(x).kernels == 1
    assert f.source(x).count("sqrt(") == 1


def test_formats(m: Any, said: Any) -> None:
    def many(x: Any, k: Any) -> Any:
        fp.debug.print("{1} of {0:.2f}, {k:>5}, {k!r}, {{}}, {text:*^5}", k / 3, x, k=k, text="ab")
        fp.debug.print("{:.1e}", x)
        fp.debug.print("{} {}", {"a": [x, 2.5]}, (k, "b", None))
        fp.debug.print("{}", m.three(k))
        fp.debug.print("{}", m.ray(k))
        fp.debug.print("no values")
        fp.debug.print("{}", x > 1)
        fp.debug.print("{:{width}.1f}", k, width=6)
        fp.debug.print("{!s:>24}", m.ray(k))
        return x

    fp.fuse(many)(X, 2.0)
    fused = said()
    assert fused == [
        "[1. 4. 9.] of 0.67,   2.0, 2.0, {}, *ab**",
        "[1.0e+00 4.0e+00 9.0e+00]",
        "{'a': [[1. 4. 9.], 2.5]} (2.0, 'b', None)",
        "[2. 0. 1.]",
        "([2.0, 0.0, 1.0], 2.0)",
        "no values",
        "[False  True  True]",
        "   2.0",
        "  ([2.0, 0.0, 1.0], 2.0)",
    ]


def test_long_arrays_are_printed_in_short(said: Any) -> None:
    traced("{}")(np.ones((50, 60), F32))
    assert said() == str(np.ones((50, 60), F32)).splitlines()


def test_eagerly_it_prints_at_once(device: Any, m: Any, said: Any) -> None:
    x = fp.Tensor.from_numpy(device, X)
    fp.debug.print("{} {a:.2f} {b}", x, a=1, b="c")
    fp.debug.print("{:.0f}", m.twice(x))
    fp.debug.print("{}", fp.vcast(np.ones((2, 3), F32), "float3"))
    with fp.lazy():
        fp.debug.print("{}", m.twice(m.twice(x)))
    assert said() == ["[1. 4. 9.] 1.00 c", "[2 8 18]", "[[1. 1. 1.]", " [1. 1. 1.]]", "[ 4. 16. 36.]"]


def test_in_the_order_of_the_program(m: Any, said: Any) -> None:
    inner = fp.fuse(lambda x: (fp.debug.print("inner {}", fp.max(x)), m.twice(x))[1])

    @fp.fuse
    def outer(x: Any) -> Any:
        fp.debug.print("first")
        y = inner(x)
        for i in range(2):
            y = inner(y)
            fp.debug.print("step {} {}", i, fp.sum(y))
        return fp.mean(y)

    outer(X)
    assert said() == ["first", "inner 9.0", "inner 18.0", "step 0 56.0", "inner 36.0", "step 1 112.0"]


def test_nothing_but_prints(said: Any) -> None:
    f = fp.fuse(lambda x: fp.debug.print("{}", x + 1))
    assert f(X) is None
    assert f(X) is None
    assert said() == ["[ 2.  5. 10.]"] * 2


def test_destinations_and_containers(device: Any, said: Any) -> None:
    f, x, out = traced("{}"), fp.Tensor.from_numpy(device, X), np.empty(3, F32)
    target = fp.Tensor.zeros(device, 3)
    f(x, _result=target)
    f(X, _result=out)
    assert target.tolist() == out.tolist() == [2, 4, 6]
    assert f(x, _result="list") == [2, 4, 6]
    two = fp.fuse(lambda x: (x, fp.debug.print("{}", x), x + 1)[::2])
    two(x, _result=(target, fp.Tensor.zeros(device, 3)))
    assert target.tolist() == X.tolist()
    assert said() == ["[1. 2. 3.]"] * 3 + ["[1. 4. 9.]"]
    with pytest.raises(fp.ArgumentError, match="a tuple cannot receive a result"):
        f(x, _result=(target, target))


def test_gradients_print_once(m: Any, said: Any) -> None:
    def loss(x: Any) -> Any:
        y = m.twice(x)
        fp.debug.print("{}", y)
        return fp.sum(y * y)

    assert fp.grad(loss)(X).tolist() == (8 * X).tolist()
    assert said() == ["[ 2.  8. 18.]"]
    _, pull = fp.vjp(loss, X)
    assert said() == ["[ 2.  8. 18.]"]
    assert pull(1.0)[0].tolist() == (8 * X).tolist()
    assert said() == []
    fp.jvp(loss, (X,), (X,))
    assert said() == ["[ 2.  8. 18.]"]
    x = fp.differentiable(X)
    fp.fuse(loss).bwds(x)
    assert said() == []
    assert x.grad.tolist() == (8 * X).tolist()


def test_torchs_tensors(said: Any) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 4.0, 9.0], requires_grad=True)
    f = traced("{}")
    f(x).sum().backward()
    assert x.grad.tolist() == pytest.approx((1 / np.sqrt(X)).tolist())
    f(x.detach())
    fp.debug.print("{:.1f}", x)
    fp.debug.print("{}", x.detach().to(torch.bfloat16))
    assert said() == ["[1. 2. 3.]"] * 2 + ["[1.0 4.0 9.0]", "[1. 4. 9.]"]


def test_declared_functions_lazy_calls_and_graphs(said: Any) -> None:
    f = traced("{}")
    f.declare(fp.vmapping(0))(X)
    with fp.lazy():
        y = f(fp.Tensor([1.0, 4.0]))
        assert said() == ["[1. 2. 3.]", "[1. 2.]"]  # at once: a call that prints does not wait
    assert y.tolist() == [2, 4]
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(f.node()(*graph.get_inputs()))
    graph([16.0])
    assert said() == ["[4.]"]


def test_captures_print_at_each_replay(device: Any, said: Any) -> None:
    x = fp.Tensor.from_numpy(device, X)
    capture = fp.capture(traced("{}"), x)
    assert said() == ["[1. 2. 3.]"]
    capture.replay()
    x.copy_from_numpy(X * 4)
    capture.replay()
    assert said() == ["[1. 2. 3.]", "[2. 4. 6.]"]


def test_encoders_are_refused(device: Any) -> None:
    encoder = device.sgl.create_command_encoder()
    with pytest.raises(fp.ArgumentError, match=r"root\.append_to\(\): debug\.print\(\)"):
        traced("{}").append_to(encoder, fp.Tensor.from_numpy(device, X))


@pytest.mark.parametrize(
    "body",
    [
        lambda x: fp.fori_loop(0, 3, lambda i, c: (fp.debug.print("{}", c), c + i)[1], x),
        lambda x: fp.while_loop(lambda c: c < 3, lambda c: (fp.debug.print("{}", c), c + 1)[1], x),
        lambda x: fp.cond(x > 1, lambda: (fp.debug.print("{}", x), x)[1], lambda: x),
    ],
    ids=["fori_loop", "while_loop", "cond"],
)
def test_bodies_are_refused(body: Any) -> None:
    with pytest.raises(fp.TraceError, match=r"test_printing\.py:\d+: debug\.print\(\) inside the body of") as caught:
        fp.fuse(body)(X)
    assert "Python loop" in caught.value.hint


@pytest.mark.parametrize(
    ("args", "named", "words"),
    [
        (("{} {}", 1), {}, "no value for position 1"),
        (("{}", 1, 2), {}, "no field for position 1"),
        (("{x}", 1), {}, "no value for 'x'"),
        (("{}", 1), {"y": 2}, "no field for 'y'"),
        (("{0} {", 1), {}, "the format '{0} {' is invalid"),
        (("{.x}", 1), {}, "takes a part of a value"),
        (("{a[0]}",), {"a": [1]}, "takes a part of a value"),
        (("{:d}", 1.5), {}, "does not take 'd'"),
        ((1.0,), {}, "the first argument is the format"),
        (("{} {0}", 1), {}, "fields with a number and fields without one"),
        (("{0:{}}", 1, 2), {}, "fields with a number and fields without one"),
        (("{!z}", 1), {}, "has the conversion 'z'"),
        (("{!r:d}", 1), {}, "does not take 'd'"),
        (("{:{}}", 1.5, "d"), {}, "does not take its specification"),
    ],
)
def test_formats_that_do_not_fit(args: Any, named: Any, words: str) -> None:
    for call in (lambda: fp.debug.print(*args, **named), lambda: fp.fuse(lambda x: fp.debug.print(*args, **named))(X)):
        with pytest.raises(fp.ArgumentError, match=r"^test_printing\.py:\d+: debug\.print\(\): ") as caught:
            call()
        assert words in str(caught.value)


def test_formats_that_traced_values_do_not_take(m: Any) -> None:
    for f in (lambda x: fp.debug.print("{:d}", x), lambda x: fp.debug.print("{:.2f}", m.ray(x))):
        with pytest.raises(fp.ArgumentError, match="does not take"):
            fp.fuse(f)(X)


def test_values_of_graphs_are_refused() -> None:
    (x,) = fp.Graph(inputs=["x"]).get_inputs()
    with pytest.raises(fp.GraphError):
        fp.debug.print("{}", x)
