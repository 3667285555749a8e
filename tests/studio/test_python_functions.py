"""Functions of a Python file as nodes: one output for each result, and errors of theirs at their nodes."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import numpy as np
import pytest

from fusepy.errors import StudioError
from fusepy.studio.engine import StudioEngine
from tests.studio.conftest import Bench, write_folder

SOURCE = """
import fusepy as fp

@fp.fuse
def stats(image):
    return {"low": fp.min(image), "half": image * 0.5}

@fp.fuse
def two(image, k: float = 0.5):
    def inner(x):
        return x
    return inner(image) * k, image - k

@fp.fuse
def hidden(image):
    made = image, image
    return made

@fp.fuse
def late(image):
    return image * [1, 2][2]

g = fp.Graph(inputs=["x"])
(x,) = g.get_inputs()
g.set_outputs([x * 2, x + 1])
h = fp.Graph(inputs=["x"])
(x,) = h.get_inputs()
h.set_outputs({"triple": x * 3, "more": x + 1})
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    write_folder(tmp_path)
    (tmp_path / "several.py").write_text(SOURCE, encoding="utf-8")
    made = Bench(StudioEngine(str(tmp_path), ("look.slang",), (str(tmp_path / "several.py"),)))
    made.add("photograph", longest=16)
    return made


