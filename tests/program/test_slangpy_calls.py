"""Calls as slangpy has them: call groups and ``CallShapeInfo``, larger destinations, addresses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
import slangpy;
int[3 * N] places<let N : int>(CallShapeInfo call, CallShapeInfo group, CallShapeInfo lane)
{
    int[3 * N] found;
    for (int i = 0; i < N; ++i)
    {
        found[i] = call.shape[i];
        found[N + i] = group.shape[i];
        found[2 * N + i] = lane.shape[i];
    }
    return found;
}
int[6] two(uint2 p)
{
    return places<2>(CallShapeInfo::get_call_id(), CallShapeInfo::get_call_group_id(), CallShapeInfo::get_call_group_thread_id());
}
int[15] five(int[5] p)
{
    return places<5>(CallShapeInfo::get_call_id(), CallShapeInfo::get_call_group_id(), CallShapeInfo::get_call_group_thread_id());
}
"""
PLAIN = """
struct Ball { float2 at; int n; __init(float2 at) { this.at = at; n = 1; } };
int same(int x) { return x; }
float twice(float x) { return 2 * x; }
int at(int i, int* values) { return values[i]; }
float2 place(Ball b) { return b.at; }
struct Held { Ball b; int k[2]; };
Held pair(int n) { Held h; h.b = Ball(float2(n)); h.k = { n, n + 1 }; return h; }
struct Nothing { float three() { return 3; } };
float nothing(Nothing n) { return n.three(); }
struct Pair { int vals[2]; float k; };
float weigh(Pair p, float by = 1) { return (p.vals[0] + p.vals[1]) * p.k * by; }
int first(Pair p[2]) { return p[0].vals[0]; }
int[6] coordinates(int[6] p) { return p; }
"""


@pytest.fixture(scope="module")
def told(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "told", SOURCE)


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "slangpy_calls", PLAIN)


