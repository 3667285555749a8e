"""torch tensors as arguments and results, without fusepy ever importing torch by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support import child
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
T twice<T : IArithmetic>(T x) { return x + x; }
float add(float a, float b) { return a + b; }
float3 tint(float3 c, float k) { return c * k; }
bool flip(bool x) { return !x; }
uniform float gain;
float lift(float x) { return x * gain; }
void decay(inout float x) { x *= 0.5; }
void parts(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
struct Ray { float3 position; float3 direction; };
Ray ray(float3 p, float3 d) { Ray r; r.position = p; r.direction = d; return r; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "torch_tests", SOURCE)


@pytest.fixture(scope="module")
def own() -> Any:
    device = fp.init_device()
    yield device
    device.close()


@pytest.mark.req("P3")
def test_torch_is_not_imported_by_fusepy() -> None:
    """slangpy imports torch by itself where it is installed, so it is hidden from it: then everything works without."""
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import fusepy as fp, numpy as np\n"
        "m = fp.Module.load_from_source(fp.default_device(), 'no_torch', 'float add(float a, float b) { return a + b; }')\n"
        "assert m.add(np.ones(3, np.float32), 1).tolist() == [2, 2, 2]\n"
        "t = fp.NDBuffer(fp.default_device(), shape=3)\n"
        "for use in (t.torch, m.add.torch, fp.fuse(m.add).torch, lambda: m.add.return_type('torch')):\n"
        "    try:\n"
        "        use()\n"
        "    except fp.MissingPackageError as error:\n"
        "        assert isinstance(error, ImportError) and 'pip install' in error.hint\n"
        "    else:\n"
        "        raise SystemExit('torch was not missed')\n"
    )
    done = child.run(program, torch=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.req("C13")
@examples(60)
@given(data=st.data())
def test_any_torch_tensor_is_read(m: Any, data: st.DataObject) -> None:
    torch = pytest.importorskip("torch")
    names = ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"]
    dtype = getattr(torch, data.draw(st.sampled_from(names)))
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    t = torch.arange(int(np.prod(shape, dtype=int))).to(dtype).reshape(shape)
    layout = data.draw(st.sampled_from(["plain", "turned", "stepped", "expanded", "flipped"]))
    if layout == "turned":
        t = t.permute(tuple(reversed(range(t.ndim))))
    elif layout == "stepped" and t.ndim:
        t = t[..., ::2]
    elif layout == "expanded":
        t = t.expand(3, *t.shape)
    elif layout == "flipped" and t.ndim:
        t = t.flip(0)
    if t.is_floating_point() and data.draw(st.booleans()):
        t = t.requires_grad_()
    with torch.no_grad():
        found = m.twice(fp.vmap(t, tuple(range(t.ndim))))
    assert isinstance(found, torch.Tensor)
    assert found.dtype is dtype
    assert torch.equal(found, (t + t).detach())


@pytest.mark.req("C13", "F14")
def test_results_and_destinations(device: Any, m: Any) -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(m.tint(t, 2.0), 2 * t)
    assert torch.equal(m.flip(torch.tensor([True, False])), torch.tensor([False, True]))
    assert torch.equal(m.add(torch.nn.Parameter(t).detach(), t.numpy()), 2 * t)  # torch leads over NumPy
    assert isinstance(m.add(t, fp.Tensor.from_numpy(device, t.numpy())), fp.Tensor)
    assert isinstance(m.add(t, 1, _result="numpy"), np.ndarray)
    for container in ("torch", torch.Tensor):
        assert torch.equal(m.add.return_type(container)(ramp(3), 1), torch.from_numpy(ramp(3) + 1))
        assert m.add(1.0, 2.0, _result=container).item() == 3
    out = torch.zeros(3, 2)
    assert m.add(t, t, _result=out.T) is not None
    assert torch.equal(out.T, 2 * t)
    m.decay(t)
    assert torch.equal(t, torch.arange(6.0).reshape(2, 3) / 2)
    whole, rest = torch.empty(2), torch.empty(2)
    m.parts(torch.tensor([1.5, -0.25]), whole, rest)
    assert torch.equal(whole, torch.tensor([1.0, -1.0]))
    assert torch.equal(rest, torch.tensor([0.5, 0.75]))
    fused = fp.fuse(lambda x: {"sum": m.add(x, x), "x": m.add(x, 1)})
    assert torch.equal(fused(t)["sum"], t + t)
    large = torch.rand(300_000)
    first, second = m.add(large, 1.0), m.add(large, 2.0)
    del large
    assert torch.equal(first + 1, second) or torch.allclose(first + 1, second)


@pytest.mark.req("T16")
def test_memory_is_shared_both_ways(own: Any) -> None:
    torch = pytest.importorskip("torch")
    m = fp.Module.load_from_source(own, "torch_shared", SOURCE)
    host = own.transfer.host_addressable
    t = torch.arange(6.0).reshape(2, 3)
    b = fp.NDBuffer(t, on=own)
    same(m.add(b, 1).to_numpy(), t.numpy() + 1)
    if host:
        t[0, 0] = 9
        m.add(b, b, _result=b)
        own.wait()
        assert torch.equal(t, torch.tensor([[18.0, 2, 4], [6, 8, 10]]))
        assert b.torch().data_ptr() == t.data_ptr()
    mine = fp.Tensor.from_numpy(own, ramp(4, 4))
    for view in (mine, mine[1:, ::2], mine.T, mine[0, 0]):
        assert torch.equal(view.torch().cpu(), torch.from_numpy(view.to_numpy()))
        assert not host or view.torch().data_ptr() == view.address
        assert not host or torch.equal(torch.from_dlpack(view), view.torch())
    assert torch.equal(mine[::-1].torch(), torch.from_numpy(ramp(4, 4)[::-1].copy()))  # torch has no negative strides
    assert fp.Tensor.zeros(own, 2, "bool").torch().dtype is torch.bool
    same(fp.Tensor.from_numpy(own, ramp(2, 3), m.float3).torch().cpu().numpy(), ramp(2, 3))
    with pytest.raises(fp.UnsupportedArgumentError, match="Ray"):
        fp.Tensor.zeros(own, 2, m.Ray).torch()
    with pytest.raises(fp.UnsupportedArgumentError, match="Ray"):
        m.ray(torch.zeros(2, 3), torch.zeros(2, 3))


WRONG = {
    "sparse": (lambda m, torch: m.add(torch.eye(3).to_sparse(), 1), TypeError, "torch.sparse_coo"),
    "bfloat16": (lambda m, torch: m.add(torch.ones(3, dtype=torch.bfloat16), 1), TypeError, "torch.bfloat16"),
    "complex": (lambda m, torch: m.add(torch.ones(3, dtype=torch.complex64), 1), TypeError, "torch.complex64"),
    "other device": (lambda m, torch: m.add(torch.ones(3, device="meta"), 1), ValueError, "meta"),
    "other dtype": (lambda m, torch: m.add(torch.ones(3, dtype=torch.float64), 1), TypeError, "double"),
    "leaf": (lambda m, torch: m.add(ramp(3), 1, _result=torch.ones(3, requires_grad=True)), TypeError, "requires_grad"),
    "shape": (lambda m, torch: m.add(ramp(3), 1, _result=torch.ones(4)), ValueError, r"float32\[4\]"),
    "repeated": (lambda m, torch: m.add(ramp(3), 1, _result=torch.ones(1).expand(3)), ValueError, "repeats elements"),
    "sparse result": (lambda m, torch: m.add(ramp(3), 1, _result=torch.ones(3).to_sparse()), TypeError, "sparse"),
}


@pytest.mark.parametrize("name", WRONG)
def test_row_22_and_the_like(m: Any, name: str) -> None:
    torch = pytest.importorskip("torch")
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text) as caught:
        call(m, torch)
    assert isinstance(caught.value, fp.FusepyError)
    assert caught.value.hint
    same(m.add(torch.ones(3), 1).numpy(), np.full(3, 2, F32))


# where autograd cannot follow; tests/functions/test_autograd.py has the others
GRADIENTS: dict[str, Any] = {
    "result": lambda m, w: m.add(ramp(4), 1.0, _result=w),
    "to a result": lambda m, w: m.add(w, 1.0, _result=w.new_empty(4)),
    "to an out": lambda m, w: m.parts(w, w.new_empty(4), w.new_empty(4)),
    "to an inout": lambda m, w: m.decay(w.clone()),
    "to NumPy": lambda m, w: m.add(w, 1.0, _result="numpy"),
    "to a list": lambda m, w: m.add.return_type("list")(w, 1.0),
    "recorded": lambda m, w: m.add.append_to(m.device.sgl.create_command_encoder(), w, 1.0),
    "global": lambda m, w: m.lift.set(gain=w[0])(1.0),
    "from_numpy": lambda m, w: fp.Tensor.from_numpy(m.device, w),
    "from_dlpack": lambda m, w: fp.Tensor.from_dlpack(m.device, w),
    "copy_from_numpy": lambda m, w: fp.Tensor.zeros(m.device, 4).copy_from_numpy(w),
    "full": lambda m, w: fp.Tensor.full(m.device, 4, w[0]),
    "NDBuffer": lambda m, w: fp.NDBuffer(w, on=m.device),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_not_lost_without_a_word(m: Any, name: str) -> None:
    torch = pytest.importorskip("torch")
    call = GRADIENTS[name]
    for kind in (torch.ones(4, requires_grad=True), torch.nn.Parameter(torch.ones(4)), torch.ones(4, requires_grad=True) * 1):
        with pytest.raises(fp.GradientError, match=r"requires gradients") as caught:
            call(m, kind)
        assert "detach()" in caught.value.hint
    call(m, torch.ones(4))
    with torch.no_grad():
        call(m, torch.ones(4, requires_grad=True))
    with pytest.raises(fp.GradientError):  # the program is known now
        call(m, torch.ones(4, requires_grad=True))


def test_a_result_that_backward_needs_is_missed(m: Any) -> None:
    torch = pytest.importorskip("torch")
    kept = torch.ones(3)
    leaf = torch.ones(3, requires_grad=True)
    loss = (leaf * kept).sum()  # keeps `kept` for the gradient of `leaf`
    m.add(ramp(3), 1.0, _result=kept)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
