"""Types of values in the text of modules."""

from __future__ import annotations

from fusepy.backend.sources.copies.values import Ranked, Values, variables


def test_variables_of_each_spelling() -> None:
    text = (
        "f(float x[4], W<float, 2> w) { float[2] y, z[3] = {a, b}; var v = g(x, 1); for (int i = 0, j = 1; ;) { } return x[0]; }"
    )
    found = {name: of for _, name, of in variables(text, 0, len(text))}
    ints = {"i": Ranked("int"), "j": Ranked("int")}
    arrays = {"x": Ranked("float", 1), "y": Ranked("float", 1), "z": Ranked("float", 2)}
    assert found == arrays | ints | {"w": Ranked("W<float, 2>"), "v": "g(x, 1)"}


def test_names_that_mean_two_things_are_not_known() -> None:
    texts = [
        "typealias C = float3; struct S { float a; } float f(int i);",
        "typedef float C; struct S { int a; } int f(float x);",
    ]
    known = Values.of(texts)
    assert (known.aliases, known.members, known.returned) == ({}, {}, {})
    assert Values.of(texts[:1]).element(Ranked("C", 1), ["float"], "") == (Ranked("float3"), True)
    assert known.element(Ranked("int", 2), ["float"], "") == (Ranked("int", 1), False)
