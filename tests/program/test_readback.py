"""Results that are single values come back as Python numbers, of every type, by the short way."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.transfer import Transfer
from fusepy.backend.execute.readback import Cell
from tests.support.slang_functions import F32, same

TYPES = ["bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int", "uint", "int64_t", "uint64_t", "half", "float", "double"]
SOURCE = (
    "\n".join(f"{t} same_{t}({t} x) {{ return x; }}" for t in TYPES)
    + """
float add(float a, float b) { return a + b; }
float3 spread(float x) { return float3(x, x + 1, x + 2); }
bool3 above(float3 a, float3 b) { return a > b; }
float2x3 grid(float x) { return float2x3(x, 1, 2, 3, 4, 5); }
void parts(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
struct Pair { float a; int b; };
Pair pair(float a, int b) { Pair p; p.a = a; p.b = b; return p; }
"""
)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "readback", SOURCE)


@pytest.mark.req("C1", "C13")
@pytest.mark.parametrize("type", TYPES)
def test_numbers_of_every_type(m: Any, type: str) -> None:
    dtype = fp.Tensor.zeros(m.device, 1, type).to_numpy().dtype
    values: list[Any] = [0, 1, 100]
    if dtype.kind == "i":
        values += [-1, np.iinfo(dtype).min, np.iinfo(dtype).max]
    elif dtype.kind == "u":
        values.append(np.iinfo(dtype).max)
    elif dtype.kind == "f":
        values = [*map(float, values), -0.5, float("inf"), float(np.finfo(dtype).max)]
    else:
        values = [True, False]
    for value in values:
        found = m[f"same_{type}"](value.item() if isinstance(value, np.generic) else value)
        assert found == value
        assert found.__class__ is (bool if dtype.kind == "b" else float if dtype.kind == "f" else int)


@pytest.mark.req("C1")
def test_vectors_and_matrices_are_lists(m: Any) -> None:
    assert m.spread(1.0) == [1.0, 2.0, 3.0]
    assert m.above([1, 5, 3], [2, 2, 2]) == [False, True, True]
    assert m.grid(7.0) == [[7.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert m.parts(1.5) == (1.0, 0.5)
    assert [*m.pair(1.0, 2).values()][:2] == [1.0, 2]
    assert m.add([1.0], 2.0) == [3.0]


def test_other_containers_of_single_values(m: Any) -> None:
    same(m.add(1.0, 2.0, _result="numpy"), np.array(3, F32))
    assert isinstance(m.add(1.0, 2.0, _result="tensor"), fp.Tensor)
    assert m.add(1.0, 2.0, _result="list") == 3.0
    out = np.zeros((), F32)
    assert m.add(1.0, 2.0, _result=out) is out
    assert out == 3


def test_the_place_is_kept_and_belongs_to_one_call_at_a_time(m: Any) -> None:
    m.add(0.0, 0.0)
    before = fp.stats().pool_live_bytes
    assert [m.add(float(i), 1.0) for i in range(50)] == [i + 1.0 for i in range(50)]
    assert fp.stats().pool_live_bytes == before
    wrong: list[Any] = []

    def run(base: float) -> None:
        wrong.extend((base, i) for i in range(200) if m.add(base, float(i)) != base + i)

    threads = [threading.Thread(target=run, args=(1000.0 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_each_thread_is_a_new_one(m: Any) -> None:
    """A thread that has ended leaves its identifier to the next, which knows nothing of the device yet."""
    results: list[float] = []
    for i in range(20):
        thread = threading.Thread(target=lambda i=i: results.append(m.add(float(i), 1.0)))
        thread.start()
        thread.join()
    assert results == [i + 1.0 for i in range(20)]


def test_a_failed_call_leaves_the_way_open(m: Any) -> None:
    assert m.same_int(3) == 3
    with pytest.raises(OverflowError):
        m.same_int8_t(1000)
    assert m.same_int8_t(100) == 100


def test_a_fused_function_returns_numbers_as_well(m: Any) -> None:
    f = fp.fuse(lambda x, y: m.add(x, y) * 2)
    assert [f(float(i), 1.0) for i in range(5)] == [2.0 * (i + 1) for i in range(5)]


@pytest.mark.rest  # slangpy's own module takes seconds to parse
def test_whole_arrays_that_lie_elsewhere_beside_a_number(device: Any) -> None:
    """slangpy's arrays count elements from the beginning of a buffer, so a list of vectors may have to be moved for them."""
    theirs = fp.Module.load_from_source(
        device, "readback_whole", "import slangpy; float at(int i, Tensor<float3,1> t) { return t[i].y; }"
    )
    kept = []
    for i in range(4):
        assert theirs.at(1, [[1.0, 2.0, 3.0], [4.0, 5.0 + i, 6.0]]) == 5.0 + i
        kept.append(fp.Tensor.empty(device, 1))  # the next list lies elsewhere


def test_the_staged_way_reads_what_was_just_recorded(device: Any, m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What devices without host pointers take: a copy behind the dispatch, in one submission."""
    staged = Transfer(device.raw, flush=device.queue.flush, copy=device.queue.copy_out, host_addressable=False)
    monkeypatch.setattr(device, "transfer", staged)
    assert [m.add(float(i), 1.0) for i in range(20)] == [i + 1.0 for i in range(20)]
    assert m.spread(1.0) == [1.0, 2.0, 3.0]
    t = fp.Tensor.full(device, 4, 3.0)
    t.clear()
    same(t.to_numpy(), np.zeros(4, F32))
    t[::2].copy_from_numpy(np.ones(2, F32))
    same(t.to_numpy(), np.array([1, 0, 1, 0], F32))


@pytest.mark.req("P3")
def test_numbers_are_written_to_memory_of_the_host_where_it_has_no_other_pointer(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU with Vulkan; elsewhere memory of the pool is read."""
    device = m.device
    total = fp.fuse(lambda x: fp.sum(x) + 1.0)
    x = fp.Tensor.from_numpy(device, np.arange(5000, dtype=np.float32))
    assert total(x) == 12497501.0
    monkeypatch.setattr(device, "cells", [])
    monkeypatch.setattr(device.transfer, "host_addressable", False)
    for _ in range(2):
        assert total(x) == 12497501.0
        assert m.add(1.0, 2.0) == 3.0
        assert m.grid(7.0) == [[7.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert len(device.cells) == 1  # of all programs together
    [cell] = device.cells
    assert cell._block.__class__.__name__ == ("Foreign" if device.target.spirv or device.reads else "Block")
    device.cells.clear()
    nowhere = SimpleNamespace(device_address=0)
    monkeypatch.setattr(device, "_sgl", SimpleNamespace(create_buffer=lambda **given: nowhere))
    assert device.reads or Cell.make(device, 256)._block.__class__.__name__ == "Block"
