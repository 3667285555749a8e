"""Programs after hints about what programs of slangpy write."""

from __future__ import annotations

from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.errors.hints.support import Program, X, tensor, zeros
from tests.support.slang_functions import ramp


def stored(array: Any) -> Any:
    held = zeros(4)
    held.storage.copy_from_numpy(array)
    return held


def linked(**kwargs: Any) -> Any:
    source = "extern static const int STEPS; float steps(float x) { return STEPS * x; }"
    return fp.Module(fp.default_device().load_module_from_source("hint_linked", source), **kwargs)


def shared_buffer() -> Any:
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    return fp.default_device().create_buffer(data=X, struct_size=4, usage=usage)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "strides for other axes": (
        lambda m: tensor(ramp(6)).view((2, 3), (1,)),
        "give one stride for each axis, in elements",
        lambda m: tensor(ramp(6)).view((2, 3), (1, 2)),
        ramp(6).reshape(3, 2).T,
    ),
    "a negative stride": (
        lambda m: tensor(ramp(3)).view((3,), (-1,), 2),
        "write t[::-1] to go backwards",
        lambda m: tensor(ramp(3))[::-1],
        ramp(3)[::-1],
    ),
    "a view beyond the memory": (
        lambda m: tensor(ramp(6))[2:].view((6,), offset=1),
        "the offset is counted in elements, from the first one of the tensor",
        lambda m: tensor(ramp(6))[2:].view((6,), offset=-2),
        ramp(6),
    ),
    "too many bytes for a storage": (lambda m: stored(ramp(5)), "cut the array", lambda m: stored(ramp(5)[:4]), ramp(4)),
    "a prelude that is no text": (
        lambda m: linked().steps.prelude(7),
        'write prelude("export static const int N = 4;")',
        lambda m: linked().steps.prelude("export static const int STEPS = 3;")(X),
        3 * X,
    ),
    "structured numbers without a struct": (
        lambda m: fp.Tensor.from_numpy(fp.default_device(), np.zeros(2, [("a", "<f4"), ("b", "<f4")])),
        "say which struct it is: Tensor.from_numpy(device, array, m.Name)",
        lambda m: fp.Tensor.from_numpy(fp.default_device(), np.ones(2, m.V.dtype), m.V).to_numpy()["a"],
        np.ones(2, np.float32),
    ),
    "fields for a number": (
        lambda m: m.add(X, 1.0, _result={"sum": np.zeros(3, np.float32)}),
        "give one destination for each result, in the same containers",
        lambda m: m.add(X, 1.0, _result="numpy"),
        X + 1,
    ),
    "a number for a member": (
        lambda m: m.Ray(ramp(2, 3), 1.5, _result={"reach": 5.0}),
        "give a tensor or an array for each member that is wanted",
        lambda m: m.Ray(ramp(2, 3), 1.5, _result={"reach": zeros(2)})["reach"],
        np.full(2, 1.5, np.float32),
    ),
    "a usage that no tensor has": (
        lambda m: fp.Tensor.empty(fp.default_device(), (3,), "float", usage=spy.BufferUsage.vertex_buffer),
        "make a buffer, device.sgl.create_buffer(…, usage=…): functions take it as an array",
        lambda m: np.asarray(m.add(fp.vcast(shared_buffer(), "float"), 1.0)),
        X + 1,
    ),
}
