"""Arrays of numbers as arrays of structs, wherever a struct can be said: eager, declared, fused, lazily and in graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.functions import call as calls
from fusepy.modules.reload import forget_programs
from tests.support.slang_functions import F32, same

SOURCE = """
struct Ray { float3 position; float3 direction; float3 ahead(float t) { return position + t * direction; } };
enum Color { red, green };
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
void make(float3 p, out Ray ray) { ray.position = p; ray.direction = p * 2; }
int code(Color c) { return int(c); }
"""
RAYS = np.arange(24, dtype=F32).reshape(4, 6)
WANT = RAYS[:, :3] + 2 * RAYS[:, 3:]
LAYOUTS = {"(N, 6)": (4, 6), "(N*6,)": (24,), "(N, 2, 3)": (4, 2, 3)}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "struct_views", SOURCE)


def lazily(m: Any, a: Any) -> Any:
    with fp.lazy():
        return m.at.declare(m.Ray)(a, 2)


def graph(m: Any, a: Any) -> Any:
    made = fp.Graph(inputs=["a"])
    made.set_outputs(m.at.node()(fp.vcast(*made.get_inputs(), m.Ray), 2.0))
    return made(a)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "vcast": lambda m, a: m.at(fp.vcast(a, m.Ray), 2),
    "declare": lambda m, a: m.at.declare(m.Ray)(a, 2),
    "declare by name": lambda m, a: m.at.declare(ray=m.Ray)(ray=a, t=2),
    "fused": lambda m, a: fp.fuse(lambda a: m.at(fp.vcast(a, m.Ray), 2))(a),
    "fused, declared": lambda m, a: fp.fuse(lambda a: m.at(a, 2)).declare(m.Ray)(a),
    "declared inside": lambda m, a: fp.fuse(lambda a: m.at.declare(m.Ray)(a, 2))(a),
    "method": lambda m, a: fp.fuse(lambda a: fp.vcast(a, m.Ray).ahead(2))(a),
    "in a dict": lambda m, a: fp.fuse(lambda d: m.at(fp.vcast(d["rays"], m.Ray), d["t"]))({"rays": a, "t": 2.0}),
    "as numbers too": lambda m, a: fp.fuse(lambda a: m.at(fp.vcast(a, m.Ray), 2) + 0 * fp.sum(a))(a),
    "lazily": lazily,
    "graph": graph,
}


@pytest.mark.req("T8", "V2", "V4", "V5")
@pytest.mark.parametrize("way", WAYS)
def test_every_layout_in_every_way(m: Any, device: Any, way: str) -> None:
    for shape in LAYOUTS.values():
        array = RAYS.reshape(shape)
        for given in (array, fp.Tensor.from_numpy(device, array), array.tolist()):
            same(np.asarray(WAYS[way](m, given), F32), WANT)  # a list gives a list back, of Python floats


@pytest.mark.req("T8", "V11")
def test_extents_decide_how_many_axes_there_are(m: Any) -> None:
    look = fp.fuse(lambda a: m.at(fp.vcast(a, m.Ray), 2))
    for _ in range(2):
        same(look(RAYS), WANT)
        same(look(RAYS.reshape(2, 12)), WANT.reshape(2, 2, 3))  # the same key: two rays in each row
        same(look(RAYS[:3]), WANT[:3])
    before = fp.stats()
    same(look(RAYS + 1), WANT + 3)
    assert fp.stats().kernels_compiled == before.kernels_compiled


@pytest.mark.req("T8", "V11")
@pytest.mark.parametrize("way", ["fused", "fused, declared inside", "graph"])
def test_ranks_of_structs_under_one_key_are_compiled_once_each(
    m: Any, device: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = m.at.declare(m.Ray, fp.vmapping())
    call: Any = fp.fuse(lambda a, t: declared(a, t) if "," in way else m.at(fp.vcast(a, m.Ray), t))
    if way == "graph":
        call = fp.Graph(inputs=["a", "t"])
        a, t = call.get_inputs()
        call.set_outputs(m.at.node()(fp.vcast(a, m.Ray), t))
    cases = [((4, 6), WANT), ((2, 12), WANT.reshape(2, 2, 3)), ((1, 24), WANT.reshape(1, 4, 3)), ((4, 6), WANT)]

    def check() -> None:
        for shape, want in cases:
            same(call(RAYS.reshape(shape), 2.0), want)
            same(call(fp.Tensor.from_numpy(device, RAYS.reshape(shape)), 2.0).to_numpy(), want)

    check()
    with monkeypatch.context() as now:
        now.setattr(calls, "compile_call", None)
        check()
    assert all(len(p.programs) == 2 for p in call.programs.values())  # one for each rank
    forget_programs(device, [next(iter(call.programs.values())).sources[0].closure])  # as a reload does
    assert call.programs == {}
    check()


@pytest.mark.req("T8", "V5", "C10")
def test_declared_outputs_and_enums(m: Any) -> None:
    out = np.zeros((4, 6), F32)
    m.make.declare(fp.vmapping(0), m.Ray)(RAYS[:, :3], out)
    same(out, np.concatenate([RAYS[:, :3], 2 * RAYS[:, :3]], 1))
    same(fp.fuse(lambda c: m.code(fp.vcast(c, m.Color)))(np.int32([0, 1])), np.int32([0, 1]))
    assert fp.resolve(m.at.declare(m.Ray), RAYS, 2.0).types == [m.Ray.type, m.float]
    assert m.at.declare(m.Ray).explain(RAYS, 2.0).kernels == 1


@pytest.mark.req("T8", "T11")
def test_what_does_not_fit(m: Any) -> None:
    look = fp.fuse(lambda a: m.at(fp.vcast(a, m.Ray), 2))
    for call in (look, lambda a: m.at.declare(m.Ray)(a, 2)):
        for wrong, words in [
            (np.zeros((4, 5), F32), r"\(4, 5\) does not hold Ray"),
            (np.zeros((4, 6), np.int32), "int32 cannot be read as Ray"),
        ]:
            with pytest.raises(fp.UnsupportedArgumentError, match=words) as caught:
                call(wrong)
            assert str(caught.value).startswith("test_structs.py")
    same(look(RAYS), WANT)
    with pytest.raises(fp.UnsupportedArgumentError, match="does not hold Ray"):  # of a known key
        look(np.zeros((4, 5), F32))
