"""Hints mean what they say: a program that is refused, the words of its hint, and the program that follows them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.errors import hints
from tests.errors.hints import support
from tests.errors.skeletons import ledger, patterns, said
from tests.support.rays import need_rays
from tests.support.selection import seldom
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float3 most(float3 a, float3 b) { return max(a, b); }
float over(float2 a) { return a.x; }
float over(float3 a) { return a.z; }
float add(float a, float b) { return a + b; }
float first(int p[3]) { return p[0]; }
float all(float2 a) { return a.x * a.y; }
struct Ray { float3 position; float reach; }
float at(Ray r) { return r.position.y * r.reach; }
void bump(inout float v, float by) { v += by; }
"""
IMAGE = ramp(2, 4, 3)
FILES = {name: importlib.import_module(f"{hints.__name__}.{name}") for _, name, _ in pkgutil.iter_modules(hints.__path__)}
PROGRAMS = {f"{file}: {name}": p for file, of in FILES.items() if of is not support for name, p in of.PROGRAMS.items()}
WEIGHTS = np.array([0.25, 0.5, 0.25], F32)
BRIGHT = IMAGE @ WEIGHTS
Program = Callable[[Any], Any]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hints", SOURCE.replace("float reach; }", "float reach; };"))


def fused(function: Callable[..., Any], *args: Any) -> Any:
    return fp.fuse(function)(*args)


def with_annotation(type: Any) -> Callable[..., Any]:
    def doubled(i: Any) -> Any:
        return i * 2

    doubled.__annotations__["i"] = type
    return doubled


def annotated(i: "float3") -> Any:  # noqa: F821, UP037
    return (i * 1).zyx


