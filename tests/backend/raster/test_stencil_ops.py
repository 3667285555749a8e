"""Operations of stencils in the graphics layer's description of a face."""

from __future__ import annotations

import ctypes
from unittest import mock

import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.raster import stencil_ops
from fusepy.backend.raster.stencil_ops import OPS, face_with


def test_the_numbers_lie_in_the_description_and_go_along_with_a_copy() -> None:
    face = face_with(spy.ComparisonFunc.greater, "invert", "increment_wrap", "replace")
    assert face.stencil_func is spy.ComparisonFunc.greater
    held = (ctypes.c_uint8 * 3).from_address(stencil_ops._address(face))
    assert list(held) == [OPS["invert"], OPS["increment_wrap"], OPS["replace"]]
    plain = face_with(spy.ComparisonFunc.less, "keep", "keep", "keep")
    assert plain.stencil_pass_op is spy.StencilOp.keep


def test_a_description_of_another_form_is_refused_and_never_written() -> None:
    if not stencil_ops.is_flat():
        pytest.skip("this slangpy tells operations apart")
    with (
        mock.patch.object(stencil_ops, "_holds_bytes", return_value=False),
        pytest.raises(fp.DeviceError, match="sets no operations of stencils") as caught,
    ):
        stencil_ops.check_ops(("keep", "zero", "keep"))
    assert "another version of slangpy" in str(caught.value)