@pytest.mark.parametrize(
    ("shape", "group"),
    [((5, 7), ()), ((5, 7), (2, 3)), ((4, 6), (4,)), ((1, 2), (8, 8)), ((9, 7, 5, 3, 2), (2, 3, 2, 2, 2)), ((2, 2, 3, 4, 5), ())],
)
def test_user_code_learns_its_place_in_the_call_and_in_its_group(told: fp.Module, shape: Any, group: Any) -> None:
    rank = len(shape)
    function = (told.two if rank == 2 else told.five).call_group_shape(fp.Shape(group))
    found = np.moveaxis(function(fp.grid(shape), _result="numpy"), -1, 0)
    sizes = (1,) * (rank - len(group)) + group
    for axis, (place, size) in enumerate(zip(np.indices(shape), sizes)):
        assert (found[axis] == place).all()
        assert (found[rank + axis] == place // size).all()
        assert (found[2 * rank + axis] == place % size).all()


def test_a_function_of_one_number_learns_its_place(device: Any) -> None:
    source = "import slangpy; int at(float x) { return CallShapeInfo::get_call_id().shape[0]; }"
    found = fp.Module.load_from_source(device, "place_of_numbers", source).at(fp.zeros(5))
    assert found.tolist() == [0, 1, 2, 3, 4]


def test_groups_that_do_not_fit_are_refused(m: fp.Module) -> None:
    with pytest.raises(fp.ArgumentError, match=r"call_group_shape\[1\] = 0"):
        m.same.call_group_shape((2, 0))
    with pytest.raises(fp.ArgumentError, match=r"call_group_shape\[1\] = -1"):
        m.same.call_group_shape(fp.Shape(2, -1))
    for use in (lambda s: fp.Tensor.zeros(m.device, s), m.same):
        with pytest.raises(fp.ShapeError, match="negative extent"):
            use(fp.Shape(-1))
    with pytest.raises(fp.ArgumentError, match="3 dimensions"):
        m.same.call_group_shape((2, 2, 2))([[1, 2]])
    assert m.same.call_group_shape(())([1, 2]) == [1, 2]


def test_coordinates_of_many_dimensions(m: fp.Module) -> None:
    shape = (1, 2, 1, 3, 2, 2)
    found = m.coordinates(fp.grid(shape, offset=(0, 1, 0, 0, 0, 5)), _result="numpy")
    assert (
        np.moveaxis(found, -1, 0) == np.indices(shape) + np.array([0, 1, 0, 0, 0, 5])[:, None, None, None, None, None, None]
    ).all()


def test_destinations_with_more_axes_than_the_arguments(m: fp.Module) -> None:
    to = fp.Tensor.empty(m.device, (2, 3), "int")
    m.same([1, 2, 3], _result=to)
    assert to.tolist() == [[1, 2, 3]] * 2
    balls = fp.Tensor.empty(m.device, (4,), m.Ball)
    m.Ball(fp.float2(1, 2), _result=balls)
    assert balls.to_numpy()["at"].tolist() == [[1, 2]] * 4
    for bad in (fp.Tensor.empty(m.device, (2,), "int"), fp.Tensor.empty(m.device, (3, 2), "int")):
        with pytest.raises(fp.ShapeError, match="does not fit"):
            m.same([1, 2, 3], _result=bad)


def test_lists_of_structs_are_an_axis_where_a_function_takes_one(m: fp.Module) -> None:
    pairs = [{"vals": [1, 2], "k": 1.5}, {"vals": [3, 4], "k": 0.5}, {"vals": [5, 6], "k": 2.0}]
    for values in (pairs, [*pairs, pairs[0]]):
        found = [(p["vals"][0] + p["vals"][1]) * p["k"] for p in values]
        assert m.weigh(values, _result="list") == found
        assert m.weigh([{"_type": "Pair", **p} for p in values], _result="list") == found
        assert m.weigh(p=values, _result="list") == found  # the second call finds the program
        assert fp.fuse(lambda p: m.weigh(p) + 1)(values, _result="numpy").tolist() == [x + 1 for x in found]
    assert m.weigh.map((0,), (1,))(pairs, [1.0, 10.0], _result="numpy").tolist() == [[4.5, 45.0], [3.5, 35.0], [22.0, 220.0]]
    assert m.weigh.source(pairs) == m.weigh.source(pairs[:2])
    assert m.first([{"vals": [7, 2], "k": 1.5}, {"vals": [3, 4], "k": 0.5}]) == 7  # an array of structs stays one
    with pytest.raises(fp.UnsupportedArgumentError, match="a list of 2"):
        m.weigh([{"vals": fp.Tensor([1, 2]), "k": 1.0}, {"vals": fp.Tensor([1, 2]), "k": 1.0}])


@pytest.mark.filterwarnings("error")  # of double precision, which no vector has
def test_a_function_of_numbers_runs_for_each_component_of_a_vector(m: fp.Module) -> None:
    to = fp.Tensor.empty(m.device, (3,), "float")
    m.twice(fp.float3(1, 2, 3), _result=to)
    assert to.tolist() == [2, 4, 6]
    for _ in range(2):  # the second call finds the program
        assert np.asarray(m.twice(fp.float2(1, 2))).tolist() == [2, 4]
    assert np.asarray(fp.fuse(lambda v: m.twice(v))(fp.float2(1, 2))).tolist() == [2, 4]
    assert np.asarray(m.same(fp.int2(1, 2))).tolist() == [1, 2]
    with pytest.raises(fp.NoMatchError, match="Uniform<float3>"):
        m.same(fp.float3(1, 2, 3))


def test_one_struct_is_a_dict_and_an_argument_again(m: fp.Module) -> None:
    ball = m.Ball(fp.float2(1, 2))
    assert ball == {"at": [1, 2], "n": 1, "_type": "Ball"}
    assert np.asarray(m.place(ball)).tolist() == [1, 2]
    assert m.pair(3) == {"b": {"at": [3, 3], "n": 1}, "k": [3, 4], "_type": "Held"}


def test_preludes_and_linked_modules(device: Any) -> None:
    source = "extern static const int STEPS; extern struct Gain : IGain; interface IGain { static float by(); } "
    source += "float steps(float x) { return STEPS * x; } float gain(float x) { return x * Gain::by(); }"
    m = fp.Module.load_from_source(device, "linking", source)
    gains = [f"struct G : IGain {{ static float by() {{ return {k}; }} }}; export struct Gain : IGain = G;" for k in (3, 5)]
    assert [m.gain.prelude(g)(2.0) for g in gains] == [6, 10]
    with pytest.raises(fp.CompileError, match="nothing"):
        m.gain.prelude("float f() { return nothing; }")(2.0)
    other = device.load_module_from_source("link_steps", "export static const int STEPS = 4;")
    linked = fp.Module(device.load_module_from_source("linking_slangpy", source), link=[other])
    assert linked.steps([1.0, 2.0]) == [4, 8]
    assert fp.fuse(lambda x: linked.steps(x) + 1)(3.0) == 13


def test_a_writer_sets_globals(device: Any) -> None:
    source = "struct P { float k; float2 v; }; ParameterBlock<P> params; uniform float u; "
    m = fp.Module.load_from_source(device, "writer", source + "float f(float x) { return params.k * x + params.v.y + u; }")

    def writer(cursor: Any, u: float) -> None:
        cursor.write({"params": {"k": 2.0}})
        cursor.params.v = [5.0, 7.0]
        cursor["u"] = u

    assert m.f.write(writer, u=100.0)([1.0, 2.0]) == [109, 111]


def test_packed_arguments_are_snapshots(m: fp.Module) -> None:
    held = {"vals": [1, 2], "k": 1.5}
    packed = fp.pack(m, [held, held])
    held["k"] = 99.0
    assert m.weigh(packed, _result="list") == [4.5, 4.5]


def test_a_dict_of_destinations_receives_the_members_of_a_struct(m: fp.Module) -> None:
    at, n = fp.Tensor.empty(m.device, (2, 3), "float2"), np.zeros(3, np.int32)
    to = {"at": at, "n": n}
    balls = m.Ball(np.arange(6, dtype=np.float32).reshape(3, 2), _result=to)
    assert balls["n"].tolist() == [1, 1, 1]
    assert to["n"] is n
    assert n.tolist() == [1, 1, 1]
    assert at.tolist() == [[[0, 1], [2, 3], [4, 5]]] * 2  # repeated along more axes
    m.Ball(fp.float2(7, 8), _result={"at": at[0], "n": 5})  # a single value stays
    assert at[0].tolist() == [[7, 8]] * 3
    count = fp.intRef(9)
    m.Ball(fp.float2(7, 8), _result={"at": fp.ValueRef(fp.float2(0)), "n": count})
    assert count.value == 1


def test_generators_in_fields_take_the_extents_of_the_result(m: fp.Module) -> None:
    to = fp.Tensor.empty(m.device, (64,), "float2")
    m.place({"at": fp.rand_float(5, 6, 2), "n": 3}, _result=to)
    found = to.to_numpy()
    assert ((found >= 5) & (found < 6)).all()
    assert np.unique(found).size > 100
    assert m.nothing({"_type": "Nothing"}) == 3  # a struct without members


def test_integers_go_into_floats_and_floats_not_into_integers(m: fp.Module) -> None:
    for kind in ("float", "double"):
        to = fp.Tensor.empty(m.device, (2, 3), kind)
        for first in (1, 5):  # the second call finds the conversion
            m.same([first, 2, 3], _result=to)
            assert to.tolist() == [[first, 2, 3]] * 2
    to = fp.Tensor.empty(m.device, (2,), "uint")  # of one size, as in C
    m.same([5, -1], _result=to)
    assert to.tolist() == [5, 2**32 - 1]
    with pytest.raises(fp.ShapeError, match=r"int\[1\]"):
        m.twice([1.5], _result=fp.Tensor.empty(m.device, (1,), "int"))


def test_an_integer_is_an_address(m: fp.Module) -> None:
    values = fp.Tensor.from_numpy(m.device, np.arange(10, 15, dtype=np.int32))
    assert m.at(fp.grid((5,)), values.address, _result="list") == list(range(10, 15))
    assert m.at(2, values.storage.device_address) == 12
    with pytest.raises(fp.NoMatchError):
        m.at(2, 1.5)


class Close:
    """Wants to decide about ``==`` itself, as ``pytest.approx`` does."""

    __array_ufunc__ = None

    def __eq__(self, other: object) -> bool:
        return math.isclose(float(other), 5.0)  # type: ignore[arg-type]


def test_tensors_of_structs_hold_addresses(device: Any) -> None:
    source = """public struct Net { public float* weights; public float scale; };
    public float at(Net* net, int i) { return net->weights[i] * net->scale; }
    public float of(Net net, int i) { return net.weights[i] * net.scale; }"""
    m = fp.Module.load_from_source(device, "addresses", source)
    weights, nets = fp.Tensor([1.0, 2.0, 3.0]), fp.Tensor.empty(device, dtype=m.Net, shape=(1,))
    cursor = nets.cursor()
    cursor[0].write({"weights": weights.storage.device_address, "scale": 2.0})
    cursor.apply()
    for found in (m.at(nets.storage.device_address, [0, 2]), m.at(nets, [0, 2]), m.of(nets, [0, 2])):
        assert np.asarray(found).tolist() == [2, 6]


def test_a_module_whose_imports_import_it(device: Any, tmp_path: Any) -> None:
    (tmp_path / "ring.slang").write_text(
        "import ringed; public struct P { public float x; }; public float f(P p, float y) { return g(p) + y; }"
    )
    (tmp_path / "ringed.slang").write_text("import ring; public float g(P p) { return 2 * p.x; }")
    m = fp.Module.load_from_file(device, str(tmp_path / "ring.slang"))
    assert m.f({"x": [1.0, 2.0]}, 1.0) == [3, 5]
    device.compiler.forget()
    assert fp.fuse(lambda x: m.f({"x": x}, 1.0) * 2)([1.0, 2.0]) == [6, 10]


def test_texts_of_kernels_are_written_as_files(m: fp.Module, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fp.set_dump_generated_shaders(True)
    try:
        fp.fuse(lambda x: m.twice(x) * 1.25)([1.0])
    finally:
        fp.set_dump_generated_shaders(False)
    assert any("twice" in path.read_text() for path in (tmp_path / ".temp").glob("*.slang"))


def test_operands_that_decide_themselves() -> None:
    t = fp.Tensor([5, 6])
    assert (t[0] == Close()) is True
    assert (t[1] == Close()) is False
    assert t[0] == pytest.approx(5)
