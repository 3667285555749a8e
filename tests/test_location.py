"""The user's line, found by the stack or said by who replays a recorded call."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.location import at_line, user_line


def here() -> int:
    return sys._getframe(1).f_lineno  # pyright: ignore[reportPrivateUsage]


def test_the_innermost_line_outside_of_the_package() -> None:
    assert user_line() == f"test_location.py:{here()}"


def test_a_said_line_stands_until_it_is_left() -> None:
    with at_line("scene.py:3"):
        assert user_line() == "scene.py:3"
        with at_line("other.py:7"):
            assert user_line() == "other.py:7"
        with at_line(None):
            assert user_line() == "scene.py:3"
        assert user_line() == "scene.py:3"
    assert user_line() == f"test_location.py:{here()}"


def test_a_said_line_is_left_by_an_exception() -> None:
    try:
        with at_line("scene.py:3"):
            raise ValueError
    except ValueError:
        pass
    assert user_line() == f"test_location.py:{here()}"


def test_code_of_the_user_that_is_run_inside_is_nearer() -> None:
    def inside() -> str | None:
        return user_line()

    with at_line("scene.py:3"):
        assert inside() == f"test_location.py:{inside.__code__.co_firstlineno + 1}"


def test_errors_of_functions_that_are_made_from_text(device: object) -> None:
    with pytest.raises(fp.UnsupportedArgumentError, match=rf"^test_location\.py:{here() + 1}: sqrt"):
        fp.sqrt("x")


def test_pythons_own_library_is_not_the_user(device: object) -> None:
    with pytest.raises(fp.TraceError, match=rf"^test_location\.py:{here() + 1}: (int\(\)|the integer)"):
        fp.fuse(lambda n: random.randint(0, n))(np.ones(2, np.int32))


def test_code_that_a_file_makes_of_text_is_no_line_of_the_user() -> None:
    made: dict[str, Any] = {"__file__": __file__}
    exec("def call(function): return function()", made)  # as dataclasses make __init__
    assert made["call"](user_line) == f"test_location.py:{here()}"
    shell: dict[str, Any] = {}
    exec("def call(function): return function()", shell)  # as python -c runs a program
    assert shell["call"](user_line) == "<string>:1"


GLOBAL = np.ones((2, 3), np.float32)


def test_captured_values_have_the_names_of_the_users_variables() -> None:
    """Messages and hints called each of them 'captured'."""
    rows, held = fp.Tensor(np.ones((2, 3), np.float32)), [np.ones((2, 3), np.float32)]
    captures: dict[str, Any] = {"rows": lambda x: x + rows, "GLOBAL": lambda x: x + GLOBAL, "captured": lambda x: x + held[0]}
    for name, f in captures.items():
        with pytest.raises(fp.ShapeError, match=f"arguments 'x' and '{name}' do not broadcast"):
            fp.fuse(f)(np.ones((4, 4), np.float32))
    with pytest.raises(fp.ShapeError) as caught:
        fp.fuse(lambda: rows + fp.Tensor(held[0][0, :2]))()
    assert 'fp.vcast(rows, "float3")' in caught.value.hint
