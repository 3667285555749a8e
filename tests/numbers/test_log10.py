"""The logarithm of doubles to the base 10, which Slang's C++ and CUDA round to float."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fusepy as fp


@pytest.fixture
def cpu() -> Iterator[fp.Device]:
    device = fp.init_device(type="cpu")
    yield device
    device.close()


X = np.array([0.1, 3.0], np.float32)


def test_log10_of_double_is_refused_where_slang_rounds_it_to_float(cpu: fp.Device):
    m = fp.Module.load_from_source(cpu, "rounds", "float a(float x) { return float(log10(double(x))); }")
    for _ in range(2):
        with pytest.raises(fp.CompileError, match=r"calls log10 of double, which Slang's C\+\+ and CUDA do not have"):
            m.a(X)


@pytest.mark.rest
def test_other_functions_of_double_and_those_of_the_module_are_right_there(cpu: fp.Device):
    m = fp.Module.load_from_source(cpu, "sines", "float b(float x) { return float(sin(double(x))); }")
    np.testing.assert_allclose(m.b(X), np.sin(X), rtol=1e-6)
    # a float has no room for what is added to 1e7 here
    source = "import fusepy_double; float a(float x) { return float((log10(1e7L + double(x)) - 7) * 1e9L); }"
    right = fp.Module.load_from_source(cpu, "right", source)
    np.testing.assert_allclose(right.a(X), np.log10(1e7 + X.astype(np.float64)) * 1e9 - 7e9, rtol=1e-5)
