"""What the studio computes: the palette, connections by the compiler's words, pictures of every edge, values of a pixel."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fusepy as fp
from fusepy.errors import CompileError, FusepyError, StudioError
from fusepy.studio.document import Document
from fusepy.studio.engine import StudioEngine
from fusepy.studio.files import read_modules, to_document, to_text
from tests.studio.conftest import Bench, socket
from tests.support.rays import need_rays


def test_the_palette_says_what_slang_says(engine: StudioEngine):
    kinds = engine.kinds()
    groups = [group["name"] for group in engine.groups()]
    assert groups == ["Sources", "Arithmetic", "look.slang", "mine.py"]
    exposure = kinds["look.slang/exposure"]
    assert exposure.doc == "Makes a picture brighter."
    assert [(p.name, p.type, p.default, p.range, p.doc) for p in exposure.inputs] == [
        ("c", "float3", (0.5, 0.5, 0.5), (0.0, 1.0), ""),
        ("stops", "float", 0.5, (-4.0, 4.0), "in powers of two"),
    ]
    found = {kind: {p.name: (p.type, p.default, p.range) for p in kinds[kind].inputs} for kind in kinds}
    assert found["look.slang/tint"]["k"] == ("float3", (1.0, 0.9, 0.8), (0.0, 1.0))
    assert found["look.slang/rings"]["n"] == ("float", 40.0, (1.0, 100.0))
    assert found["look.slang/blur"]["image"] == ("Tensor<float3,2>", None, None)
    assert found["look.slang/twice"]["x"] == ("any", None, None)
    assert found["mine.py/contrast"] == {"image": ("any", None, None), "slope": ("float", 1.5, (0.0, 3.0))}
    assert kinds["look.slang/flip"].json["inputs"][1] == {"name": "on", "type": "bool", "default": False}
    assert [p.name for p in kinds["look.slang/split"].outputs] == ["low", "high"]


@pytest.mark.req("G4")
def test_every_edge_has_a_picture(bench: Bench):
    for kind in (
        "photograph",
        "exposure",
        "tint",
        "luma",
        "root",
        "split",
        "pixels",
        "rings",
        "blur",
        "mine.py/contrast",
        "twice",
    ):
        bench.add(kind)
    bench.join("photograph.picture -> exposure.c", "exposure.result -> tint.c", "tint.result -> luma.c", "luma.result -> root.x")
    bench.join("tint.result -> split.c", "pixels.uv -> rings.uv", "pixels.pixel -> blur.p", "rings.result -> blur.image")
    bench.join("blur.result -> contrast.image", "luma.result -> twice.x")
    found = bench.engine.evaluate(bench.document)
    assert found["errors"] == {}
    texts = {name: edge["text"] for name, edge in found["edges"].items()}
    assert texts["exposure.result"] == "float3 64 × 48"
    assert texts["blur.result"] == texts["contrast.result"] == "float3 512 × 512"
    assert texts["split.low"] == texts["twice.result"] == "float 64 × 48"
    assert all(edge["png"] for edge in found["edges"].values())
    picture = np.asarray(Image.open(bench.engine.folder / "noise.png"), np.float32) / np.float32(255)
    light = picture * np.exp2(np.float32(0.5))
    shown = np.asarray(Image.open(io.BytesIO(bench.engine.picture("exposure", "result"))))
    assert np.abs(shown - np.clip(light, 0, 1) * 255).max() <= 1
    luma = (light * np.float32([1, 0.9, 0.8])) @ np.float32([0.2126, 0.7152, 0.0722])
    assert abs(found["edges"]["root.result"]["bad"] - np.count_nonzero(luma < 0.5)) <= 2
    bad = np.asarray(Image.open(io.BytesIO(bench.engine.picture("root", "result"))))
    assert ((bad == [255, 0, 255]).all(axis=2) == (luma < 0.5)).mean() > 0.99
    data, _ = read_modules(to_text(bench.document, bench.engine.modules()))
    assert to_document(data, bench.kinds) == bench.document


@pytest.mark.rest
def test_a_connection_is_refused_with_the_compilers_words(bench: Bench):
    for kind in ("photograph", "exposure", "luma", "twice", "add", "blur", "pixels"):
        bench.add(kind)
    for edge, words in {
        "photograph.picture -> exposure.stops": "can bind as float3",
        "photograph.picture -> twice.x": "does not conform to the required interface '__BuiltinFloatingPointType'",
        "photograph.picture -> blur.p": "blur: argument 'p' does not fit",
    }.items():
        start, end = map(socket, edge.split(" -> "))
        with pytest.raises(FusepyError) as error:
            bench.engine.check(bench.document.connect(bench.kinds, start, end), end)
        assert words in str(error.value)
    bench.join("photograph.picture -> add.a")  # one operand of two: nothing to ask yet
    fitting = bench.engine.fitting(bench.document, ("photograph", "picture"), None)
    assert {("exposure", "c"), ("luma", "c"), ("add", "b"), ("blur", "image")} <= set(fitting)
    assert not {("exposure", "stops"), ("twice", "x"), ("blur", "p"), ("pixels", "width")} & set(fitting)
    assert ("pixels", "pixel") in bench.engine.fitting(bench.document, None, ("blur", "p"))


def test_an_error_stands_at_its_node_and_the_others_are_computed(bench: Bench):
    photograph = bench.add("photograph", file="none.png")
    for kind in ("exposure", "luma", "pixels", "rings", "twice"):
        bench.add(kind)
    joined = bench.document.connect(bench.kinds, (photograph, "picture"), ("exposure", "c"))
    bench.document = joined.connect(bench.kinds, ("exposure", "result"), ("luma", "c"))
    bench.join("pixels.uv -> rings.uv")
    found = bench.engine.evaluate(bench.document)
    errors = {name: error["error"] for name, error in found["errors"].items()}
    assert errors == {
        "photograph": "there is no picture none.png",
        "exposure": "not computed, since photograph has an error",
        "luma": "not computed, since exposure has an error",
        "twice": "the input 'x' of twice is missing\n  expected: any",
    }
    assert found["edges"]["rings.result"]["size"] == [512, 512]
    bench.set("photograph", "file", "noise.png")
    bench.document = bench.document.remove(["twice"])
    assert bench.engine.evaluate(bench.document)["errors"] == {}
    with pytest.raises(StudioError, match="is no picture"):
        bench.engine.picture("nobody", "result")


def test_an_edit_computes_what_depends_on_it_and_a_number_compiles_nothing(bench: Bench):
    for kind in ("pixels", "rings", "exposure", "luma"):
        bench.add(kind)
    bench.join("pixels.uv -> rings.uv", "rings.result -> exposure.c", "exposure.result -> luma.c")
    bench.engine.evaluate(bench.document)
    before = dict(bench.engine.evaluator.results)
    compiled = fp.stats().kernels_compiled
    bench.set("exposure", "stops", 1.5)
    bench.engine.evaluate(bench.document)
    after = bench.engine.evaluator.results
    assert [name for name in after if after[name] is not before[name]] == ["exposure", "luma"]
    assert fp.stats().kernels_compiled == compiled


@pytest.mark.rest
@pytest.mark.req("G4")
def test_kernels_name_the_nodes_that_they_fuse(bench: Bench):
    for kind in ("pixels", "rings", "exposure", "blur", "tint"):
        bench.add(kind)
    bench.join("pixels.uv -> rings.uv", "rings.result -> exposure.c", "pixels.pixel -> blur.p")
    bench.join("exposure.result -> blur.image", "blur.result -> tint.c")
    kernels = bench.engine.kernels(bench.document)
    assert [set(k["nodes"]) for k in kernels] == [{"pixels", "rings", "exposure"}, {"blur", "tint"}]
    assert [k["bytes"] for k in kernels] == [512 * 512 * 12, 2 * 512 * 512 * 12]
    assert all(k["us"] > 0 for k in kernels)
    assert bench.engine.kernels(Document()) == []
    bench.document = Document()
    for kind in ("photograph", "luma", "luma", "twice", "twice", "add"):  # the compiler makes one node of equal ones
        bench.add(kind)
    bench.join("photograph.picture -> luma.c", "photograph.picture -> luma_2.c", "luma.result -> twice.x")
    bench.join("luma_2.result -> twice_2.x", "twice.result -> add.a", "twice_2.result -> add.b")
    (kernel,) = bench.engine.kernels(bench.document)
    assert set(kernel["nodes"]) == {"luma", "luma_2", "twice", "twice_2", "add"}


@pytest.mark.rest
@pytest.mark.req("G4")
def test_a_pixel_has_every_value_with_its_lines(bench: Bench):
    for kind in ("photograph", "luma", "root"):
        bench.add(kind)
    bench.join("photograph.picture -> luma.c", "luma.result -> root.x")
    picture = np.asarray(Image.open(bench.engine.folder / "noise.png"), np.float32) / np.float32(255)
    y, x = map(int, np.argwhere(picture @ np.float32([0.2126, 0.7152, 0.0722]) < 0.45)[0])
    values = bench.engine.pixel(bench.document, ("root", "result"), (y, x))
    assert [v["name"] for v in values] == ["photograph_picture", "luma", "root"]
    assert [v["bad"] for v in values] == [False, False, True]
    assert values[2]["mark"] == "NaN"
    assert values[2]["slang"].endswith("float root(float x) { return sqrt(x - 0.5); }")
    line, _, text = values[1]["python"].partition(": ")
    assert bench.engine.export(bench.document, ("root", "result")).splitlines()[int(line) - 1].strip() == text
    bench.document = bench.document.add(bench.kinds, "mine.py/contrast", (0, 0))
    bench.document = bench.document.add(bench.kinds, "look.slang/rings", (0, 0))
    bench.join("photograph.uv -> rings.uv", "rings.result -> contrast.image")
    rows = bench.engine.pixel(bench.document, ("contrast", "result"), (0, 0))
    assert [row["name"] for row in rows][:4] == ["rings_n", "contrast_slope", "photograph", "rings"]
    assert rows[-1]["python"] == "mine.py:7"
    with pytest.raises(FusepyError, match="no element"):
        bench.engine.pixel(bench.document, ("root", "result"), (48, 0))
    with pytest.raises(StudioError, match="no node 'root'"):
        bench.engine.pixel(Document(), ("root", "result"), (0, 0))
    source = (bench.engine.folder / "look.slang").read_text(encoding="utf-8")
    (bench.engine.folder / "look.slang").write_text(source.replace("rings", "circles"), encoding="utf-8")
    assert bench.engine.changed()
    rows = bench.engine.pixel(bench.document, ("root", "result"), (y, x))  # another node has a function that is gone
    assert [row["name"] for row in rows] == ["photograph_picture", "luma", "root"]
    with pytest.raises(StudioError, match=r"no kind of nodes 'look\.slang/rings'"):
        bench.engine.pixel(bench.document, ("contrast", "result"), (0, 0))


def test_files_that_cannot_be_used_are_named_errors(engine: StudioEngine, folder: Path):
    (folder / "bad.slang").write_text("float f(float x) { return y; }", encoding="utf-8")
    with pytest.raises(CompileError, match=r"bad\.slang"):
        engine.add_source("bad.slang")
    for name in ("../look.slang", "mine.py", "/etc/passwd"):
        with pytest.raises(StudioError):
            engine.add_source(name)
    for text, words in {"import nothing_like_this": "cannot be run", "x = 1": "has no fused functions"}.items():
        (folder / "other.py").write_text(text, encoding="utf-8")
        with pytest.raises(StudioError, match=words):
            StudioEngine(str(folder), (), (str(folder / "other.py"),))
    (folder / "later.png").write_bytes((folder / "noise.png").read_bytes())
    engine.add_source("later.png")
    assert engine.kinds()["photograph"].inputs[0].choices == ("later.png", "noise.png")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    bench = Bench(engine)
    bench.add("photograph", file="broken.png")
    assert "cannot be read as a picture" in engine.evaluate(bench.document)["errors"]["photograph"]["error"]


STAGES = """
import fusepy;
uniform RaytracingAccelerationStructure scene;
struct Light { float3 value; };
float3 render(int2 pixel, float2 size, float far = 10)
{
    RayDesc ray = { float3((pixel + 0.5) / size * 2 - 1, -1), 0, float3(0, 0, 1), far };
    Light light = { float3(0) };
    TraceRay(scene, 0, 255, 0, 1, 0, ray, light);
    return light.value;
}
void met(inout Light light, BuiltInTriangleIntersectionAttributes at) { light.value = float3(at.barycentrics, 1); }
void sky(inout Light light) { light.value = float3(0.5, 0.25, 0); }
struct Corner { float4 at : SV_Position; };
[shader("vertex")] Corner vs(float2 position : POSITION) { return { float4(position, 0, 1) }; }
[shader("fragment")] float4 fs(Corner c, uniform float grey) : SV_Target { return float4(grey, grey, grey, 1); }
"""
PYTHON = """
from pathlib import Path
import numpy as np
import fusepy as fp