# what is refused, the words of the hint that say what to write, what follows them, and what the user meant
HINTS: dict[str, tuple[Program, str, Program, Any]] = {
    "a swizzle of an image": (
        lambda m: fused(lambda i: i.x, IMAGE),
        'write fp.vcast(i, "float3")',
        lambda m: fused(lambda i: fp.vcast(i, "float3").x, IMAGE),
        IMAGE[..., 0],
    ),
    "a swizzle of a computed image": (
        lambda m: fused(lambda i: (i * 2).zyx, IMAGE),
        'write fp.vcast(x, "float3") of it',
        lambda m: fused(lambda i: fp.vcast(i * 2, "float3").zyx, IMAGE),
        IMAGE[..., ::-1] * 2,
    ),
    "a swizzle of an argument without a type": (
        lambda m: fused(lambda i: i.zyx, IMAGE),
        'annotate def f(i: "float3")',
        lambda m: fused(annotated, IMAGE),
        IMAGE[..., ::-1],
    ),
    "a swizzle of what comes from an argument without a type": (
        lambda m: fused(lambda i: (i * 1).zyx, IMAGE),
        "annotate the argument that it comes from",
        lambda m: fused(annotated, IMAGE),
        IMAGE[..., ::-1],
    ),
    "an image of floats for an annotation of integers": (
        lambda m: fused(with_annotation("int3"), IMAGE),
        "convert it before the call, or annotate the parameter as what it holds, float",
        lambda m: fused(with_annotation("float3"), IMAGE),
        IMAGE * 2,
    ),
    "an image for an annotation of other components": (
        lambda m: fused(with_annotation("float2"), IMAGE),
        "pass an array whose last extents are 2",
        lambda m: fused(with_annotation("float2"), IMAGE.reshape(2, 6, 2)),
        IMAGE.reshape(2, 6, 2) * 2,
    ),
    "vectors for an annotation of numbers": (
        lambda m: fused(with_annotation("half"), fp.vcast(IMAGE, "float3")),
        "annotate the parameter as what it holds",
        lambda m: fused(with_annotation("float3"), fp.vcast(IMAGE, "float3")),
        IMAGE * 2,
    ),
    "a float for an annotation of an integer": (
        lambda m: fused(with_annotation(int), 2.5),
        "pass an integer, or an array of such",
        lambda m: fused(with_annotation(int), 2),
        4,
    ),
    "a splat of an image": (
        lambda m: fused(lambda i: i.xxx, IMAGE),
        'write fp.vcast(i, "float3")',
        lambda m: fused(lambda i: fp.vcast(i, "float3").xxx, IMAGE),
        np.repeat(IMAGE[..., :1], 3, -1),
    ),
    "dot() of images": (
        lambda m: fused(lambda i: fp.dot(i, i), IMAGE),
        'write fp.vcast(i, "float3")',
        lambda m: fused(lambda i: fp.dot(fp.vcast(i, "float3"), fp.vcast(i, "float3")), IMAGE),
        (IMAGE * IMAGE).sum(-1, dtype=F32),
    ),
    "length() of a computed image": (
        lambda m: fused(lambda i: fp.length(i + i), IMAGE),
        'write fp.vcast(x, "float3") of it',
        lambda m: fused(lambda i: fp.length(fp.vcast(i + i, "float3")), IMAGE),
        np.sqrt((4 * IMAGE * IMAGE).sum(-1, dtype=F32)),
    ),
    "a reduction by a function of vectors": (
        lambda m: fused(lambda i: fp.reduce(m.most, 0.0, i), IMAGE),
        'fp.vcast(i, "float3")',
        lambda m: fused(lambda i: fp.reduce(m.most, 0.0, fp.vcast(i, "float3")), IMAGE),
        IMAGE.max((0, 1)),
    ),
    "a reduction of a computed image by a function of vectors": (
        lambda m: fused(lambda i: fp.reduce(m.most, 0.0, i * 2), IMAGE),
        'write fp.vcast(x, "float3") of it',
        lambda m: fused(lambda i: fp.reduce(m.most, 0.0, fp.vcast(i * 2, "float3")), IMAGE),
        2 * IMAGE.max((0, 1)),
    ),
    "axes that vmap leaves over": (
        lambda m: fused(lambda i: fp.vmap(i, (0, 1)) + 1, IMAGE),
        'fp.vcast(i, "float3")',
        lambda m: fused(lambda i: fp.vmap(fp.vcast(i, "float3"), (0, 1)) + 1, IMAGE),
        IMAGE + 1,
    ),
    "integers for floats": (
        lambda m: m.add(np.arange(3, dtype=np.int16), 1.0),
        "vcast(value, m.float)",
        lambda m: m.add(fp.vcast(np.arange(3, dtype=np.int16), m.float), 1.0),
        np.arange(3, dtype=F32) + 1,
    ),
    "computed integers for floats": (
        lambda m: fused(lambda x: m.add(x * 2, 1.0), np.arange(3, dtype=np.int32)),
        "vcast(value, m.float)",
        lambda m: fused(lambda x: m.add(fp.vcast(x * 2, m.float), 1.0), np.arange(3, dtype=np.int32)),
        np.arange(3, dtype=F32) * 2 + 1,
    ),
    "vectors of another length": (
        lambda m: fused(lambda c: m.luma(c * 1), fp.vcast(ramp(5, 4), "float4")),
        "a swizzle such as .xyz",
        lambda m: fused(lambda c: m.luma((c * 1).xyz), fp.vcast(ramp(5, 4), "float4")),
        ramp(5, 4)[:, :3] @ WEIGHTS,
    ),
    "vectors of two lengths in an operator": (
        lambda m: fused(lambda a, b: a + b, fp.vcast(ramp(5, 3), "float3"), fp.vcast(ramp(5, 4), "float4")),
        "a swizzle such as .xyz",
        lambda m: fused(lambda a, b: a + b.xyz, fp.vcast(ramp(5, 3), "float3"), fp.vcast(ramp(5, 4), "float4")),
        ramp(5, 3) + ramp(5, 4)[:, :3],
    ),
    "bits of floats": (
        lambda m: fused(lambda x: x & 1, ramp(3) * 8),
        "fp.vcast(value, 'int')",
        lambda m: fused(lambda x: fp.vcast(x, "int") & 1, ramp(3) * 8),
        (ramp(3) * 8).astype(np.int32) & 1,
    ),
    "a branch on numbers": (
        lambda m: fused(lambda n: fp.cond(n, lambda: 1.0, lambda: 2.0), np.array([0, 3], np.int32)),
        "n != 0",
        lambda m: fused(lambda n: fp.cond(n != 0, lambda: 1.0, lambda: 2.0), np.array([0, 3], np.int32)),
        np.array([2, 1], F32),
    ),
    "branches of two types": (
        lambda m: fused(lambda x: fp.cond(x > 0, lambda: x, lambda: fp.vcast(x, "int")), ramp(3) * 4),
        "convert one of them, e.g. with vcast",
        lambda m: fused(lambda x: fp.cond(x > 0, lambda: x, lambda: fp.vcast(fp.vcast(x, "int"), "float")), ramp(3) * 4),
        ramp(3) * 4,
    ),
    "a loop to a float": (
        lambda m: fused(lambda n: fp.fori_loop(0, n, lambda i, c: c + 1, 0), np.array([2.0, 3.0], F32)),
        "vcast(…, 'int')",
        lambda m: fused(lambda n: fp.fori_loop(0, fp.vcast(n, "int"), lambda i, c: c + 1, 0), np.array([2.0, 3.0], F32)),
        np.array([2, 3], np.int32),
    ),
    "a loop that changes a type": (
        lambda m: fused(lambda n: fp.fori_loop(0, 2, lambda i, c: c * 0.5, n), np.array([2, 3], np.int32)),
        "vcast(…, 'float')",
        lambda m: fused(lambda n: fp.fori_loop(0, 2, lambda i, c: c * 0.5, fp.vcast(n, "float")), np.array([2, 3], np.int32)),
        np.array([0.5, 0.75], F32),
    ),
    "the truth of a traced value": (
        lambda m: fused(lambda x: x if x > 0.25 else -x, ramp(3)),
        "fusepy.where(condition, a, b)",
        lambda m: fused(lambda x: fp.where(x > 0.25, x, -x), ramp(3)),
        np.where(ramp(3) > 0.25, ramp(3), -ramp(3)),
    ),
    "int() of a traced value": (
        lambda m: fused(lambda x: int(x), ramp(3) * 8),
        "vcast(value, 'int')",
        lambda m: fused(lambda x: fp.vcast(x, "int"), ramp(3) * 8),
        (ramp(3) * 8).astype(np.int32),
    ),
    "the place of the largest vector": (
        lambda m: fused(lambda c: fp.argmax(c), fp.vcast(ramp(5, 3), "float3")),
        "take a component such as .x",
        lambda m: fused(lambda c: fp.argmax(c.x), fp.vcast(ramp(5, 3), "float3")),
        np.int32(4),
    ),
    "coordinates for another array": (
        lambda m: m.first(fp.grid((2, 2)), _result="numpy"),
        "give it as many dimensions as the parameter has components",
        lambda m: m.first(fp.grid((2, 2, 1)), _result="numpy"),
        np.array([[[0], [0]], [[1], [1]]], F32),
    ),
    "an identity where the array belongs": (
        lambda m: fp.reduce(m.add, ramp(5), 2.0),
        "fp.reduce(m.add, 2.0, x)",
        lambda m: fp.reduce(m.add, 0.0, ramp(5)),
        ramp(5).sum(),
    ),
    "an attribute of a mapped value": (
        lambda m: fused(lambda v: fp.vmap(v, 0).x, fp.vcast(ramp(4, 3), "float3")),
        "vmap(value.x, …)",
        lambda m: fused(lambda v: fp.vmap(v.x, 0) + 0, fp.vcast(ramp(4, 3), "float3")),
        ramp(4, 3)[:, 0],
    ),
    "gaps in a grid": (
        lambda m: m.add(fp.vmap(ramp(3), 1), 1.0),
        "count grid dimensions from 0",
        lambda m: m.add(fp.vmap(ramp(3), 0), 1.0),
        ramp(3) + 1,
    ),
    "an image and its brightness": (
        lambda m: fused(lambda i: i * m.luma(i), IMAGE),
        'fp.vcast(i, "float3")',
        lambda m: fused(lambda i: fp.vcast(i, "float3") * m.luma(i), IMAGE),
        IMAGE * BRIGHT[..., None],
    ),
    "a mask": (
        lambda m: m.add(np.ma.masked_array(ramp(3), [0, 1, 0]), 1.0),
        "a.filled(value)",
        lambda m: m.add(np.ma.masked_array(ramp(3), [0, 1, 0]).filled(7), 1.0),
        np.array([ramp(3)[0], 7, ramp(3)[2]]) + F32(1),
    ),
}


