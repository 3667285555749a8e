"""`lower`, and the questions that are asked through it: of every kind of callable, with the keywords that calls take."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
struct Scaler {
    float by;
    __init(float by) { this.by = by; }
    float scaled(float x) { return x * by; }
};
uniform float gain;
float lift(float x) { return x * gain; }
float add(float a, float b) { return a + b; }
float texel(float3 c) { return c.x; }
RWStructuredBuffer<float> data;
[shader("compute")] [numthreads(32, 1, 1)] void fill(uint3 tid : SV_DispatchThreadID, uniform float k) { data[tid.x] = k; }
"""
X = np.arange(4, dtype=np.float32)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "lower_test", SOURCE)


def graph(m: Any) -> Any:
    made = fp.Graph(inputs=["x", "k"], name="made")
    x, k = made.get_inputs()
    made.set_outputs(m.add.node()(x, k))
    return made


class Scaler(fp.Struct):
    scaled: fp.Function

    def __init__(self, module: Any):
        super().__init__(module)
        self.by = 2.0


# a callable of each kind, with the arguments of a call
KINDS: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]] = {
    "function": lambda m: (m.add, (X, 1.0), {}),
    "function, by name": lambda m: (m.add, (), {"b": 1.0, "a": X}),
    "fused": lambda m: (fp.fuse(lambda x, k: m.add(x, k) * 2), (X, 1.0), {}),
    "fused, static": lambda m: (fp.fuse(lambda x, n=2: m.add(x, n), static=("n",)), (X,), {"n": 3}),
    "declared": lambda m: (m.add.declare(fp.vmapping(0), None), (X, 1.0), {}),
    "with a global": lambda m: (m.lift.set(gain=2.0), (X,), {}),
    "with a hook": lambda m: (m.lift.hook(lambda call: call.set(gain=2.0)), (X,), {}),
    "method of a type": lambda m: (m.Scaler.scaled, ({"by": 2.0}, X), {}),
    "method of an object": lambda m: (Scaler(m).scaled, (X,), {}),
    "graph": lambda m: (graph(m), (X, 1.0), {}),
    "node": lambda m: (m.add.node(), (X, 1.0), {}),
    "node of a graph": lambda m: (graph(m).node(), (X, 1.0), {}),
    "sized by its result": lambda m: (m.add, (fp.rand_float(0, 1), 1.0), {}),
    "with a number of threads": lambda m: (m.add, (fp.rand_float(0, 1),), {"b": 1.0, "_thread_count": 4}),
}


def called(f: Any) -> Any:
    """What runs the call: a node is called inside of graphs only."""
    return f.function if isinstance(f, fp.Node) else f


@pytest.mark.req("V13", "F14")
@pytest.mark.parametrize("kind", daily(KINDS, "function, by name", "fused, static", "method of an object", "node of a graph"))
def test_every_question_takes_the_call(m: Any, device: Any, tmp_path: Path, kind: str) -> None:
    f, args, kwargs = KINDS[kind](m)
    results: list[Any] = [fp.Tensor.zeros(device, 4), np.zeros(4, np.float32)]
    if "sized" not in kind:
        results += [None, "numpy", "tensor"]
    stats = fp.stats()
    for result in results:

        def ask(question: str, *path: Any, result: Any = result, **more: Any) -> Any:
            return getattr(f, question)(*path, *args, _result=result, **kwargs, **more)

        lowered = ask("lower")
        assert lowered.ir() == ask("ir")
        assert "graph @" in lowered.ir()
        assert lowered.ir("fuse_chains") == ask("ir", after="fuse_chains") != lowered.ir()
        assert lowered.source() == ask("source")
        assert "[numthreads" in lowered.source()
        assert str(lowered.explain()) == str(ask("explain"))
        assert lowered.explain().kernels == 1
        assert lowered.to_dot() == ask("to_dot")
        assert set(lowered.to_networkx()) == set(ask("to_networkx"))
        ask("to_html", tmp_path / "page.html", _measure=False)
        assert "numthreads" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(np.all(np.asarray(r) == 0) for r in results[:2])  # nothing has run
    assert (fp.stats().dispatches, fp.stats().kernels_compiled) == (stats.dispatches, stats.kernels_compiled)
    called(f)(*args, _result=results[0], **kwargs)
    assert np.asarray(results[0]).any()


@pytest.mark.req("V13")
def test_the_page_is_measured_with_a_result(m: Any, device: Any, tmp_path: Path) -> None:
    out = fp.Tensor.zeros(device, 4)
    m.lift.set(gain=2.0).to_html(tmp_path / "page.html", X, _result=out)
    assert not np.asarray(out).any()


def shifted(f: Any, tensor: Any) -> Any:
    return f(tensor[1:], 1.0, _result=tensor[:4])


