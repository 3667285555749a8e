"""Words of other frameworks: what an error says to write is there, and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.language.elsewhere import NAMES, OF_TENSORS

X = np.float32([[0.5, 2.0], [1.0, 4.0]])


def told(call: Any) -> str:
    with pytest.raises(AttributeError) as raised:
        call()
    hint = raised.value.hint  # type: ignore[attr-defined]
    assert hint.startswith("write ")
    return hint.removeprefix("write ")


def run(text: str, **names: Any) -> Any:
    expression = next(text[:end] for end in (*_commas(text), len(text)) if _balanced(text[:end]))
    return eval(expression, {"fp": fp, "f": lambda x: fp.sum(x * x), "m": None, "np": np, **names})


def _commas(text: str) -> list[int]:
    return [i for i in range(len(text)) if text.startswith(", ", i)]


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = told(lambda: getattr(fp, name))
    if "safetensors" in text:
        pytest.importorskip("safetensors")
    run(text, x=X, y=X + 1)


@pytest.mark.parametrize("name", OF_TENSORS)
def test_attributes_of_tensors(name: str) -> None:
    t = fp.Tensor([0.5, 2.0]).with_grads()
    assert not hasattr(t, name)
    made = run(told(lambda: getattr(t, name)), t=t.detach())
    if hasattr(np, name):
        args = (t.to_numpy(),)
        np.testing.assert_allclose(np.asarray(made), getattr(np, name)(*args) if name != "pow" else args[0] ** 2, rtol=1e-5)


def test_other_names_are_as_they_were() -> None:
    for value in (fp, fp.Tensor([1.0])):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            value.nonsense  # noqa: B018
    assert fp.float3 is not None


@pytest.mark.parametrize("word", ["dim", "dims", "axes", "keepdim"])
def test_keywords_of_torch(word: str) -> None:
    for function in (fp.sum, fp.max, fp.argmin):
        with pytest.raises(
            fp.ArgumentError, match=f"takes no {word}=[^~]*write {'keepdims=1' if word == 'keepdim' else 'axis=1'}"
        ):
            function(X, **{word: 1})
