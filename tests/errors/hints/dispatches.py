"""Programs after hints about raw dispatches and recording."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.errors.hints.support import (
    Program,
    X,
    fused,
    load,
    tensor,
)
from tests.support.slang_functions import F32


def entry(m: Any) -> Any:
    source = """[shader("compute")] [numthreads(32, 1, 1)]
    void fill(uint3 at : SV_DispatchThreadID, uniform float* p, uniform int n) { if (at.x < n) p[at.x] = 7 * at.x; }
    void count_up(uint3 at, float* p) { p[at.x] = 7 * at.x; }
    void slow(float* p) { p[0] = 1; }
    float tell(uint3 at) { return at.x; }
    void both(uint at, float* p) {} void both(uint2 at, float* p) {}
    float f(float x) { return x + 1; }"""
    return load("hint_entry_points", source)


def everywhere(m: Any) -> Any:
    made = tensor(np.zeros(3, F32))
    entry(m).count_up.dispatch(3, p=made)
    return made


def recorded(m: Any, record: Any) -> Any:
    made, encoder = fp.Tensor.empty(fp.default_device(), (3,), "float"), fp.default_device().sgl.create_command_encoder()
    record(encoder, made)
    fp.default_device().sgl.submit_command_buffer(encoder.finish())
    return made


def finished(m: Any) -> None:
    encoder = fp.default_device().sgl.create_command_encoder()
    encoder.finish()
    m.add.append_to(encoder, tensor(X), 1.0)


def filled_by(m: Any, dispatch: Any) -> Any:
    made = tensor(np.zeros(3, F32))
    dispatch(entry(m).fill, made)
    return made


def scaling() -> Any:
    source = """uniform float k; [shader("compute")] [numthreads(1, 1, 1)]
    void fill(uint3 at : SV_DispatchThreadID, uniform float* p) { p[at.x] = k * at.x; }"""
    return load("hint_scaling", source)


def too_many_groups(m: Any) -> None:
    if fp.default_device().target.kind != "software":
        pytest.skip("GPUs take more groups than a dispatch can name")
    entry(m).fill.dispatch(1 << 31, tensor(X), 3)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # raw dispatches
    "threads of no count": (
        lambda m: entry(m).fill.threads("3"),
        "write threads(width, height)",
        lambda m: filled_by(m, lambda f, t: f.threads(3, 1).call(p=t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "a global of a dispatch": (
        lambda m: filled_by(m, lambda f, t: scaling().fill.dispatch(3, t)),
        "call .set(k=…) on it, or pass vars={'k': …}",
        lambda m: filled_by(m, lambda f, t: scaling().fill.dispatch(3, t, vars={"k": 2.0})),
        2 * np.arange(3, dtype=F32),
    ),
    "a dispatch that is fused": (
        lambda m: fused(lambda x: entry(m).fill.dispatch(3, p=x, n=3), X),
        "call it outside of the fused function",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, p=t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "too many arguments of a dispatch": (
        lambda m: entry(m).fill.dispatch(3, tensor(X), 3, 4),
        "pass one value per parameter",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, t, 3)),
        7 * np.arange(3, dtype=F32),
    ),
    "an argument of a dispatch twice": (
        lambda m: entry(m).fill.dispatch(3, tensor(X), p=tensor(X), n=3),
        "pass it by position or by name",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "an argument of a dispatch that is missing": (
        lambda m: entry(m).fill.dispatch(3, tensor(X)),
        "pass n=…",
        lambda m: filled_by(m, lambda f, t: f.dispatch(3, t, n=3)),
        7 * np.arange(3, dtype=F32),
    ),
    "more groups than a device has": (
        lambda m: too_many_groups(m),
        "dispatch over two or three dimensions, or in parts",
        lambda m: filled_by(m, lambda f, t: f.dispatch((3, 1), t, 3)),
        7 * np.arange(3, dtype=F32),
    ),
    "a dispatch of what is overloaded": (
        lambda m: entry(m).both.dispatch(3, tensor(X)),
        "give it a name of its own",
        everywhere,
        7 * np.arange(3, dtype=F32),
    ),
    "a dispatch of what returns": (
        lambda m: entry(m).tell.dispatch(3),
        "call it instead",
        lambda m: entry(m).f(X),
        X + 1,
    ),
    "a dispatch of what takes no thread": (
        lambda m: entry(m).slow.dispatch(3, tensor(X)),
        "write void slow(uint3 tid, …)",
        everywhere,
        7 * np.arange(3, dtype=F32),
    ),
    "a group of an entry point": (
        lambda m: filled_by(m, lambda f, t: f.options(numthreads=[8]).dispatch(3, t, 3)),
        "change it in Slang, or make it a plain function",
        everywhere,
        7 * np.arange(3, dtype=F32),
    ),
    # recording
    "an encoder in a call": (
        lambda m: m.add(fp.default_device().sgl.create_command_encoder(), X, 1.0),
        "write add.append_to(encoder, …)",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
    "what is no encoder": (
        lambda m: m.add.append_to(X, X, 1.0),
        "make one with device.sgl.create_command_encoder()",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
    "an encoder that is finished": (
        finished,
        "record before encoder.finish()",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
    "recording inside of a trace": (
        lambda m: fused(lambda x: m.add.append_to(fp.default_device().sgl.create_command_encoder(), x, 1.0), X),
        "append the fused function itself",
        lambda m: recorded(m, lambda encoder, t: fp.fuse(lambda x: m.add(x, 1.0)).append_to(encoder, tensor(X), _result=t)),
        X + 1,
    ),
    "recording to an array": (
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=np.empty(3, F32))),
        "pass a Tensor, and read it after you have submitted the encoder",
        lambda m: recorded(m, lambda encoder, t: m.add.append_to(encoder, tensor(X), 1.0, _result=t)),
        X + 1,
    ),
}
