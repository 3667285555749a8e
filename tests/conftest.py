"""What all tests share: a disk cache of their own, and repeatable random programs."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib import import_module
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.coverage_page import COLLECTED, claims_of
from tests.support import child

# Set at import, before any test module can open a device. The workers of a run share the folder of the process that starts them.
if "FUSEPY_TEST_CACHE" not in os.environ:
    os.environ["FUSEPY_TEST_CACHE"] = tempfile.mkdtemp(prefix="fusepy-test-cache-")
    atexit.register(shutil.rmtree, os.environ["FUSEPY_TEST_CACHE"], ignore_errors=True)
os.environ["FUSEPY_CACHE_DIR"] = os.environ["FUSEPY_TEST_CACHE"]
os.environ.setdefault("FUSEPY_VERIFY", "each")  # what every pass has made is verified, in every test
# LLVM, which compiles lavapipe's kernels, does not optimise them: half of its time, for the same results. `make test-long` does.
os.environ.setdefault("GALLIVM_PERF", "nopt")

# Each test that says how many examples it takes does so by `tests.support.examples`, which knows the profiles by name.
settings.register_profile(
    "repeatable", derandomize=True, max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("FUSEPY_HYPOTHESIS", "repeatable"))


def pytest_sessionstart() -> None:
    """Two workers of a fresh clone share the compilation of tests, which takes pytest 15 s: the second begins at the end."""
    if os.environ.get("PYTEST_XDIST_WORKER") != "gw1" or sys.dont_write_bytecode:
        return
    for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
        if any(Path(cache_from_source(path)).parent.glob(f"{path.stem}.*-pytest-*.pyc")):
            break  # written by an earlier run, or a moment ago by the first worker
        import_module(".".join(path.relative_to(Path(__file__).parents[1]).with_suffix("").parts))


def listed_as_rest() -> dict[Path, set[str]]:
    """The tests of `rest.txt` by file: names of functions, or of single cases."""
    found: dict[Path, set[str]] = {}
    names: set[str] = set()
    for line in (Path(__file__).parent / "rest.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            names.add(line.strip())
        elif line and not line.startswith("#"):
            names = found.setdefault(Path(__file__).parent / line, set())
    return found


@pytest.hookimpl(tryfirst=True)  # before anything is deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps what all tests say of requirements, for `tests.rules.test_coverage_page`, and gives marks that no test spells."""
    no_torch, rest = find_spec("torch") is None, listed_as_rest()
    for item in items:
        if not rest.get(item.path, set()).isdisjoint((item.name, getattr(item, "originalname", item.name))):
            item.add_marker(pytest.mark.rest)
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.random)
        elif isinstance(item, pytest.DoctestItem):
            text = item.dtest.docstring or ""
            if no_torch and "import torch" in text:
                item.add_marker(pytest.mark.skip("torch is not installed"))
            if "spy.Device(" in text or "create_device(" in text:  # a device of its own
                item.add_marker(pytest.mark.rest)
    config.stash[COLLECTED] = [claim for item in items for claim in claims_of(item)], {item.path for item in items}


def pytest_collection_finish() -> None:
    """Takes modules, tests and what they have imported out of every later collection, which would look at them each time.

    Later collections are also rarer: programs and kernels live on, so most of a collection is a walk over what is not garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_sessionfinish() -> None:
    """Gives them back: sgl's objects must be collected before the process ends, or it ends by a segmentation fault."""
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def devices_of_a_file_go_with_it() -> Iterator[None]:
    """Collects devices that a file leaves in cycles: a later collection would destroy them inside of a call into Slang.

    Each device that has recorded something has a thread.
    """
    before = threading.active_count()
    yield
    if threading.active_count() > before:
        gc.collect()


@pytest.fixture(scope="session", autouse=True)
def trials_are_forked() -> Iterator[None]:
    """Kernels that may crash Slang are tried in a fork that has imported fusepy, which takes a tenth of the time."""
    from fusepy.backend.slang import trial

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "subprocess", SimpleNamespace(run=child.start, TimeoutExpired=subprocess.TimeoutExpired))
        yield


@pytest.fixture(scope="session")
def device() -> Any:
    """The device under test: the default one, which ``FUSEPY_DEVICE`` chooses (cuda, vulkan, …)."""
    import fusepy as fp

    return fp.default_device()


@pytest.fixture(scope="session")
def lib(device: Any) -> Any:
    """The Slang functions of `tests.support.slang_functions`, whose meanings in NumPy are beside them."""
    import fusepy as fp
    from tests.support.slang_functions import SOURCE

    return fp.Module.load_from_source(device, "lib", SOURCE)
