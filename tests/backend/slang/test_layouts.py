"""Globals of a module that a driver refuses to link."""

from __future__ import annotations

from typing import Any

import pytest

import fusepy as fp
from fusepy.backend.slang.layouts import globals_of
from fusepy.backend.sources.source import ModuleSource


def refused(source: ModuleSource) -> Any:
    raise RuntimeError("Failed to create shader program")  # NVIDIA's Vulkan driver, of an array of textures without a size


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("Texture2D many[];", fp.UnsupportedArgumentError, "the global 'many' holds an array without a size"),
        ("Texture2D one;", fp.CompileError, "the driver cannot build the globals of module m"),
    ],
)
def test_globals_that_the_driver_refuses(text: str, error: type[fp.FusepyError], words: str) -> None:
    with pytest.raises(error, match=words):
        globals_of(ModuleSource.make("m", text), refused)
