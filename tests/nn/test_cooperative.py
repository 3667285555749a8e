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
from tests.support.selection import daily
from tests.support.slangc import FRAGMENT, SPIRV, compiled

ON = {COOPERATIVE: "1"}
NETWORKS: dict[str, list[tuple[int, int]]] = {  # In, Hidden, Layers, Out, and the rows and columns of each product
    "32, 64, 2, 16": [(64, 32), (64, 64), (16, 64)],
    "40, 64, 3, 16": [(64, 40), (64, 64), (16, 64)],  # the second one in a loop
    "8, 32, 1, 1": [(32, 8), (1, 32)],
    "2, 32, 2, 3": [(32, 32), (3, 32)],  # the first matrix has rows of 4 bytes
    "3, 16, 2, 1": [(16, 16)],  # the last one begins at 336 * 2 bytes
    "3, 16, 3, 1": [(1, 16)],  # so does the third of four
    "8, 24, 1, 3": [(24, 8)],
    "32, 20, 2, 16": [(20, 32)],  # rows of 40 bytes
    "2, 24, 1, 3": [],
    "8, 136, 1, 1": [],  # Vulkan promises vectors of 128 numbers
}
CALLS: dict[str, tuple[str, str, list[tuple[int, int]]]] = {  # types of parameters and inputs, the call, its products
    **{n: ("half, 1", f"HalfNetwork<{n}>.run(p, x)", made) for n, made in NETWORKS.items()},
    "8, 3": ("half, 2", "linear<8, 3>(p, b, x)", [(3, 8)]),
    "3, 8": ("half, 2", "linear<3, 8>(p, b, x)", []),
    "32, 32, 1, 8": ("float, 1", "Network<32, 32, 1, 8>.run(p, x)", []),
}
DAILY = ["2, 32, 2, 3", "3, 16, 3, 1", "8, 24, 1, 3", "8, 3", "3, 8"]
ENTRY = """
[shader("compute")] [numthreads(32, 1, 1)]
void {name}(uint3 thread : SV_DispatchThreadID, uniform Tensor<{types}> p, uniform Tensor<{dtype}, 1> b, uniform {dtype}* data)
{{
    {dtype} x[{width}];
    for (int i = 0; i < {width}; ++i)
        x[i] = data[{width} * thread.x + i];
    data[thread.x] = ({call})[0];
}}
"""
FRAGMENT_ENTRY = """
import fusepy; import fusepy_nn;
[shader("fragment")]
float4 main(nointerpolation float given : GIVEN, uniform Tensor<half, 1> p, uniform Tensor<half, 2> w) : SV_Target
{
    half x[8];
    for (int i = 0; i < 8; ++i)
        x[i] = half(given * i);
    return float4(HalfNetwork<8, 32, 1, 1>.run(p, x)[0], linear<8, 3>(w, p, x)[0], 0, 1);
}
"""
PRODUCT = re.compile(r"MatrixMulAddNV .* %int_(\d+) %int_(\d+) %int_0 %false %uint_(\d+)$", re.M)  # in rows, not transposed


def products(calls: list[str], defines: dict[str, str]) -> dict[str, list[tuple[int, int]]]:
    """Returns the rows and columns of each product, for each call."""
    text, entries = "import fusepy; import fusepy_nn;", [f"call{i}" for i in range(len(calls))]
    for name, key in zip(entries, calls):
        types, call, _ = CALLS[key]
        text += ENTRY.format(name=name, types=types, dtype=types.split(",")[0], width=key.split(",")[0], call=call)
    made = compiled(text, entries, [FOLDER], SPIRV, defines)
    found = [[(int(m), int(k), int(stride)) for m, k, stride in PRODUCT.findall(code)] for code in made]
    assert [len(known) for known in found] == [code.count("OpCooperativeVectorMatrixMul") for code in made]
    assert all(stride == 2 * k for known in found for _, k, stride in known)
    return {key: [(m, k) for m, k, _ in known] for key, known in zip(calls, found)}


@pytest.mark.req("S4")
@pytest.mark.parametrize("calls", [DAILY, pytest.param([c for c in CALLS if c not in DAILY], marks=pytest.mark.rest)], ids=len)
def test_layers_whose_addresses_the_instruction_takes_are_products(calls: list[str]) -> None:
    """Those whose matrix begins at a multiple of 64 bytes, behind parameters that do, and has rows of a multiple of 16."""
    assert products(calls, ON) == {call: CALLS[call][2] for call in calls}


@pytest.mark.parametrize("defines", daily([{}, {COOPERATIVE: "0"}], {COOPERATIVE: "0"}), ids=["no define", "a define of 0"])
def test_without_the_define_there_are_none(defines: dict[str, str]) -> None:
    assert products(["8, 3", "8, 24, 1, 3"], defines) == {"8, 3": [], "8, 24, 1, 3": []}


def test_other_stages_than_compute_have_none() -> None:
    """Vulkan promises the instruction in compute kernels only."""
    [code] = compiled(FRAGMENT_ENTRY, ["main"], [FOLDER], SPIRV, ON, FRAGMENT)
    assert "OpEntryPoint Fragment" in code
    assert "CooperativeVector" not in code


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
    assert opened.identity == f"{device.identity.removesuffix(f' {COOPERATIVE}')} SEEN"
    for defines, wanted in (({}, 3), ({"SEEN": 4}, 4)):
        m = fp.Module.load_from_source(opened, f"seen_{wanted}", "float f(float x) { return SEEN; }", defines=defines)
        assert m.f(1.0) == wanted
    opened.close()
