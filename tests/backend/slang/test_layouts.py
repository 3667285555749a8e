"""Globals of a module that a driver refuses to link."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import fusepy as fp
from fusepy.backend.lost import Lost
from fusepy.backend.slang.layouts import globals_of
from fusepy.backend.slang.reflection import reflected
from fusepy.backend.sources.source import ModuleSource


def refused(*asked: object) -> Any:
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


def test_a_device_that_is_closed_meanwhile_is_no_fault_of_the_module() -> None:
    with pytest.raises(fp.DeviceLostError, match="it was closed"):
        globals_of(ModuleSource.make("m", "float a;"), lambda source: Lost("it was closed").session)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("Texture2D few[4], many[];", fp.UnsupportedArgumentError, "the global 'many' holds an array without a size"),
        ("struct S { Texture2D t[]; }; ParameterBlock<S> s;", fp.UnsupportedArgumentError, "the global 's' holds an array"),
        ("Texture2D few[4];", fp.CompileError, "the driver cannot build the globals of module"),
    ],
)
def test_the_layout_of_a_module_that_the_driver_refuses(text: str, error: type[fp.FusepyError], words: str) -> None:
    compiler = fp.default_device().compiler
    module = compiler.module(ModuleSource.make("refused", f"{text} float f(float a) {{ return a; }}"))
    driver = SimpleNamespace(link_program=refused)
    with pytest.raises(error, match=words):
        reflected(SimpleNamespace(session=driver, layout=module.layout, name=module.name))  # type: ignore[arg-type]
