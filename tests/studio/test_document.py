"""Documents, their undo steps and their files: every edit returns another document, and refused ones change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fusepy.errors import StudioError
from fusepy.studio.document import MOST_NODES, Document
from fusepy.studio.files import inside, read_modules, to_document, to_text
from fusepy.studio.kinds import ANY, FILE, NodeKind, Port

KINDS = {
    kind.name: kind
    for kind in (
        NodeKind("number", "number", "Sources", (Port("value", "float", 0.5, (0, 1), fixed=True),), (Port("value", "float"),)),
        NodeKind("photo", "photo", "Sources", (Port("file", FILE, fixed=True),), (Port("picture", "float3"),)),
        NodeKind(
            "look.slang/gain",
            "gain",
            "look.slang",
            (Port("c", "float3", (0.5, 0.5, 0.5)), Port("k", "int", 1), Port("on", "bool", True), Port("x", ANY)),
            (Port("result", "float3"),),
        ),
    )
}


def chain() -> Document:
    document = Document()
    for kind in ("number", "look.slang/gain", "look.slang/gain"):
        document = document.add(KINDS, kind, (10, 20.5))
    document = document.connect(KINDS, ("number", "value"), ("gain", "k")).set(KINDS, "gain", "c", [1, 0.5, 0])
    return document.connect(KINDS, ("gain", "result"), ("gain_2", "c"))


def test_edits_leave_the_document_that_they_start_from():
    document = chain()
    assert document.order() == ["number", "gain", "gain_2"]
    assert document.ends(KINDS) == [("gain_2", "result")]
    gone = document.remove(["gain"])
    assert (list(gone.nodes), gone.edges) == (["number", "gain_2"], {})
    assert document.move({"gain": [1, 2]}).nodes["gain"].at == (1.0, 2.0)
    assert document.disconnect(("gain", "k")).edges == {("gain_2", "c"): ("gain", "result")}
    assert document == chain()
    apart = document.disconnect(("gain", "k"))
    assert [list(part.nodes) for part in apart.parts()] == [["number"], ["gain", "gain_2"]]
    assert apart.parts()[1].edges == {("gain_2", "c"): ("gain", "result")}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda d: d.connect(KINDS, ("gain_2", "result"), ("gain", "c")), "makes a cycle"),
        (lambda d: d.connect(KINDS, ("gain", "result"), ("gain", "c")), "makes a cycle"),
        (lambda d: d.connect(KINDS, ("gain", "resul"), ("gain_2", "c")), "has no output 'resul'"),
        (lambda d: d.connect(KINDS, ("gain", "result"), ("gain_2", "z")), "has no input 'z'"),
        (lambda d: d.connect(KINDS, ("gain", "result"), ("number", "value")), "takes no connection"),
        (lambda d: d.connect(KINDS, ("nobody", "result"), ("gain", "c")), "has no node 'nobody'"),
        (lambda d: d.disconnect(("gain", "c")), "nothing is connected"),
        (lambda d: d.add(KINDS, "gian", (0, 0)), "no kind of nodes 'gian'"),
        (lambda d: d.add(KINDS, "number", (0, float("nan"))), "no place of the page"),
        (lambda d: d.remove(["gain", "nobody"]), "has no node 'nobody'"),
        (lambda d: d.set(KINDS, "gain", "c", [1, 2]), "no value of the input 'c'"),
        (lambda d: d.set(KINDS, "gain", "c", [1, 2, float("inf")]), "no value of the input 'c'"),
        (lambda d: d.set(KINDS, "gain", "k", 1.5), "no value of the input 'k'"),
        (lambda d: d.set(KINDS, "gain", "k", 2**31), "no value of the input 'k'"),
        (lambda d: d.set(KINDS, "gain", "on", 1), "no value of the input 'on'"),
        (lambda d: d.set(KINDS, "gain", "x", 1), "no value of the input 'x'"),
        (lambda d: d.set(KINDS, "number", "value", 2), "no value of the input 'value'"),  # ends of a fixed port hold
        (lambda d: d.set(KINDS, "number", "value", 10**400), "no value of the input 'value'"),
    ],
)
def test_a_refused_edit_is_a_named_error(edit: Any, words: str):
    with pytest.raises(StudioError) as error:
        edit(chain())
    assert words in str(error.value)
    assert error.value.hint


def test_a_document_has_an_end():
    document = Document()
    for _ in range(MOST_NODES):
        document = document.add(KINDS, "number", (0, 0))
    with pytest.raises(StudioError, match=f"at most {MOST_NODES} nodes"):
        document.add(KINDS, "number", (0, 0))


def test_a_file_is_the_document_and_people_can_read_it():
    text = to_text(chain(), ["look.slang"])
    data, modules = read_modules(text)
    assert (to_document(data, KINDS), modules) == (chain(), ["look.slang"])
    assert '    "number": {"kind": "number", "at": [10, 20.5]},\n' in text
    assert '    "number.value -> gain.k",\n' in text
    empty, _ = read_modules(to_text(Document(), []))
    assert to_document(empty, KINDS) == Document()


NODE, GAIN = {"kind": "number", "at": [0, 0]}, {"kind": "look.slang/gain", "at": [0, 0]}
HOSTILE: list[tuple[object, str]] = [
    ("", "no JSON"),
    ("[" * 100_000, "no JSON"),
    ('{"fusepy studio": 1, "nodes": {}, "nodes": {}}', "no JSON"),
    ('{"fusepy studio": 1, "nodes": NaN}', "no JSON"),
    ("1" * 5000, "no JSON"),
    (" " * (1 << 21), "too long"),
    ([], "is no object"),
    ({}, "no entry 'fusepy studio'"),
    ({"fusepy studio": 2, "nodes": {}}, "another format"),
    ({"fusepy studio": True, "nodes": {}}, "another format"),
    ({"nodes": []}, "nodes is no object"),
    ({"nodes": {}, "run": "rm"}, "unknown entry 'run'"),
    ({"nodes": {}, "modules": [1]}, "names of Slang files"),
    ({"nodes": {"a": 1}}, "is no object"),
    ({"nodes": {"a": {"kind": "number"}}}, "no entry 'at'"),
    ({"nodes": {"a.b": NODE}}, "no name of a node"),
    ({"nodes": {"a" * 65: NODE}}, "no name of a node"),
    ({"nodes": {"a": {"kind": "evil", "at": [0, 0]}}}, "no kind of nodes 'evil'"),
    ({"nodes": {"a": {"kind": ["x"], "at": [0, 0]}}}, "a kind is a text"),
    ({"nodes": {"a": {"kind": "number", "at": [0, 1e300]}}}, "no place of the page"),
    ({"nodes": {"a": {"kind": "number", "at": [0, "1"]}}}, "no place of the page"),
    ({"nodes": {"a": {**NODE, "values": {"value": "x"}}}}, "no value of the input"),
    ({"nodes": {"a": {**NODE, "values": {"value": 10**999}}}}, "no value of the input"),
    ({"nodes": {"a": {**NODE, "values": {"other": 1}}}}, "no input 'other'"),
    ({"nodes": {str(f"n{i}"): NODE for i in range(MOST_NODES + 1)}}, "too many nodes"),
    ({"nodes": {"a": NODE}, "edges": ["a.value"]}, "no edge"),
    ({"nodes": {"a": NODE}, "edges": [7]}, "no edge"),
    ({"nodes": {"a": NODE}, "edges": ["a.value -> b.c"]}, "no node 'b'"),
    (
        {"nodes": {n: {"kind": "look.slang/gain", "at": [0, 0]} for n in "ab"}, "edges": ["a.result -> b.c", "b.result -> a.c"]},
        "cycle",
    ),
    ({"nodes": {"a": NODE, "g": {"kind": "look.slang/gain", "at": [0, 0]}}, "edges": ["a.value -> g.c"] * 2}, "connected twice"),
]


@pytest.mark.parametrize(("file", "words"), HOSTILE, ids=lambda x: x if isinstance(x, str) and len(x) < 40 else "")
def test_a_hostile_file_is_a_named_error(file: object, words: str):
    if isinstance(file, dict) and words != "no entry 'fusepy studio'":
        file = {"fusepy studio": 1, **file}
    with pytest.raises(StudioError) as error:
        to_document(read_modules(file if isinstance(file, str) else json.dumps(file))[0], KINDS)
    assert words in str(error.value)
    assert error.value.hint
    assert len(str(error.value)) < 2000


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../x.slang",
        "a/../../x.slang",
        "link/x.slang",
        "",
        "a\0b.slang",
        "x.py",
        3,
        f"{'x' * 300}.slang",
        "me/x.slang",
    ],
)
def test_no_path_leads_out_of_the_folder(name: object, tmp_path: Path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (folder / "me").symlink_to("me")
    with pytest.raises(StudioError) as error:
        inside(folder, name, (".slang",))
    assert error.value.hint
