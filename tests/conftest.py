"""What all tests share: a disk cache of their own, and repeatable random programs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.coverage_page import COLLECTED, claims_of

# set at import, before any test module can import fusepy: the cache folder is chosen once per process
_CACHE = tempfile.mkdtemp(prefix="fusepy-test-cache-")
os.environ["FUSEPY_CACHE_DIR"] = _CACHE
os.environ.setdefault("FUSEPY_VERIFY", "each")  # what every pass has made is verified, in every test

settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("FUSEPY_HYPOTHESIS", "repeatable"))


@pytest.hookimpl(tryfirst=True)  # before anything is deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps what all tests say of requirements, for `tests.rules.test_coverage_page`."""
    config.stash[COLLECTED] = [claim for item in items for claim in claims_of(item)], {item.path for item in items}


@pytest.fixture(scope="session", autouse=True)
def fusepy_cache() -> Iterator[str]:
    """The folder of this run's disk cache, removed at the end."""
    yield _CACHE
    shutil.rmtree(_CACHE, ignore_errors=True)


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