m = fp.Module.load_from_file(fp.default_device(), Path(__file__).parent / "stages.slang")
corners = np.float32([[-0.8, -0.8], [0.8, -0.8], [0, 0.8]])
scene = fp.Scene([fp.Mesh(np.pad(corners, ((0, 0), (0, 1))), [[0, 1, 2]])])
render = fp.ray_gen(m, "render", miss="sky", closesthit="met").set(scene=scene)
draw = fp.raster(m, vertex="vs", fragment="fs").options(cull="none")

@fp.fuse
def drawn(grey: float = 0.75):
    return draw({"position": corners}, [[0, 1, 2]], targets=(48, 64), grey=grey) * 0.5
"""


@pytest.mark.req("G4")
def test_stages_are_nodes(folder: Path):
    """A ray-tracing pipeline by itself, a draw in a fused function."""
    need_rays(fp.default_device())
    (folder / "stages.slang").write_text(STAGES, encoding="utf-8")
    (folder / "stages.py").write_text(PYTHON, encoding="utf-8")
    bench = Bench(StudioEngine(str(folder), (), (str(folder / "stages.py"),)))
    assert "stages.py/draw" not in bench.kinds  # nothing in a graph makes its vertices
    for kind in ("pixels", "stages.py/render", "stages.py/drawn"):
        bench.add(kind)
    bench.set("render", "size", [512, 512])
    bench.join("pixels.pixel -> render.pixel")
    found = bench.engine.evaluate(bench.document)
    assert found["errors"] == {}
    assert {name: edge["text"] for name, edge in found["edges"].items() if "result" in name} == {
        "render.result": "float3 512 × 512",
        "drawn.result": "float4 64 × 48",
    }
    results = bench.engine.evaluator.results
    tensors = {name: results[name].tensors["result"].to_numpy() for name in ("render", "drawn")}
    assert tensors["render"][0, 0].tolist() == [0.5, 0.25, 0]
    assert tensors["render"][256, 256, 2] == 1
    assert tensors["drawn"][24, 32].tolist() == [0.375, 0.375, 0.375, 0.5]
    assert {name for kernel in bench.engine.kernels(bench.document) for name in kernel["nodes"]} >= {"render", "drawn"}
