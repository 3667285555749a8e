"""No failed compile spoils the next one; caches that threads share; arrays of many axes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.argmap import MOST_AXES
from tests.support.selection import daily
from tests.support.slang_functions import F32

PLAIN = "float f(float x) { return x + 1; }"


def loaded(device: Any, **options: Any) -> Callable[[], Any]:
    options = {"name": "m", "source": PLAIN, **options}
    return lambda: fp.Module.load_from_source(device, **options).f(1.0)


def named(device: Any, name: str) -> Callable[[], Any]:
    return lambda: getattr(fp.Module.load_from_source(device, "m", PLAIN.replace(" f(", f" {name}(")), name)(1.0)


def fused(name: str) -> Callable[[], Any]:
    def plain(x: Any) -> Any:
        return x + 1

    plain.__name__ = name
    return lambda: fp.fuse(plain)(np.ones(1, F32)).item()


# what is done, and a word of the error; none where it works
CASES: dict[str, tuple[Callable[[Any], Callable[[], Any]], str]] = {
    "a name of 5,000 characters": (lambda d: loaded(d, name="a" * 5000), ""),
    "a name of 251 characters": (lambda d: loaded(d, name="b" * 251), ""),
    "a keyword as name": (lambda d: loaded(d, name="float"), ""),
    "a name in another script": (lambda d: loaded(d, name="модуль"), "not a valid module name"),
    "a name with NUL": (lambda d: loaded(d, name="a\0b"), "not a valid module name"),
    "a function of 5,000 characters": (lambda d: named(d, "f" * 5000), ""),
    "a fused function of 5,000 characters": (lambda d: fused("f" * 5000), ""),
    "a define of 5,000 characters": (lambda d: loaded(d, defines={"D" * 5000: "1"}), ""),
    "a define with 100,000 characters": (lambda d: loaded(d, defines={"D": "1" * 100_000}), ""),
    "an option that does not exist": (lambda d: loaded(d, options={"nonsense": 1}), "unknown compiler options"),
    "an option that is a list": (lambda d: loaded(d, options={"debug_info": [1]}), "debug_info"),
    "folders as an option": (lambda d: loaded(d, options={"include_paths": ("x",)}), "init_device(include_paths"),
    "a source of 2 MB": (lambda d: loaded(d, source=PLAIN + "//" + "x" * 2_000_000), ""),
    "a source that starts with a byte order mark": (lambda d: loaded(d, source="\ufeff" + PLAIN), ""),
    "a source with NUL": (lambda d: loaded(d, source=PLAIN + "\n\0"), "in line 2"),
    "a source that is not UTF-8": (lambda d: loaded(d, source=PLAIN + "\n\n//\udce9"), "in line 3"),
    "a source that does not parse": (lambda d: loaded(d, source=PLAIN + "\nfloat g( {"), "m.slang:2"),
    "an import of nothing": (lambda d: loaded(d, source="import nothing_there;\n" + PLAIN), "nothing_there"),
    "an error at a kernel": (
        lambda d: loaded(d, source="float f<T>(T x) { static_assert(sizeof(T) == 3, \"odd\"); return 0; }"), "odd",
    ),
}  # fmt: skip


def test_no_failed_compile_spoils_the_next(device: Any, tmp_path: Path) -> None:
    cases = {name: (make(device), word) for name, (make, word) in CASES.items()}
    for name in ('quote"d', "new\nline", "имя", "l" * 240, "back\\slash"):
        (tmp_path / f"{name}.slang").write_text(PLAIN)
        cases[f"a file {name!r}"] = (lambda name=name: fp.Module.load_from_file(device, f"{tmp_path / name}.slang").f(1.0)), ""
    (tmp_path / "latin.slang").write_bytes(PLAIN.encode() + b"\n// \xe9")
    cases["a file of another encoding"] = (lambda: fp.Module.load_from_file(device, tmp_path / "latin.slang").f(1.0)), "in line 2"
    for i, (name, (use, word)) in enumerate(cases.items()):
        for _ in range(2):
            if word:
                with pytest.raises(fp.FusepyError) as caught:
                    use()
                assert word in str(caught.value), (name, caught.value)
                assert "hint" in str(caught.value), (name, caught.value)
            else:
                assert use() == 2.0, name
        good = fp.Module.load_from_source(device, f"good{i}", f"float g(float x) {{ return x + {i}; }}")
        assert good.g(1.0) == 1.0 + i, name


def test_what_sgl_itself_refuses_leaves_the_session(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fusepy.backend.slang.session import Session

    monkeypatch.setattr(Session, "load", lambda self, name, text, *_: self.sgl.load_module_from_source(name, text, "x" * 5000))
    for _ in range(2):
        with pytest.raises(fp.CompileError, match="File name too long"):
            loaded(device, name="refused", source=PLAIN + " // refused")()
    monkeypatch.undo()
    assert loaded(device, name="taken", source=PLAIN + " // taken")() == 2.0


def test_caches_that_threads_share(device: Any) -> None:
    own = fp.init_device()
    stop, failed = threading.Event(), list[BaseException]()
    m = fp.Module.load_from_source(
        own, "shared", "float twice(float x) { return 2 * x; } float add(float x, float y) { return x + y; }"
    )
    t = fp.Tensor.from_numpy(own, np.ones(4, F32))

    def forever(use: Callable[[int], Any]) -> None:
        i = 0
        try:
            while not stop.is_set():
                i += 1
                use(i)
        except BaseException as error:  # noqa: BLE001  # the test reports it
            failed.append(error)

    def lazily(i: int) -> None:
        with fp.lazy():
            u = m.add(t, m.twice(t)) if i % 2 else m.twice(m.add(t, t))
        assert u.to_numpy()[0] == (3 if i % 2 else 4)

    uses = [
        lambda i: fp.fuse(lambda x: m.twice(x) + float(i % 3))(t).to_numpy(),
        lambda i: m.twice([1.0] * (i % 5 + 1)),
        lazily,
        lambda i: fp.clear_cache(device=own),
        lambda i: (fp.stats(), fp.reload_all()),
        lambda i: (fp.stats(own), fp.Module.load_from_source(own, f"m{i % 50}", PLAIN).f(1.0)),
        lambda i: fp.init_device(deferred=False).close() if i < 4 else stop.wait(0.05),
    ]
    threads = [threading.Thread(target=forever, args=(use,)) for use in uses]
    for thread in threads:
        thread.start()
    stop.wait(1.5)
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    own.close()
    assert not failed, failed


@pytest.mark.parametrize("rank", daily([17, MOST_AXES], MOST_AXES))
def test_arrays_of_many_axes(lib: Any, device: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    shape = [1] * rank
    for i in rng.choice(rank, 6, replace=False):
        shape[i] = 2
    a = rng.random(shape).astype(F32)
    b = a.transpose()[..., :1]
    t = fp.Tensor.from_numpy(device, a)
    np.testing.assert_array_equal(lib.add(a, b), a + b)
    np.testing.assert_array_equal(lib.add(t.T, 1.0).to_numpy(), a.T + 1)
    np.testing.assert_array_equal(t.T.copy().to_numpy(), a.T)
    np.testing.assert_allclose(fp.fuse(lambda x: fp.sum(x * x, (0, 3)))(a), (a * a).sum((0, 3)), rtol=1e-5)


def test_more_axes_than_a_grid_has(lib: Any, device: Any) -> None:
    most = np.ones((1,) * MOST_AXES, F32)
    tensor = fp.Tensor.from_numpy(device, most)
    uses: list[Callable[[], Any]] = [
        lambda: lib.add(most[None], 1.0),
        lambda: fp.fuse(lambda x: x + 1)(most[None]),
        lambda: fp.fuse(lambda x: fp.sum(x))(most[None]),
        lambda: fp.Tensor.zeros(device, (1,) * (MOST_AXES + 1)),
        lambda: tensor[None],
        lambda: fp.fuse(lambda x: x[(None,) * MOST_AXES])(np.ones(1, np.float32)),
        lambda: tensor.reshape((1,) * (MOST_AXES + 1)),
    ]
    for use in uses:
        with pytest.raises(fp.ShapeError, match=f"(?s)too many axes.*{MOST_AXES + 1} axes.*at most {MOST_AXES}"):
            use()
    with pytest.raises(fp.ShapeError, match=f"below {MOST_AXES}"):
        fp.vmap(most, (MOST_AXES,))
    assert lib.add(most, 1.0).size == 1