REFUSED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "a word that names no container": lambda m: lambda f: f(X, 1.0, _result="nump"),
    "an unknown name": lambda m: lambda f: f(X, 1.0, foo=2),
    "no argument": lambda m: lambda f: f(),
    "an argument of no kind": lambda m: lambda f: f(X, 1j),
    "an encoder": lambda m: lambda f: f(m.device.sgl.create_command_encoder(), 1.0),
    "no extents": lambda m: lambda f: f(fp.rand_float(0, 1), 1.0),
    "a destination of another shape": lambda m: lambda f: f(X, 1.0, _result=np.empty(5, np.float32)),
    "a destination that is a tensor of another shape": lambda m: lambda f: f(X, 1.0, _result=fp.Tensor.zeros(m.device, 5)),
    "a destination that is read-only": lambda m: lambda f: f(X, 1.0, _result=np.broadcast_to(np.float32(0), (4,))),
    "a destination that other threads read": lambda m: lambda f: shifted(f, fp.Tensor.zeros(m.device, 5)),
    "more destinations than results": lambda m: lambda f: f(X, 1.0, _result=[np.empty(4, np.float32), np.empty(4, np.float32)]),
    "a destination of no kind": lambda m: lambda f: f(X, 1.0, _result=1.0),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", ["function", "fused", "graph", "declared"])
def test_errors_are_those_of_the_call(m: Any, kind: str, name: str) -> None:
    f, _, _ = KINDS[kind](m)
    call = REFUSED[name](m)
    said: list[str] = []
    for ask in (f, f.source, f.explain, *([f.lower] if "destination" in name else ())):
        with pytest.raises(fp.FusepyError) as caught:
            call(ask)
        said.append(f"{type(caught.value).__name__} {caught.value}")
    assert len(set(said)) == 1, said
    assert "test_lower.py" in said[0]


def test_pending_arguments_stay_pending(m: Any, device: Any) -> None:
    with fp.lazy():
        y = m.add(fp.Tensor.from_numpy(device, X), 1.0)
    dispatches = fp.stats().dispatches
    assert m.add.explain(y, 2.0).kernels == 1
    assert "float a" in m.add.source(y, 2.0)
    m.add.lower(y, 2.0, _result=fp.Tensor.zeros(device, 4))
    assert fp.stats().dispatches == dispatches
    np.testing.assert_array_equal(m.add(y, 2.0), X + 3)


def test_what_has_no_kernel_of_its_own(m: Any, tmp_path: Path) -> None:
    asked = ("lower", "ir", "source", "explain", "to_dot", "to_networkx")
    for name in asked:
        with pytest.raises(fp.ArgumentError, match=r"an entry point, which runs as it is(.|\n)*fill\.threads"):
            getattr(m.fill, name)(k=1.0)
        with pytest.raises(fp.ArgumentError, match=r"runs Slang as it is written(.|\n)*fill\.source"):
            getattr(m.fill.threads(32), name)(k=1.0)
        with pytest.raises(fp.ArgumentError, match=rf"float3 runs inside of kernels(.|\n)*m\.float3\(x\)\)\.{name}\(x\)"):
            getattr(m.float3, name)(1.0, 2.0, 3.0)
        if name not in ("to_dot", "to_networkx"):  # which show the nodes
            with pytest.raises(fp.GraphError, match="set_outputs"):
                getattr(fp.Graph(inputs=[]), name)()
    with pytest.raises(fp.UnknownNameError, match="Scaler has no method or sub-type named 'sorce'"):
        m.Scaler.sorce(2.0)
    assert "Scaler" in m.Scaler.source(X)
    assert m.Scaler.node().explain(X).kernels == 1
    empty = fp.Graph(inputs=[])
    empty.set_outputs(m.add.node()(1.0, 2.0))
    assert empty.explain().kernels == 1
    graph(m).to_html(tmp_path / "built.html")
    assert "1 node<" in (tmp_path / "built.html").read_text(encoding="utf-8")


def test_a_call_into_an_encoder_is_described_as_any_other(device: Any) -> None:
    m = fp.Module.load_from_source(device, "lower_encoder", SOURCE)  # of no call that a description could compare with
    encoder = device.sgl.create_command_encoder()
    for f in (m.add, fp.fuse(lambda x, k: m.add(x, k) * 2)):
        for name in ("ir", "source", "explain"):
            assert str(getattr(f, name)(X, 1.0, _append_to=encoder)) == str(getattr(f, name)(X, 1.0))
    with pytest.raises(fp.ArgumentError, match="takes a command encoder"):
        m.add.ir(X, 1.0, _append_to=3)


def test_cache_says_whether_the_call_is_compiled(m: Any, device: Any) -> None:
    f = m.add.strict(False)
    known = "a program for such arguments is there"
    for args, kwargs, new in (
        ((X, 1.0), {}, True),
        ((X, 1.0), {"_result": "numpy"}, True),
        ((X, 1.0), {"_result": fp.Tensor.zeros(device, 4)}, False),
        ((X,), {"b": 1.0}, True),
    ):
        assert (f.explain(*args, **kwargs).cache != known) == new
        f(*args, **kwargs)
        assert f.explain(*args, **kwargs).cache == known


@pytest.mark.req("F6")
def test_functions_are_copied_and_keep_their_names(m: Any) -> None:
    def look(x: Any) -> Any:
        """Looks."""
        return m.add(x, 1)

    fused = fp.fuse(look)
    for f, name in ((m.add, "add"), (fused, "look"), (fused.return_type("numpy"), "look"), (graph(m), "made")):
        made = copy.copy(f)
        assert (made.__name__, repr(made), type(made)) == (f.__name__, repr(f), type(f)) == (name, repr(f), type(f))
        assert made.programs is f.programs
    assert fused.set({}).__doc__ == "Looks."
    assert fused.set({}).__wrapped__ is look
    assert isinstance(m.add.options(numthreads=[8]), fp.Function)
    assert isinstance(graph(m).return_type("numpy"), fp.FusedFunction)
