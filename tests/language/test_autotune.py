"""`fp.autotune`: the same results, measured once, told by `explain`, and refused where it has no meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.options import Options
from fusepy.backend.emit.tuning import Shape
from fusepy.language import autotune as tuning


@pytest.fixture(scope="module")
def m() -> Any:
    return fp.Module.load_from_source(
        fp.default_device(),
        "tuned",
        "float wave(float x, float k) { return sin(x * k) + x; } void put(inout float x) { x += 1; }",
    )


def test_results_stay_and_the_answer_is_kept(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    f = fp.fuse(lambda x, k: m.wave(x, k) * 2.0)  # pyright: ignore
    x = rng.standard_normal((37, 101)).astype(np.float32)
    want = f(x, 3.0)
    times = iter([5.0, 4.9, 3.0, 1.0, 2.0, *[9.0] * 5])
    measured: list[float] = []

    def seconds(lowered: Any) -> float:
        assert real(lowered) > 0
        measured.append(next(times))
        return measured[-1] * 1e-6

    real = tuning._seconds  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(tuning, "_seconds", seconds)
    fast = fp.autotune(f, x, 3.0)
    assert len(measured) in (len(tuning.SHAPES), 1 + len(tuning.SHAPES))  # the usual shape of a device may be one of these
    assert "autotune: groups of 128, 1 elements a thread, 1 µs instead of 5" in str(fast.explain(x, 3.0))
    for n in (1, 5, 129, 4096 + 3):
        y = rng.standard_normal((n, 3)).astype(np.float32)
        np.testing.assert_array_equal(fast(y, 2.0), f(y, 2.0))
    np.testing.assert_array_equal(fast(x, 3.0), want)
    monkeypatch.setattr(tuning, "_seconds", lambda lowered: pytest.fail("measured again"))
    assert "groups of 128" in str(fp.autotune(f, x + 1, 4.0).explain(x, 3.0))
    assert "numthreads(128" in fast.source(x, 3.0)


@pytest.mark.parametrize("shape", tuning.SHAPES)
def test_every_shape_computes_all_elements(m: Any, shape: tuple[int, int]) -> None:
    f = tuning._shaped(m.wave, *shape)  # pyright: ignore[reportPrivateUsage]
    for x in (np.linspace(0, 1, n, dtype=np.float32) for n in (1, 127, 5000)):
        out = fp.Tensor.from_numpy(m.device, np.full_like(x, np.nan))  # new memory may hold the results of another shape
        np.testing.assert_array_equal(f(x, 2.0, _result=out).to_numpy(), m.wave(x, 2.0))
    x = np.ones((5, 300), np.float32)
    np.testing.assert_array_equal(f(x, x[:1]), m.wave(x, x[:1]))


def test_the_usual_shape_stays_where_others_gain_little(m: Any) -> None:
    x = np.ones(3000, np.float32)
    fast = fp.autotune(m.wave, x, 2.0)
    assert "autotune:" in str(fast.explain(x, 2.0))
    np.testing.assert_array_equal(fast(x, 2.0), m.wave(x, 2.0))


def test_refused(m: Any) -> None:
    x = np.ones(8, np.float32)
    cases: list[tuple[Any, tuple[Any, ...], str]] = [
        (np.sin, (x,), "no function of the device"),
        (m.wave.options(numthreads=[64]), (x, 1.0), "sets its thread group"),
        (m.put, (fp.asarray(x),), "writes to its arguments"),
        (fp.fuse(lambda x: fp.sum(x)), (x,), "no elementwise kernel"),
    ]
    for f, args, words in cases:
        with pytest.raises(fp.ArgumentError, match=words):
            fp.autotune(f, *args)
    with pytest.raises(fp.TraceError, match="inside a fused function"):
        fp.fuse(lambda x: fp.autotune(m.wave, x, 1.0)(x, 1.0))(x)


def test_only_linear_elements_are_loaded_in_batches() -> None:
    options = Options(numthreads=(128,), per_thread=4)
    assert options.shape((), linear=True) == Shape(128, 4, True)
    assert options.shape((), linear=False) == Shape(128, 4, False), "a batch has no coordinates at its stores"
    assert Options(numthreads=(8, 8)).shape((8, 8), linear=False) == Shape(64, 1, False)
    assert Options().shape((), linear=True) is None
