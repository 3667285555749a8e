"""Cooperative vectors in networks of halfs: where they are on, and which layers become the instruction, in Slang's SPIR-V."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.device import device as devices
from fusepy.backend.slang import session
from fusepy.backend.slang.cooperative import COOPERATIVE, macros_of
from fusepy.backend.sources.libraries import FOLDER
from tests.support.slangc import SPIRV, compiled

ON = {COOPERATIVE: "1"}
Shape = tuple[int, int, int, int]  # In, Hidden, Layers, Out
PRODUCTS: dict[Shape, list[Shape | tuple[int, int]]] = {
    (32, 64, 2, 16): [(64, 32), (64, 64), (16, 64)],
    (40, 64, 3, 16): [(64, 40), (64, 64), (16, 64)],  # the second one in a loop
    (8, 32, 1, 1): [(32, 8), (1, 32)],
    (2, 32, 2, 3): [(32, 32), (3, 32)],  # rows of 4 bytes
    (3, 16, 2, 1): [(16, 16)],  # the last matrix begins at 544 * 2 bytes
    (3, 16, 3, 1): [(1, 16)],  # so does the third one
    (8, 24, 1, 3): [(24, 8)],
    (32, 20, 2, 16): [(20, 32)],  # rows of 40 bytes
    (2, 24, 1, 3): [],
}
ENTRY = """
[shader("compute")] [numthreads(32, 1, 1)]
void {name}(uint3 thread : SV_DispatchThreadID, uniform Tensor<half, {rank}> p, uniform Tensor<half, 1> b, uniform {dtype}* data)
{{
    {dtype} x[{width}];
    for (int i = 0; i < {width}; ++i)
        x[i] = data[{width} * thread.x + i];
    let y = {call};
    data[thread.x] = y[0];
}}
"""
PRODUCT = re.compile(r"OpCooperativeVectorMatrixMulAddNV .* %int_(\d+) %int_(\d+) %int_0 %false %uint_(\d+)$", re.M)


def entry(name: str, width: int, call: str, dtype: str = "half", rank: int = 1) -> str:
    text = ENTRY.format(name=name, width=width, call=call, dtype=dtype, rank=rank)
    return text.replace("Tensor<half", f"Tensor<{dtype}")


def products(entries: list[str], defines: dict[str, str]) -> list[list[tuple[int, int]]]:
    """The rows and columns of each matrix that the instruction multiplies with, in the SPIR-V of each entry point."""
    names = [re.findall(r"void (\w+)\(", text)[0] for text in entries]
    made = compiled("import fusepy; import fusepy_nn;" + "".join(entries), names, [FOLDER], SPIRV, defines)
    found = [[(int(m), int(k), int(stride)) for m, k, stride in PRODUCT.findall(text)] for text in made]
    assert all(text.count("MatrixMul") == len(known) for text, known in zip(made, found))
    assert all(stride == 2 * k for known in found for _, k, stride in known)
    return [[(m, k) for m, k, _ in known] for known in found]


@pytest.mark.req("S4")
def test_which_layers_are_products() -> None:
    nets = {shape: f"HalfNetwork<{', '.join(map(str, shape))}>.run(p, x)" for shape in PRODUCTS}
    found = products([entry(f"n{i}", shape[0], call) for i, (shape, call) in enumerate(nets.items())], ON)
    assert dict(zip(nets, found)) == PRODUCTS


LINEAR = entry("linear_8", 8, "linear<8, 3>(p, b, x)", rank=2)


@pytest.mark.parametrize(
    ("text", "defines", "count"),
    [
        (LINEAR, ON, 1),
        (LINEAR, {}, 0),
        (LINEAR, {COOPERATIVE: "0"}, 0),
        (entry("linear_3", 3, "linear<3, 8>(p, b, x)", rank=2), ON, 0),
        (entry("floats", 32, "Network<32, 64, 2, 16>.run(p, x)", "float"), ON, 0),
    ],
    ids=["a layer", "no define", "a define of 0", "narrow rows", "floats"],
)
def test_what_else_is_a_product(text: str, defines: dict[str, str], count: int) -> None:
    assert [len(known) for known in products([text], defines)] == [count]


@pytest.mark.parametrize(
    ("kind", "features", "wanted"),
    [
        (spy.DeviceType.vulkan, [spy.Feature.half, spy.Feature.cooperative_vector], ON),
        (spy.DeviceType.vulkan, [spy.Feature.half], {}),
        (spy.DeviceType.cuda, [spy.Feature.half, spy.Feature.cooperative_vector], {}),
    ],
    ids=["vulkan", "vulkan without", "cuda"],
)
def test_devices_that_have_it(kind: Any, features: Any, wanted: dict[str, str]) -> None:
    device: Any = SimpleNamespace(info=SimpleNamespace(type=kind), features=features)
    assert macros_of(device) == wanted


def test_sessions_and_keys_have_the_macro(device: fp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's define comes before it."""
    for module in (session, devices):
        monkeypatch.setattr(module, "macros_of", lambda device: {"SEEN": "3"})
    opened = fp.Device(device.raw.info.type)
    assert opened.identity == " ".join([*device.identity.removesuffix(f" {COOPERATIVE}").split(" "), "SEEN"])
    for defines, wanted in (({}, 3), ({"SEEN": 4}, 4)):
        m = fp.Module.load_from_source(opened, f"seen_{wanted}", "float f(float x) { return SEEN; }", defines=defines)
        assert m.f(1.0) == wanted
    opened.close()