@pytest.fixture(scope="module")
def programs(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_programs", support.SOURCE)


TOLD: dict[Program, str] = {}  # what each program was told, so that it is not run again


def hint_of(refused: Program, m: Any) -> str:
    if refused not in TOLD:
        with pytest.raises(fp.FusepyError) as caught:
            refused(m)
        TOLD[refused] = caught.value.hint
    return TOLD[refused]


def check(m: Any, refused: Program, words: str, mended: Program, meant: Any) -> None:
    assert words in hint_of(refused, m)
    found = np.asarray(mended(m))
    np.testing.assert_allclose(found, meant, rtol=1e-6)
    assert found.shape == np.shape(meant)


@pytest.mark.parametrize("name", HINTS)
def test_following_a_hint_gives_what_was_meant(m: Any, name: str) -> None:
    check(m, *HINTS[name])


# what CUDA has not: handles (arrays of slangpy are pointers there), several samples, scenes; and its own memory is no other's
NOT_ON_CUDA = {
    "meshes: a device without mesh shaders",
    "reads: levels in a loop",
    "results: a format that the device does not write",
    "arrays: a global array of slangpy",
    "arrays: no handle left for a buffer",
    "arrays: no handles for buffers",
    "devices: a texture that no kernel reads, by its handle",
    "devices: handles that ran out",
    "frameworks: CUDA memory on another device",
    "resources: a multisampled texture",
    "slang: a function of doubles that no module has",
    "slang: a number for a scene",
}


SLOW_TO_REFUSE, SLOW_TO_FOLLOW, _ = ledger("hints_rest.txt").values()


@pytest.mark.parametrize("name", seldom(PROGRAMS, *SLOW_TO_REFUSE, *SLOW_TO_FOLLOW))
def test_following_a_hint_of_other_programs_gives_what_was_meant(programs: Any, name: str) -> None:
    if name in NOT_ON_CUDA and fp.default_device().target.kind == "cuda":
        pytest.skip("not on CUDA")
    if name.startswith(("rays: ", "fused_stages: ", "scenes: ")):
        need_rays(fp.default_device())
    check(programs, *PROGRAMS[name])
    assert name not in SLOW_TO_REFUSE or PROGRAMS[name][1] == hint_of(PROGRAMS[name][0], programs)


def test_scalars_that_are_no_arrays_keep_their_swizzles(device: Any) -> None:
    same(fused(lambda k, x: x * k.x, 2.0, ramp(3)), 2 * ramp(3))
    same(np.asarray(fused(lambda: fp.grid((5,)).x * 2), np.int32), 2 * np.arange(5, dtype=np.int32))


MOST = 46  # may only shrink


def test_every_hint_is_followed_or_in_the_ledger(m: Any, programs: Any) -> None:
    """A hint that is new in fusepy's source needs a program here, in `tests.errors.hints`, or in the law of `test_hint_law`."""
    if fp.default_device().target.kind != "software":
        pytest.skip("the ledger is that of the CPU device: others refuse other things")
    told = [hint_of(h[0], m) for h in HINTS.values()]
    for name, (refused, words, *_) in PROGRAMS.items():
        told.append(words if name in SLOW_TO_REFUSE else hint_of(refused, programs))
        assert words in told[-1], name
    lines = [line for section in ledger().values() for line in section]
    known = patterns()
    followed = said(told, known)
    new, gone, mended = known.keys() - followed - {*lines}, {*lines} - known.keys(), {*lines} & followed
    assert not new, "\n".join(["hints that no program follows:", *new])
    assert not gone, "\n".join(["lines of the ledger that are no hints any more, to be removed:", *gone])
    assert not mended, "\n".join(["lines of the ledger that programs follow, to be removed:", *mended])
    assert len(lines) == len(set(lines)) <= MOST
