"""Compilations in another process: how they end, and that the process loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
import slangpy as spy

from fusepy.backend.slang import trial
from fusepy.backend.slang.derivatives.second_order import refused_twice
from fusepy.backend.slang.session import digest_name
from fusepy.errors import CompileError
from tests.support.selection import daily

KERNEL = '[shader("compute")] [numthreads(1, 1, 1)] void entry(uniform Ptr<float> to) { *to = %s; }\n'


@pytest.mark.parametrize(("value", "ends", "says"), daily([("2.0f", 0, ""), ("nothing", 1, "undefined identifier")], "nothing"))
def test_a_kernel_is_tried(value: str, ends: int, says: str) -> None:
    text = KERNEL % value
    ended, words = trial.tried(spy.DeviceType.vulkan, (digest_name("tried", text), text, (), [], "entry"))
    assert ended == ends, words
    assert says in words


def test_a_process_that_opens_no_device_says_nothing_about_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a crash of Slang's compiler, and the function for one that cannot be differentiated twice."""
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere.json")
    with pytest.raises(CompileError, match="a second derivative cannot be tried") as failure:
        refused_twice(spy.DeviceType.vulkan, [], KERNEL % "2.0f")
    assert "opened no device" in str(failure.value)


def test_the_process_imports_neither_torch_nor_all_of_fusepy() -> None:
    """Both together take several times as long as a compilation."""
    print_loaded = "print(*(name for name in ('torch', 'fusepy.trace', 'fusepy.errors') if sys.modules.get(name)))"
    start = trial.START.replace("\ntrial()\n", f"\n{print_loaded}\n")
    done = subprocess.run([sys.executable, "-c", start, str(trial.PACKAGE)], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["fusepy.errors"]
