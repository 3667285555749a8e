"""`fp.profile`: what ran inside a block, kernel by kernel."""

from __future__ import annotations

import contextvars
import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.sink import CAPTURED
from fusepy.backend.execute.traffic import scaled
from fusepy.backend.kernels import profiling
from fusepy.inspect import profiled
from fusepy.inspect.profiled_kernels import ProfiledKernel, table
from tests.support.rasters import need_raster
from tests.support.slang_functions import ramp

SOURCE = """
float twice(float x) { return x * 2; }
float add(float a, float b) { return a + b; }
[shader("compute")] [numthreads(4, 1, 1)]
void fill(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> to) { to[id.x] = id.x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "profiled", SOURCE)


@pytest.fixture
def x(device: Any) -> Any:
    return fp.Tensor.from_numpy(device, ramp(6, 8))


def counted(p: fp.Profile) -> dict[str, tuple[int, int | None]]:
    """The launches and the bytes of each kernel."""
    return {str(k): (k.launches, k.nbytes) for k in p.kernels}


def centred(x: Any) -> Any:
    return x - fp.mean(x, 1, keepdims=True) + fp.sum(x)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "contiguous": lambda m, x: m.add(x, x),
    "strided": lambda m, x: m.add(x[:, ::2], x[:, 1::2]),
    "broadcast": lambda m, x: m.add(x, x[0]),
    "number": lambda m, x: m.add(1.0, 2.0),
    "NumPy": lambda m, x: m.add(x.to_numpy(), 2.0),
    "destination": lambda m, x: m.twice(x, _result=fp.Tensor.empty_like(x)),
    "reductions": lambda m, x: fp.fuse(centred)(x),
    "scan": lambda m, x: fp.cumsum(x, axis=1),
    "empty": lambda m, x: m.twice(x[:0]),
    "copy": lambda m, x: x.T.copy(),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_and_launches_are_those_without_a_profile(m: Any, x: Any, device: Any, name: str) -> None:
    expected, token = CALLS[name](m, x), CAPTURED.get()
    before = device.counters.dispatches
    CALLS[name](m, x)
    plain = device.counters.dispatches - before
    with fp.profile() as p:
        found = CALLS[name](m, x)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), strict=True)
    assert sum(k.launches for k in p.kernels) == plain == len(p.launches)
    assert token is None
    assert CAPTURED.get() is None


def test_kernels_are_named_and_counted_as_explain_does(m: Any, x: Any, device: Any) -> None:
    f = fp.fuse(centred)
    f(x)
    with fp.profile() as p:
        for _ in range(3):
            f(x)
        m.add(x, x[0])
    n = x.size * 4
    assert {(k.name, k.number) for k in p.kernels if k.name == "centred"} == {("centred", i) for i in range(f.explain(x).kernels)}
    assert counted(p)["add kernel 0"] == (1, n + 8 * 4 + n)
    assert all(k.launches % 3 == 0 and k.nbytes and k.nbytes % 3 == 0 for k in p.kernels if k.name == "centred")
    assert {name for k in p.kernels for name in k.nodes} >= {"sum", "sub", "add"}
    assert p.calls == p.plan_hits + p.plan_misses == 4
    assert {k.device for k in p.kernels} == {device.name}


@pytest.mark.skipif("timestamp_query" not in fp.default_device().features, reason="the device has no timestamps")
def test_times_and_their_order(m: Any, x: Any) -> None:
    with fp.profile() as p:
        for _ in range(5):
            m.twice(x)
        fp.fuse(centred)(x)
    seconds = [k.seconds for k in p.kernels]
    assert None not in seconds
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] >= 0
    # kernels run one after the other
    spans = [(one.begin, one.end) for one in p.launches]
    assert spans == sorted(spans)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    assert p.device_seconds == pytest.approx(sum(end - begin for begin, end in spans))
    assert all(k.bandwidth == pytest.approx(k.nbytes / k.seconds) for k in p.kernels if k.seconds)


def test_more_launches_than_a_pool_has_timestamps(m: Any, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "POOL", 4)
    with fp.profile() as p:
        for _ in range(7):
            m.twice(x)
    assert counted(p) == {"twice kernel 0": (7, 7 * 2 * x.size * 4)}
    assert all((one.begin is None) == (p.launches[0].begin is None) for one in p.launches)


def test_without_timestamps_launches_are_counted(m: Any, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiled, "can_time", lambda device: False)
    with fp.profile() as p:
        m.twice(m.twice(x))
        m.add(x, x)
    assert [(str(k), k.launches, k.seconds, k.bandwidth) for k in p.kernels] == [
        ("twice kernel 0", 2, None, None),
        ("add kernel 0", 1, None, None),
    ]
    assert p.device_seconds is None
    assert "-" in str(p)


def test_compiled_kernels(device: Any) -> None:
    m = fp.Module.load_from_source(
        device, "profiled_new", f"float f(float x) {{ return x + {np.random.default_rng().random()}; }}"
    )
    with fp.profile() as p:
        m.f([1.0])
        m.f([2.0])
    assert (p.kernels_compiled, p.plan_misses, p.plan_hits) == (1, 1, 1)
    assert 0 < p.compile_seconds <= p.seconds
    with fp.profile() as q:
        m.f([3.0])
    assert (q.kernels_compiled, q.compile_seconds, q.calls) == (0, 0.0, 1)


def test_what_is_no_kernel_of_a_program(m: Any, x: Any, device: Any) -> None:
    to, other = fp.Tensor.from_numpy(device, ramp(8)), fp.Tensor.empty_like(x)
    g = fp.capture(lambda x: m.twice(m.twice(x)), x)
    with fp.profile() as p:
        m.fill.threads(8)(to)
    assert counted(p) == {"fill": (1, None), "copy": (2, 2 * 2 * 32)}  # a structured buffer is a copy of the tensor's memory
    with fp.profile() as p:
        other.copy_from(x)
        g.replay()
        fp.fuse(lambda x: x + 1).append_to(device.sgl.create_command_encoder(), x)
    assert counted(p) == {"copy": (1, None), "replay of a capture": (2, None)}


def test_a_row_names_a_few_nodes() -> None:
    nodes = tuple("abcdefgh")
    assert table([ProfiledKernel("f", 0, nodes, "a device", 1, 0.5, None)])[1].endswith("  a, b, c, d, e, f, and 2 more")
    assert table([ProfiledKernel("f", 0, nodes[:7], "a device", 1, 0.5, None)])[1].endswith("  a, b, c, d, e, f, g")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0 B"), (768, "768 B"), (1000, "1 kB"), (999_600, "1000 kB"), (16_777_216, "16.8 MB"), (2.5e12, "2.5 TB")],
)
def test_numbers_with_prefixes(value: float | None, text: str) -> None:
    assert scaled(value, "B") == text


def test_times_with_prefixes() -> None:
    assert [scaled(t, "s") for t in (1234.0, 1.5, 2.5e-3, 4e-6, 8e-9, 0.0)] == [
        "1234 s",
        "1.5 s",
        "2.5 ms",
        "4 µs",
        "8 ns",
        "0 s",
    ]


def test_a_draw(device: Any) -> None:
    """A draw is a pass, no dispatch."""
    need_raster(device)
    source = "struct V { float4 position : SV_Position; }; V vs(float2 p) { V v; v.position = float4(p, 0, 1); return v; }"
    m = fp.Module.load_from_source(device, "profiled_draw", source + " float4 fs() { return 1; }")
    with fp.profile() as p:
        fp.raster(m, vertex="vs", fragment="fs")({"p": np.float32([[-1, -1], [3, -1], [-1, 3]])}, targets=(4, 4))
    assert counted(p) == {"vs/fs kernel 0": (1, 3 * 8 + 4 * 4 * 16)}
    assert p.kernels[0].nodes == ("vs", "fs")


def test_lazy_calls_count_where_they_run(m: Any, x: Any) -> None:
    with fp.profile() as p:
        with fp.lazy():
            y, z = m.twice(m.twice(x)), m.add(x, x)
        y.to_numpy()
    z.to_numpy()
    assert (p.calls, [k.launches for k in p.kernels], p.kernels[0].nodes) == (1, [1], ("twice ×2",))


def test_nested_profiles(m: Any, x: Any) -> None:
    with fp.profile() as outer:
        m.twice(x)
        with fp.profile() as inner:
            m.add(x, x)
        assert counted(inner) == {"add kernel 0": (1, 3 * x.size * 4)}
        m.twice(x)
    assert {name: n for name, (n, _) in counted(outer).items()} == {"twice kernel 0": 2, "add kernel 0": 1}
    assert len(inner.launches) == 1
    assert inner.kernels[0].seconds in [k.seconds for k in outer.kernels]


def test_captures_inside_and_around(m: Any, x: Any) -> None:
    """What a capture records does not run; its replays do."""
    profiles: list[fp.Profile] = []

    def f(x: Any) -> Any:
        with fp.profile() as p:
            y = m.twice(x)
        profiles.append(p)
        return y

    with fp.profile() as p:
        g = fp.capture(f, x)
    np.testing.assert_array_equal(g.result.to_numpy(), 2 * x.to_numpy())
    assert counted(p) == {"replay of a capture": (1, None)}
    assert counted(profiles[0]) == {}


def test_only_this_thread_and_only_inside(m: Any, x: Any) -> None:
    with fp.profile() as p:
        thread = threading.Thread(target=lambda: m.add(x, x))
        thread.start()
        thread.join()
        m.twice(x)
        later = contextvars.copy_context()
    later.run(m.twice, x)
    assert {name: n for name, (n, _) in counted(p).items()} == {"twice kernel 0": 1}


def test_an_exception_leaves_nothing_behind(m: Any, x: Any) -> None:
    profiles: list[fp.Profile] = []

    def fail() -> None:
        with fp.profile() as p:
            profiles.append(p)
            m.twice(x)
            m.add(x, x[:, :3])

    with pytest.raises(fp.ShapeError):
        fail()
    (p,) = profiles
    assert counted(p) == {"twice kernel 0": (1, 2 * x.size * 4)}
    assert CAPTURED.get() is None
    m.twice(x)
    assert len(p.launches) == 1


@pytest.mark.rest
def test_a_device_that_is_closed_inside(m: Any) -> None:
    device = fp.create_device()
    own = fp.Module.load_from_source(device, "profiled_closed", SOURCE)
    with fp.profile() as p:
        own.twice(fp.Tensor.from_numpy(device, ramp(4)))
        device.close()
    assert [(str(k), k.launches, k.seconds) for k in p.kernels] == [("twice kernel 0", 1, None)]


def test_as_text_as_a_dict_and_as_a_trace(m: Any, x: Any, tmp_path: Path) -> None:
    with fp.profile() as p:
        assert (p.kernels, p.seconds) == ([], 0.0)
        m.twice(m.twice(x))
    head, _, columns, row = str(p).splitlines()
    assert head.endswith("; 2 calls, 2 launches")
    assert columns.split()[:3] == ["kernel", "launches", "time"]
    assert row.startswith("twice kernel 0 ")
    assert "768 B" in row
    assert row.endswith("twice")
    made = json.loads(json.dumps(p.to_dict()))
    assert made["calls"] == 2
    assert made["kernels"][0] == {**p.to_dict()["kernels"][0], "name": "twice", "number": 0, "launches": 2}
    p.to_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "i"] == ["twice kernel 0"] * 2
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    ran = [e for e in events if e["ph"] == "X"]
    assert tracks[0] == "host"
    assert ran[0]["dur"] == pytest.approx(p.seconds * 1e6)
    timed = [one for one in p.launches if one.begin is not None]
    assert len(ran) == 1 + len(timed)
    assert all(e["ts"] >= 0 and tracks[e["tid"]] == p.kernels[0].device for e in ran[1:])
    with fp.profile() as nothing:
        pass
    assert str(nothing).count("\n") == 1
    assert nothing.device_seconds == 0
