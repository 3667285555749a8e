"""Types: every spelling of one type is one object, and nothing that is no type gets past the parser."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusepy.errors import InvalidNameError
from fusepy.ir.names import check_function_name, check_identifier
from fusepy.ir.ops.promotion import promote
from fusepy.ir.types import SCALARS, Kind, Type

SAME = [
    ("float3", "vector<float,3>", "vector< float , 3 >", "float32_t3", " float3 "),
    ("int", "int32_t"),
    ("half2", "float16_t2", "vector<half,2>"),
    ("float", "float1", "vector<float,1>"),
    ("double", "float64_t"),
    ("vector<int64_t,2>", "int64_t2"),
    ("float3x4", "matrix<float,3,4>", "matrix<float,3,4,1>"),
    ("matrix<uint8_t,2,2>", "uint8_t2x2"),
    ("float[4]", "Array<float,4>", "float [ 4 ]"),
    ("Ptr<Ray>", "Ptr<Ray, Access.ReadWrite, AddressSpace.Device, DefaultDataLayout>"),
    ("Ptr<float3>", "Ptr<vector<float,3>>"),
    ("ns::Pair<float,int>", "ns.Pair<float, int>"),
    ("a::b::C", "a.b.C"),
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda s: s[0])
def test_spellings_of_one_type_are_one_object(spellings: tuple[str, ...]) -> None:
    types = [Type.parse(s) for s in spellings]
    assert all(t is types[0] for t in types)
    assert types[0].name == spellings[0]


@pytest.mark.parametrize(
    ("text", "kind", "shape", "element", "scalar"),
    [
        ("void", Kind.VOID, (), None, None),
        ("bool", Kind.SCALAR, (), None, "bool"),
        ("uint16_t", Kind.SCALAR, (), None, "uint16_t"),
        ("half4", Kind.VECTOR, (4,), "half", "half"),
        ("float2x3", Kind.MATRIX, (2, 3), "float", "float"),
        ("float3[5]", Kind.ARRAY, (5, 3), "float3", "float"),
        ("float[3][2]", Kind.ARRAY, (2, 3), "float[3]", "float"),
        ("Ray[2]", Kind.ARRAY, (2,), "Ray", None),
        ("Ptr<float3>", Kind.POINTER, (), "float3", None),
        ("Ray", Kind.NAMED, (), None, None),
        ("color3", Kind.NAMED, (), None, None),
        ("float5", Kind.NAMED, (), None, None),
        ("Pair<float,3>", Kind.NAMED, (), None, None),
    ],
)
def test_what_a_type_is_made_of(text: str, kind: Kind, shape: tuple[int, ...], element: str | None, scalar: str | None) -> None:
    type = Type.parse(text)
    assert (type.kind, type.shape) == (kind, shape)
    assert type.element is (Type.parse(element) if element else None)
    assert type.scalar is (Type.parse(scalar) if scalar else None)
    assert type.dtype == (SCALARS[scalar] if scalar else None)
    assert type.is_numeric == (kind in (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "3", "3float", "float[", "float[]", "float]", "float[x]", "Pair<", "Pair<>", "Pair<float", "a::", "::a"),
        *("a b", "float*", "f(", "a;} void x(){", "__typeof(x)", "Pair<float>>", "a.", "float3\n;", "a-b", "Pair<-1>", '"x"'),
        *("a::3", "a::<b>", "a::::b"),
    ],
)
def test_malformed_text_is_no_type(text: str) -> None:
    with pytest.raises(InvalidNameError, match="not a Slang type name") as caught:
        Type.parse(text)
    assert caught.value.hint


def _types() -> st.SearchStrategy[Type]:
    scalars = st.sampled_from(sorted(SCALARS)).map(Type.parse)
    numeric = st.one_of(
        scalars,
        st.builds(Type.vector, scalars, st.integers(2, 4)),
        st.builds(Type.matrix, scalars, st.integers(1, 4), st.integers(1, 4)),
    )
    leaves = st.one_of(numeric, st.sampled_from(["Ray", "ns::Pair", "a::b::C"]).map(Type.parse))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Type.array, inner, st.integers(1, 9)),
            inner.map(Type.pointer),
            st.lists(inner, min_size=1, max_size=3).map(lambda args: Type.parse(f"G<{','.join(a.name for a in args)},3>")),
        ),
        max_leaves=4,
    )


@given(_types())
def test_a_name_reads_back_to_its_type(type: Type) -> None:
    assert Type.parse(type.name) is type
    assert Type.parse(f" {type.name.replace(',', ' , ')} ") is type
    assert pickle.loads(pickle.dumps(type)) is type
    assert repr(type) == type.name


@given(st.text(max_size=12))
def test_any_text_is_a_type_or_an_error_of_ours(text: str) -> None:
    try:
        type = Type.parse(text)
    except InvalidNameError:
        return
    assert Type.parse(type.name) is type


def test_dtypes_have_one_type_each() -> None:
    for name, dtype in SCALARS.items():
        assert Type.of_dtype(dtype) is Type.parse(name)
    for foreign in (np.dtype(np.complex64), np.dtype("U3"), np.dtype(">f4"), np.dtype(object)):
        assert Type.of_dtype(foreign) is None


def test_with_scalar_keeps_the_shape() -> None:
    half = Type.parse("half")
    assert Type.parse("float3").with_scalar(half) is Type.parse("half3")
    assert Type.parse("float3x2").with_scalar(half) is Type.parse("half3x2")
    assert Type.parse("float").with_scalar(half) is half


@pytest.mark.parametrize(
    ("operands", "common"),
    [
        (["int", "uint"], "uint"),
        (["int64_t", "half"], "half"),
        (["half3", "float"], "float"),
        (["half3", "weak float"], "half"),
        (["uint8_t", "weak int"], "uint8_t"),
        (["int", "weak float"], "float"),
        (["bool", "weak int"], "int"),
        (["bool", "weak bool"], "bool"),
        (["weak int", "weak float"], "float"),
        (["double", "weak float"], "double"),
        (["float", "Ray"], None),
        (["float", "float[3]"], None),
        (["float", "Ptr<float>"], None),
    ],
    ids=str,
)
def test_promotion(operands: list[str], common: str | None) -> None:
    given_types = [(Type.parse(o.removeprefix("weak ")), o.startswith("weak")) for o in operands]
    expected = Type.parse(common) if common else None
    assert promote(given_types) is expected
    assert promote(given_types[::-1]) is expected


@pytest.mark.parametrize(
    "name", ["f", "_x1", "ns::f", "gf<float>", "Ray::at", "Pair<float,3>", "operator+", "operator<=", "operator=="]
)
def test_function_names(name: str) -> None:
    assert check_function_name(name) == name


@pytest.mark.parametrize("name", ["f(", "a;} void x(){", "float*", "operator()", "operator+;", "f[3]", "", "1f"])
def test_bad_function_names(name: str) -> None:
    with pytest.raises(InvalidNameError, match="is not a valid function name"):
        check_function_name(name)


def test_identifiers() -> None:
    assert check_identifier("gain_2") == "gain_2"
    for bad in ("", "2x", "a b", "a-b", "x\n", "a.b"):
        with pytest.raises(InvalidNameError, match="is not a valid argument name"):
            check_identifier(bad, "argument name")