@pytest.mark.req("G4")
def test_several_results_are_several_outputs_also_of_the_exported_program(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    outputs = {name: [p.name for p in kind.outputs] for name, kind in bench.kinds.items() if name.startswith("several")}
    assert outputs["several.py/stats"] == ["low", "half"]
    assert outputs["several.py/two"] == ["result_0", "result_1"]
    assert outputs["several.py/g"] == ["result_0", "result_1"]
    assert outputs["several.py/h"] == ["triple", "more"]
    for name in ("stats", "two", "g", "h"):
        bench.add(f"several.py/{name}")
        bench.join(f"photograph.picture -> {name}.{'x' if name in 'gh' else 'image'}")
    bench.add("exposure")
    bench.join("stats.half -> exposure.c")
    assert bench.engine.evaluate(bench.document)["errors"] == {}
    nodes = {name for kernel in bench.engine.kernels(bench.document) for name in kernel["nodes"]}
    assert nodes == {"stats", "two", "g", "h", "exposure"}
    tensors = {name: result.tensors for name, result in bench.engine.evaluator.results.items()}
    picture = tensors["photograph"]["picture"].to_numpy()
    np.testing.assert_allclose(tensors["stats"]["half"].to_numpy(), picture * 0.5, rtol=1e-6)
    np.testing.assert_allclose(tensors["two"]["result_1"].to_numpy(), picture - 0.5, rtol=1e-6)
    np.testing.assert_allclose(tensors["h"]["more"].to_numpy(), picture + 1, rtol=1e-6)
    folder = bench.engine.folder
    (folder / "graph.py").write_text(bench.engine.export(bench.document), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    found = runpy.run_path(str(folder / "graph.py"), run_name="graph")["compute"]()
    ends = bench.document.ends(bench.kinds)
    assert len(found) == len(ends) == 7
    for (node, port), result in zip(ends, found):
        np.testing.assert_allclose(np.asarray(result), tensors[node][port].to_numpy(), rtol=1e-6, err_msg=f"{node}.{port}")


def test_results_that_cannot_be_read_from_the_text_and_errors_stand_at_their_nodes(bench: Bench):
    bench.add("several.py/hidden")
    bench.join("photograph.picture -> hidden.image")
    bench.add("several.py/late")
    with pytest.raises(StudioError, match=r"several.py:21: IndexError: list index out of range[\s\S]*image \* \[1, 2\]\[2\]"):
        bench.join("photograph.picture -> late.image")
    bench.document = bench.document.connect(bench.kinds, ("photograph", "picture"), ("late", "image"))
    found = bench.engine.evaluate(bench.document)["errors"]
    assert set(found) == {"hidden", "late"}
    assert "the output 'result' is a tuple" in found["hidden"]["error"]
    assert found["hidden"]["hint"].startswith("return one value, or write the tuple")
    assert found["late"]["error"].startswith("several.py:21: IndexError")
    assert found["late"]["hint"] == "mend the function: the file is run again as soon as it is saved"


@pytest.mark.rest
def test_a_file_that_is_saved_again_keeps_its_place_and_says_what_to_do(bench: Bench):
    engine, folder = bench.engine, bench.engine.folder
    bench.add("exposure")
    groups, text = [group["name"] for group in engine.groups()], (folder / "look.slang").read_text(encoding="utf-8")
    for source, errors in ((text.replace("exp2", "exp3"), 1), (text + "\n", 0)):
        (folder / "look.slang").write_text(source, encoding="utf-8")
        os.utime(folder / "look.slang", ns=(0, errors))
        assert engine.changed() == ["look.slang"]
        found = engine.evaluate(bench.document)["errors"]
        assert [error["hint"] for error in found.values()] == [
            "mend the Slang file: it is compiled again as soon as it is saved"
        ] * errors
    assert [group["name"] for group in engine.groups()] == groups


def test_a_file_that_fails_is_a_named_error(tmp_path: Path):
    (tmp_path / "broken.py").write_text("print(1 / 0)\n", encoding="utf-8")
    with pytest.raises(StudioError, match=r"broken.py cannot be run[\s\S]*ZeroDivisionError"):
        StudioEngine(str(tmp_path), (), (str(tmp_path / "broken.py"),))


@pytest.mark.req("G4")
def test_a_changed_file_runs_again_with_what_it_imports_and_loads(tmp_path: Path):
    """Its functions stay in their places; an error stands at its nodes, which keep the old functions."""
    write_folder(tmp_path)
    texts = {
        "mine.py": """from pathlib import Path
import fusepy as fp
from numbers_of_mine import FACTOR
m = fp.Module.load_from_file(fp.default_device(), Path(__file__).parent / "look.slang")

@fp.fuse
def scaled(image, by: float = 2.0):
    return m.luma(image) * FACTOR * by
""",
        "numbers_of_mine.py": "FACTOR = 3.0",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    bench = Bench(StudioEngine(str(tmp_path), (), (str(tmp_path / "mine.py"),)))
    engine = bench.engine
    bench.add("photograph", longest=16)
    bench.add("mine.py/scaled")
    bench.join("photograph.picture -> scaled.image")

    def result() -> np.ndarray:
        assert engine.evaluate(bench.document)["errors"] == {}
        return engine.evaluator.results["scaled"].tensors["result"].to_numpy()

    def saved(name: str, old: str, new: str) -> list[str]:
        text = (tmp_path / name).read_text(encoding="utf-8").replace(old, new)
        (tmp_path / name).write_text(text, encoding="utf-8")
        os.utime(tmp_path / name, ns=(0, abs(hash(text)) % 10**15))
        return engine.changed()

    first, groups = result(), engine.groups()
    assert engine.changed() == []
    assert saved("numbers_of_mine.py", "3.0", "6.0") == ["mine.py"]
    np.testing.assert_allclose(result(), 2 * first, rtol=1e-6)
    assert engine.groups() == groups
    assert saved("look.slang", "return dot(c", "return 2 * dot(c") == ["mine.py"]
    np.testing.assert_allclose(result(), 4 * first, rtol=1e-6)
    assert saved("mine.py", "* by", "* by +") == ["mine.py"]
    error = engine.evaluate(bench.document)["errors"]["scaled"]
    assert "mine.py cannot be run" in error["error"]
    assert "SyntaxError" in error["error"]
    assert engine.changed() == []
    assert saved("mine.py", "* by +", "* by - image") == ["mine.py"]
    picture = engine.evaluator.results["photograph"].tensors["picture"].to_numpy()
    np.testing.assert_allclose(result(), 4 * first[..., None] - picture, rtol=1e-5)
