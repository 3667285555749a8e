"""`t[i]` of values whose elements have parts: one meaning call by call, fused, lazy and as a graph.

An index goes along the axes. A value without axes has components, as has what a vcast makes of each element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.functions.test_modes_random import differs, plain
from tests.functions.test_modes_table import outcome

SOURCE = """
struct Ray { float3 position; float t; };
float3 same(float3 c) { return c; }
float2x2 same(float2x2 m) { return m; }
float[4] same(float a[4]) { return a; }
Ray same(Ray r) { return r; }
"""
KINDS = {
    "float3": (4, 3),
    "float3 image": (2, 4, 3),
    "float3 alone": (3,),
    "float2x2": (4, 2, 2),
    "float2x2 alone": (2, 2),
    "float[4]": (5, 4),
}
INDICES: dict[str, Callable[[Any], Any]] = {
    "1": lambda t: t[1],
    "-1": lambda t: t[-1],
    "3": lambda t: t[3],
    "7": lambda t: t[7],
    "an int of NumPy": lambda t: t[np.int64(1)],
    "0, 1": lambda t: t[0, 1],
    "..., 0": lambda t: t[..., 0],
    "1:3": lambda t: t[1:3],
    "None": lambda t: t[None],
    "a list": lambda t: t[[1, 0, -1]],
    "an array": lambda t: t[np.int32([1, 0])],
    "twice": lambda t: t[1][1],
    "numbers": lambda t: t.flatten_dtype()[..., 1],
}
INSIDE: dict[str, Callable[[Any], Any]] = {  # what graphs do not tell
    "len": lambda t: fp.sum(t.flatten_dtype()) * len(t),
    "rows": lambda t: fp.stack(list(t)),
    "unpacked": lambda t: fp.stack([*t][:2]),
}
SOURCES: dict[str, Callable[[Any, Any], Any]] = {
    "an argument": lambda m, t: t,
    "a call": lambda m, t: m.same.node()(t) if isinstance(t, fp.GraphValue) else m.same(t),
    "an operator": lambda m, t: t + 1,
    "a cast": lambda m, t: t.astype("half"),
    "a view": lambda m, t: t[None][0],
}


DAILY = (("float3", "an argument"), ("float3 alone", "a call"), ("float2x2", "an operator"), ("float[4]", "a view"))


def drawn(m: Any, kind: str) -> Any:
    shape = KINDS[kind]
    return fp.Tensor.from_numpy(m.device, np.arange(np.prod(shape), dtype=np.float32).reshape(shape), kind.split()[0])


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "mode_parts", SOURCE)


def findings(program: Callable[[Any], Any], t: Any, graphs: bool = True) -> list[str]:
    """What the modes do otherwise than the eager call."""

    def late() -> Any:
        with fp.lazy():
            return program(t)

    def graph() -> Any:
        made = fp.Graph(inputs=["t"])
        made.set_outputs(program(*made.get_inputs()))
        return made(t)

    eager = outcome(lambda: program(t))
    found: list[str] = []
    for mode, run in {"fused": lambda: fp.fuse(program)(t), "lazy": late, **({"graph": graph} if graphs else {})}.items():
        made = outcome(run)
        if isinstance(eager, type) or isinstance(made, type):
            found += [] if isinstance(eager, type) and isinstance(made, type) else [f"{mode}: {made}, not {eager}"]
        elif word := differs(made[0], eager[0], late=mode == "lazy"):
            found.append(f"{mode}: {word}")
    return found


@pytest.mark.req("V3")
@pytest.mark.parametrize(
    ("kind", "source"),
    [
        pytest.param(kind, source, marks=[pytest.mark.rest] * ((kind, source) not in DAILY))
        for kind in KINDS
        for source in SOURCES
        if kind != "float[4]" or source not in ("an operator", "a cast")  # fixed arrays have neither
    ],
)
def test_an_index_means_the_same_in_every_mode(m: Any, kind: str, source: str) -> None:
    found: list[str] = []
    for name, index in {**INDICES, **INSIDE}.items():
        words = findings(lambda t, i=index: i(SOURCES[source](m, t)), drawn(m, kind), name in INDICES)
        found += [f"[{name}], {w}" for w in words]
    assert not found, "\n".join(found)


def test_an_index_goes_along_the_axes_and_then_into_a_single_element(m: Any) -> None:
    t = drawn(m, "float3")
    rows = fp.fuse(lambda t: (t[1], t[-1], t[1][2], t[[0, 3]], [*t][2]))(t)
    assert [plain(r).tolist() for r in rows] == [[3, 4, 5], [9, 10, 11], 5, [[0, 1, 2], [9, 10, 11]], [6, 7, 8]]
    a = drawn(m, "float2x2")
    assert plain(fp.fuse(lambda a: a[1][0])(a)).tolist() == [4, 5]
    assert (a[1][0].dtype.name, a[1][0].shape) == ("float2", ())
    a[1][0][...] = 7.0  # views
    assert a.numpy()[1].tolist() == [[7, 7], [6, 7]]


PARTS: dict[str, tuple[Callable[[Any], Any], str, Callable[[Any], Any]]] = {
    "a component": (lambda c: fp.vcast(c, "float3")[1], "float3", lambda x: x[:, 1]),
    "the last": (lambda c: fp.vcast(c, "float3")[-1], "float3 image", lambda x: x[..., -1]),
    "a row": (lambda c: fp.vcast(c, "float2x2")[1], "float2x2", lambda x: x[:, 1]),
    "an element": (lambda c: fp.vcast(c, "float[4]")[2], "float[4]", lambda x: x[:, 2]),
    "all": (lambda c: fp.stack(list(fp.vcast(c, "float3"))), "float3", lambda x: x.T),
    "how many": (lambda c: fp.vcast(c, "float3").x * len(fp.vcast(c, "float3")), "float3", lambda x: 3 * x[:, 0]),
    "of axes": (lambda c: fp.vcast(c, "float3")[1, ...], "float3", lambda x: x[1]),
    "of another type": (lambda c: fp.vcast(c, "half3")[0, ...], "float3", lambda x: x[0]),
    "of what is computed": (lambda c: (fp.vcast(c, "float3") * 2)[1], "float3", lambda x: 2 * x[1]),
}


@pytest.mark.parametrize("name", PARTS)
def test_an_index_of_a_vcast_is_a_part_of_each_element(m: Any, name: str) -> None:
    of, kind, wanted = PARTS[name]
    t = drawn(m, kind)
    for given in (t, t.numpy()):
        np.testing.assert_allclose(plain(of(given)), wanted(t.numpy()))
        assert not findings(of, given, "list" not in name and name not in ("all", "how many")), name


def test_indices_that_no_single_element_has_are_refused(m: Any) -> None:
    for of in (lambda c: c[3], lambda c: c[-4], lambda c: fp.vcast(c, "float3")[3]):
        for run in (of, fp.fuse(of)):
            with pytest.raises(fp.FusepyError, match=r"index -?[34] of a float3"):
                run(drawn(m, "float3 alone"))
    with pytest.raises(fp.ArgumentError, match="index the value before"):
        _ = fp.vmap(drawn(m, "float3"), (0,))[1]
    with pytest.raises(fp.UnsupportedArgumentError, match="to_numpy"):
        fp.fuse(lambda r: r.flatten_dtype())(fp.zeros(2, m.Ray))
