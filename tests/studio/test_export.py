"""The exported program is plain Python that computes the bits of the studio."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fusepy as fp
from fusepy.errors import StudioError
from fusepy.studio.document import Document
from fusepy.studio.engine import StudioEngine
from fusepy.studio.files import read_modules, to_document
from tests.studio.conftest import Bench


@pytest.mark.req("G4")
def test_the_exported_program_computes_the_same_bits(bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch):
    for kind in "exposure tint split mine.py/contrast multiply lerp blur colour luma square_root mean".split():  # noqa: SIM905
        bench.add(kind)
    bench.add("photograph", longest=40)
    bench.add("number", value=0.25)
    bench.add("pixels", width=40, height=30)
    for node, port, value in [("exposure", "stops", 0.3), ("tint", "k", [0.9, 0.7, 1.1]), ("contrast", "slope", 1.25)]:
        bench.set(node, port, value)
    bench.join("photograph.picture -> exposure.c", "exposure.result -> tint.c", "tint.result -> split.c")
    bench.join("tint.result -> contrast.image", "contrast.result -> multiply.a", "number.value -> multiply.b")
    bench.join("colour.value -> lerp.a", "multiply.result -> lerp.b", "number.value -> lerp.t")
    bench.join("pixels.pixel -> blur.p", "lerp.result -> blur.image", "blur.result -> luma.c", "luma.result -> square_root.a")
    bench.join("luma.result -> mean.a")
    assert bench.engine.evaluate(bench.document)["errors"] == {}
    ends = bench.document.ends(bench.kinds)
    text = bench.engine.export(bench.document)
    (folder / "graph.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    found = runpy.run_path(str(folder / "graph.py"), run_name="graph")["compute"]()
    assert len(found) == len(ends) == 4
    software = fp.default_device().target.kind == "software"
    for (node, port), result in zip(ends, found):
        wanted = bench.engine.evaluator.results[node].tensors[port].to_numpy()
        if software:
            assert np.asarray(result).tobytes() == wanted.tobytes(), f"{node}.{port}"
        else:  # other kernels, in which the driver joins other products and sums
            np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-4, atol=1e-6, err_msg=f"{node}.{port}")
    one = bench.engine.export(bench.document, ("exposure", "result"))
    assert "tint" not in one
    (folder / "one.py").write_text(one, encoding="utf-8")
    runpy.run_path(str(folder / "one.py"), run_name="__main__")
    assert np.asarray(Image.open(folder / "exposure_result.png")).shape == (30, 40, 3)


@pytest.mark.rest
@pytest.mark.req("G4")
def test_the_example_is_what_the_studio_exports():
    folder = Path(__file__).resolve().parents[2] / "examples" / "studio"
    engine = StudioEngine(str(folder), ("poster.slang",))
    data, modules = read_modules((folder / "poster.json").read_text(encoding="utf-8"))
    document = to_document(data, engine.kinds())
    assert modules == engine.modules()
    assert engine.export(document) == (folder / "poster.py").read_text(encoding="utf-8")
    made = runpy.run_path(str(folder / "poster.py"), run_name="poster")["compute"]().to_numpy()
    shown = Image.fromarray((np.clip(made, 0, 1) * 255 + 0.5).astype(np.uint8)).crop((200, 90, 800, 470))
    wanted = Image.open(folder.parents[1] / "docs" / "images" / "poster.jpg")
    apart = np.abs(np.asarray(shown.reduce(10), np.float32) - np.asarray(wanted.reduce(10), np.float32))
    assert apart.mean() < 3  # the picture of the guide: JPEG keeps the means of dots


def test_names_do_not_collide(bench: Bench, folder: Path):
    """Nodes may be called like inputs of the graph, words of Python and names of the program."""
    functions = ("graph", "save", "lambda", "reload", "names")
    (folder / "names.slang").write_text("".join(f"float {f}(float x) {{ return x + 1; }} " for f in functions), encoding="utf-8")
    bench.engine.add_source("names.slang")
    bench.kinds = bench.engine.kinds()
    for name in functions:
        bench.add(f"names.slang/{name}")
    bench.join(*(f"{a}.result -> {b}.x" for a, b in itertools.pairwise(functions)))
    (folder / "graph.py").write_text(bench.engine.export(bench.document), encoding="utf-8")
    assert float(runpy.run_path(str(folder / "graph.py"), run_name="names")["compute"]()) == 5.5


def test_a_document_that_cannot_be_exported_is_a_named_error(bench: Bench):
    with pytest.raises(StudioError, match="computes nothing"):
        bench.engine.export(Document())
    bench.add("twice")
    with pytest.raises(StudioError, match="is missing"):
        bench.engine.export(bench.document)
    with pytest.raises(StudioError, match="no output"):
        bench.engine.export(bench.document, ("twice", "nothing"))
    assert fp.default_device() is bench.engine.node_library.device
