"""Whole arrays that cannot be passed: what is raised, what it names, and that the next call works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.errors.test_misuse import misuse as _misuse
from tests.support.slang_functions import F32, ramp, same
from tests.support.whole_arrays import repeated

SOURCE = """
import fusepy;
float get(int2 p, Tensor<float,2> t) { return t[p]; }
float3 get3(int2 p, Tensor<float3,2> t) { return t[p]; }
float get_bool(int2 p, Tensor<bool,2> t) { return t[p] ? 1 : 0; }
float one_index(Tensor<float,2> t) { return t[1]; }
float unsized(int i, float2[] source) { return source[i].x; }
void put(int2 p, float v, RWTensor<float,2> t) { t[p] = v; }
void copy(int2 p, Tensor<float,2> from, RWTensor<float,2> to) { to[p] = from[p]; }
float bump(int2 p, RWTensor<float,2> t) { float old = t[p]; t[p] = old + 1; return old; }
void read_and_put(float v, int2 p, RWTensor<float,2> t) { t[p] = v; }
float twice<A : ITensor<float,2>, B : ITensor<float,2>>(int2 p, A a, B b) { return a[p] + b[p]; }
struct Target { RWTensor<float,2> t; };
void put_member(int2 p, Target target) { target.t[p] = 1; }
"""
G = fp.grid((3, 5))


def misuse(call: Callable[[], Any], *expected: Any) -> fp.FusepyError:
    """As that of `test_misuse`, with this file as the place."""
    raised = _misuse(call, *expected)
    assert str(raised).startswith("test_array_misuse.py:")
    return raised


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "array_misuse", SOURCE)


@pytest.fixture
def image(device: Any) -> Any:
    return fp.Tensor.from_numpy(device, ramp(3, 5))


def test_wrong_rank_names_both(lib: Any, device: Any, image: Any) -> None:
    for wrong, rank in ((image[0], 1), (fp.Tensor.zeros(device, (2, 3, 5)), 3), (ramp(5), 1), (1.5, None), (G, None)):
        named = ["get: argument 't'", "Tensor<float,2>"] + ([f"2 axes of float; this has {rank} ax"] if rank else [])
        misuse(lambda wrong=wrong: lib.get(G, wrong), fp.NoMatchError, TypeError, *named)
    same(lib.get(G, image, _result="numpy"), ramp(3, 5))


def test_mappings_of_whole_arrays(lib: Any, image: Any) -> None:
    said = "get: argument 't'", "every thread gets all of a Tensor<float,2>", "remove its mapping"
    get, by_name = lib.get, lib.get.map(t=(0, 1))
    misuse(lambda: get(G, fp.vmap(image, (0, 1))), fp.NoMatchError, TypeError, *said)
    misuse(lambda: get(G, fp.vmap(image, (0,))), fp.NoMatchError, TypeError, *said)
    misuse(lambda: fp.fuse(lambda x: by_name(p=fp.grid(x), t=x * 2))(image), fp.NoMatchError, TypeError, *said)
    misuse(lambda: fp.fuse(lambda x: get(fp.grid(x), fp.vmap(x * 2, (1,))))(image), fp.NoMatchError, TypeError, *said)
    same(fp.fuse(lambda x: get.map(p=(0, 1))(p=fp.grid(x), t=x * 2))(ramp(3, 5)), 2 * ramp(3, 5))


def test_computed_values_as_whole_arrays(lib: Any, image: Any) -> None:
    get, put = lib.get, lib.put
    wrong = fp.fuse(lambda x: get(fp.grid(x), fp.sum(x, axis=0)))
    misuse(lambda: wrong(image), fp.NoMatchError, TypeError, "get: argument 't'", "2 axes of float; this has 1 axis of float")
    wrong = fp.fuse(lambda x: put(fp.grid(x), 1.0, x * 2))
    misuse(lambda: wrong(image), fp.NoMatchError, TypeError, "put: argument 't'", "RWTensor<float,2> is written")


def test_wrong_element_names_both(lib: Any, device: Any) -> None:
    for dtype in ("int", "half", "double", "float2"):
        wrong = fp.Tensor.zeros(device, (3, 5), dtype)
        misuse(lambda wrong=wrong: lib.get(G, wrong), fp.NoMatchError, TypeError, "get: argument 't'", dtype, "Tensor<float,2>")
    wrong = np.zeros((3, 5), np.int32)
    misuse(lambda: lib.get(G, wrong), fp.NoMatchError, TypeError, "get: argument 't'", "int", "Tensor<float,2>")
    misuse(lambda: lib.get3(G, ramp(3, 5, 4)), fp.NoMatchError, TypeError, "get3: argument 't'", "3 axes of float")
    misuse(lambda: lib.get_bool(G, [[0.5]]), fp.NoMatchError, TypeError, "get_bool: argument 't'")


def test_components_that_lie_apart(lib: Any, device: Any) -> None:
    rgba = fp.Tensor.from_numpy(device, ramp(3, 5, 4))
    error = misuse(lambda: lib.get3(G, rgba[..., :3]), fp.ShapeError, ValueError, "get3: argument 't'", "strides (20, 4, 1)")
    assert "copy" in error.hint
    planes = fp.Tensor.from_numpy(device, ramp(3, 5, 3))
    misuse(lambda: lib.get3(G, planes[..., ::-1]), fp.ShapeError, ValueError, "get3: argument 't'", "strides (15, 3, -1)")
    same(lib.get3(G, ramp(3, 5, 4)[..., 2::-1], _result="numpy"), ramp(3, 5, 4)[..., 2::-1])  # NumPy's are uploaded in one piece
    wrong = fp.vcast(fp.Tensor.from_numpy(device, ramp(3, 5, 5)), lib["Tensor<float3,2>"])
    misuse(lambda: lib.get3(G, wrong), fp.ShapeError, ValueError, "get3: argument 't'", "(3, 5, 5)")


@pytest.mark.req("C10")
def test_targets_that_cannot_be_written(lib: Any, device: Any) -> None:
    frozen = np.zeros((3, 5), F32)
    frozen.flags.writeable = False
    misuse(lambda: lib.put(G, 1.0, frozen), fp.ShapeError, ValueError, "put: argument 't'", "read-only")
    misuse(lambda: lib.put(G, 1.0, [[0.0]]), fp.UnsupportedArgumentError, TypeError, "put: argument 't'", "a list")
    row = repeated(fp.Tensor.zeros(device, (1, 5)), 0, 3)
    misuse(lambda: lib.put(G, 1.0, row), fp.ShapeError, ValueError, "put: argument 't'", "repeats", "strides (0, 1)")
    assert not frozen.any()


def test_overlaps(lib: Any, device: Any, image: Any) -> None:
    for other in (image, image[::-1]):
        misuse(lambda o=other: lib.copy(G, o, image), fp.ShapeError, ValueError, "copy: argument 'to'", "'from'")
    misuse(lambda: lib.read_and_put(image, G, image), fp.ShapeError, ValueError, "read_and_put: argument 't'", "'v'")
    misuse(lambda: lib.bump(G, image, _result=image), fp.ShapeError, ValueError, "bump", "'t'")
    misuse(lambda: lib.get(G, image, _result=image), fp.ShapeError, ValueError, "get", "'t'")
    host = ramp(3, 5)
    misuse(lambda: lib.copy(G, host[::-1], host), fp.ShapeError, ValueError, "copy: argument 'to'", "another argument")
    misuse(lambda: lib.bump(G, host, _result=host), fp.ShapeError, ValueError, "bump: argument 't'")
    same(image.to_numpy(), ramp(3, 5))
    same(host, ramp(3, 5))
    whole = fp.Tensor.zeros(device, (6, 5))
    lib.copy(G, image, whole[3:])
    same(whole.to_numpy()[3:], ramp(3, 5))


@pytest.mark.req("C8")
def test_tensors_of_another_device(lib: Any, device: Any) -> None:
    other = fp.init_device(device.raw.info.type.name)
    misuse(lambda: lib.get(G, fp.Tensor.zeros(other, (3, 5))), fp.ShapeError, ValueError, "get: argument 't'", other.name)
    other.close()


@pytest.mark.rest
def test_slangs_own_complaints(lib: Any, image: Any) -> None:
    for _ in range(2):
        with pytest.raises(fp.CompileError, match="a tensor takes one index per axis") as caught:
            lib.one_index(image)
        assert "RHI" not in str(caught.value)
    error = misuse(lambda: lib.unsized(0, ramp(3, 2)), fp.NoMatchError, TypeError, "unsized", "Tensor<")
    assert "Ptr<" in error.hint
    both = "import fusepy;\nimport slangpy;\nfloat f(Tensor<float,2> t) { return 0; }"
    with pytest.raises(fp.CompileError, match="imports fusepy and slangpy"):
        fp.Module.load_from_source(image.device, "both_libraries", both)


def test_generics_with_too_many_bindings(lib: Any, image: Any) -> None:
    same(lib.twice(G, image, image, _result="numpy"), 2 * ramp(3, 5))
    misuse(lambda: lib.twice(G, image, image[0]), fp.NoMatchError, TypeError, "twice")


# ---- fused ----------------------------------------------------------------------------------------------------------


def test_a_computed_value_cannot_be_written(lib: Any, image: Any) -> None:
    misuse(lambda: fp.fuse(lambda p, t: lib.put(p, 1.0, lib.get(p, t)))(G, image), fp.NoMatchError, TypeError, "put")


def test_a_call_that_writes_gets_its_array_once(lib: Any, image: Any) -> None:
    misuse(
        lambda: fp.fuse(lambda p, a: lib.copy(p, a, a))(G, image), fp.TraceError, TypeError, "copy() writes the whole array %a"
    )
    same(image.to_numpy(), ramp(3, 5))


def test_a_written_member(lib: Any, image: Any) -> None:
    error = misuse(lambda: lib.put_member(G, {"t": image}), fp.NoMatchError, TypeError, "target.t")
    assert "argument by itself" in error.hint
