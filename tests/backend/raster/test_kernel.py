"""Draws of one program: their images by size, their indices in memory of others, and their places among other kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.device.queue import Queue
from fusepy.backend.raster.kernel import DrawKernel
from tests.support.rasters import SOURCE, need_raster

V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.float32(np.eye(3))}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_raster(device)
    return fp.Module.load_from_source(device, "kernels_of_draws", SOURCE)


def test_two_draws_of_one_kernel_keep_their_numbers_and_images(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment=lambda c, gain: fp.float4(c.colour * gain, 1.0))

    @fp.fuse
    def frame(at: Any, gain: Any) -> Any:
        one = draw({"at": at, "colour": V["colour"]}, targets=(6, 6), gain=gain)
        two = draw({"at": at, "colour": V["colour"]}, targets=(6, 6), gain=gain * 2.0)
        small = draw({"at": at, "colour": V["colour"]}, targets=(3, 3), gain=1.0)
        return one + two, one, small

    for gain in (1.0, 0.25):
        both, one, small = frame(fp.Tensor(V["at"]), gain)
        np.testing.assert_allclose(both.to_numpy()[..., :3], 3 * one.to_numpy()[..., :3], rtol=1e-5)
        np.testing.assert_allclose(small.to_numpy()[1, 1, :3] * gain, one.to_numpy()[2:4, 2:4, :3].mean(axis=(0, 1)), rtol=1e-5)


def test_indices_in_memory_of_another_framework(m: Any) -> None:
    torch = pytest.importorskip("torch")
    draw = fp.raster(m, vertex="vs", fragment="fs")
    expected = draw(V, [2, 1, 0], targets=(4, 4))
    for dtype in (torch.int32, torch.int64, torch.uint8):
        given = {name: torch.from_numpy(v) for name, v in V.items()}
        np.testing.assert_array_equal(draw(given, torch.tensor([[2, 1, 0]], dtype=dtype), targets=(4, 4)).numpy(), expected)
    view = fp.Tensor(np.uint32([9, 2, 9, 1, 9, 0]))[1::2]
    for indices in (view, view.copy()[::-1], view.copy().reshape(3, 1).T):
        for _ in range(2):
            np.testing.assert_array_equal(draw(V, indices, targets=(4, 4)).to_numpy(), expected)


def test_a_pass_with_the_same_tensors_is_described_once(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    described = DrawKernel._draw
    monkeypatch.setattr(DrawKernel, "_draw", lambda *given: told.append(given) or described(*given))
    draw = fp.raster(m, vertex="vs", fragment=lambda c, gain: fp.float4(c.colour * gain, 1.0)).options(depth="less")
    corners, indices = {name: fp.Tensor(v) for name, v in V.items()}, fp.Tensor(np.uint32([0, 1, 2]))
    first, second = ([fp.Tensor.empty(m.device, (5, 7), kind) for kind in ("float4", "float")] for _ in range(2))
    wanted = draw(V, [0, 1, 2], targets=(5, 7), gain=1.0)[0][..., :3]

    def drawn(into: list[Any], gain: float, indices: Any = indices) -> Any:
        into[0].clear()
        draw(corners, indices, targets=(5, 7), gain=gain, _result=tuple(into))
        return into[0].to_numpy()[..., :3]

    for k in range(30):
        np.testing.assert_allclose(drawn(first, k * 0.25), wanted * (k * 0.25), atol=1e-6)
    told.clear()
    np.testing.assert_allclose(drawn(first, 9.0), wanted * 9, atol=1e-6)
    assert not told
    # other results, indices that are copied, another size and an encoder in between
    for between in (
        lambda: drawn(second, 2.0),
        lambda: drawn(first, 2.0, fp.Tensor(np.uint32([2, 9, 1, 9, 0]))[::2]),
        lambda: draw(corners, indices, targets=(4, 4), gain=2.0),
        lambda: draw.append_to(m.device.sgl.create_command_encoder(), corners, indices, targets=(5, 7), gain=2.0),
    ):
        for _ in range(12):
            between()
        for k in (3.0, 4.0):
            np.testing.assert_allclose(drawn(first, k), wanted * k, atol=1e-6)


def test_a_draw_in_an_encoder_and_not_in_a_pass(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs")
    encoder = m.device.sgl.create_command_encoder()
    found = [draw.append_to(encoder, V, targets=((4, n), "rgba8_unorm")) for n in (4, 5)]
    with pytest.raises(fp.ArgumentError, match="pass of another kind"), encoder.begin_compute_pass() as compute:
        draw.append_to(compute, V, targets=(4, 4))
    m.device.sgl.submit_command_buffer(encoder.finish())
    for image in found:
        np.testing.assert_array_equal(image.to_numpy(), draw(V, targets=(image.shape, "rgba8_unorm")))


class Counted:
    """An encoder that counts what is recorded into it."""

    def __init__(self, encoder: Any, counts: Counter[str]):
        self._encoder, self._counts = encoder, counts

    def __getattr__(self, name: str) -> Any:
        self._counts[name] += 1
        return getattr(self._encoder, name)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Counter[str]]:
    """Returns what the second call of a function records beside dispatches, by name."""
    counts, record = Counter[str](), Queue.record

    def recorded(self: Any, work: Callable[[Any], None], *kept: object) -> None:
        record(self, lambda encoder: work(Counted(encoder, counts)), *kept)

    def counted(call: Callable[[], Any]) -> Counter[str]:
        call()
        counts.clear()
        call()
        return Counter(counts)

    monkeypatch.setattr(Queue, "record", recorded)
    return counted


def test_an_image_that_nothing_reads_is_not_copied(m: Any, commands: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs").options(depth="less")
    given, size = {name: fp.Tensor(v) for name, v in V.items()}, (4, 4)
    one, both = {"begin_render_pass": 1, "copy_texture_to_buffer": 1}, {"begin_render_pass": 1, "copy_texture_to_buffer": 2}

    def lazily() -> Any:
        with fp.lazy():
            image = draw(given, targets=size)[0]
            doubled = image * 2.0
        return doubled.to_numpy()

    graph = fp.Graph(inputs=["at"])
    shown = draw.node(2)({"at": graph.get_inputs()[0], "colour": V["colour"]}, targets=size)
    graph.set_outputs(shown[0] * 2.0)
    assert commands(lambda: draw(given, targets=size)) == both
    for part, counts in ((lambda made: made[0] * 2.0, one), (lambda made: made[1] * 2.0, one), (lambda made: made, both)):
        fused = fp.fuse(lambda at, part: part(draw({**given, "at": at}, targets=size)))
        assert commands(partial(fused, given["at"], part)) == counts
    assert commands(lazily) == one
    assert commands(lambda: graph(given["at"])) == one


def test_an_image_that_nothing_reads_takes_no_memory(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs").options(depth="less")
    given = {name: fp.Tensor(v) for name, v in V.items()}
    frame = fp.fuse(lambda at: m.tonemap(draw({**given, "at": at}, targets=(64, 64))[0], 0.0))
    assert frame.explain(given["at"]).peak_bytes == 64 * 64 * (16 + 12)  # the colour, and the result
    colour = draw(given, targets=(64, 64))[0].to_numpy()[..., :3]
    np.testing.assert_allclose(frame(given["at"]).to_numpy(), colour / (1 + colour), rtol=1e-5)


def test_draws_in_a_stream_share_a_submission() -> None:
    device = fp.init_device()  # of its own: a user's encoder on a device ends the sharing
    need_raster(device)
    m = fp.Module.load_from_source(device, "kernels_of_draws", SOURCE)
    draw = fp.raster(m, vertex="vs", fragment="fs").options(depth="less")
    given = {name: fp.Tensor(v, device=device) for name, v in V.items()}
    into = fp.Tensor.empty(device, (4, 4), "float4"), fp.Tensor.empty(device, (4, 4))
    draw(given, targets=(4, 4), _result=into)
    with device.lock:  # nobody submits meanwhile
        device.queue.flush()
        before = device.queue._submitted
        for _ in range(16):
            draw(given, targets=(4, 4), _result=into)
        assert device.queue._submitted == before
    assert into[0].to_numpy()[0, 0, 3] == 1
    device.close()


def test_barriers_stand_between_uploads_and_the_draw_that_reads_them(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, log = fp.raster(m, vertex="vs", fragment="fs"), list[str]()
    monkeypatch.setattr(m.device.transfer, "host_addressable", False)  # as on a GPU
    draw(V, [0, 1, 2], targets=(4, 4))
    names = {"global_barrier": "b", "copy_buffer": "c", "begin_render_pass": "r", "copy_texture_to_buffer": "t", "finish": "f"}

    def logged(letter: str, called: Any) -> Any:
        return lambda *given, **named: (log.append(letter), called(*given, **named))[1]

    for name, letter in names.items():
        monkeypatch.setattr(spy.CommandEncoder, name, logged(letter, getattr(spy.CommandEncoder, name)))
    for red in (0.5, 1):
        log.clear()
        seen = draw({**V, "colour": V["colour"] * 0 + np.float32(red)}, [0, 1, 2], targets=(4, 4))
        assert seen[2, 1, 0] == red
        assert re.fullmatch("(bcbf){3}brtf?bcb?f", "".join(log))
