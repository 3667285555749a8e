"""The text of fast paths."""

from __future__ import annotations

from fusepy.program.fast import text as fast_text
from fusepy.program.fast.text import FastLaunch, FastText


def test_the_text_is_that_of_the_documentation() -> None:
    launch = FastLaunch((), (2,), ("p0", "p2", "c0_2", "x1"))
    text = str(FastText(2, (0,), (), (), (), False, (), (launch,), "t2"))
    shown = "\n".join(line[4:] for line in (fast_text.__doc__ or "").splitlines())
    assert text in shown + "\n"


def test_the_text_of_destinations_and_several_launches() -> None:
    launches = FastLaunch((), (4,), ("p0", "p4")), FastLaunch((4,), (), ("p4 + 64", "p3", "read_0(x2)"))
    text = str(FastText(3, (0, 1), (2,), (2,), (3,), True, ((3, 1),), launches, "y3"))
    for line in (
        "if result is None or pending or len(args) != 3 or recorder() is not None or captured() is not None:",
        "y3 = result",
        "if x2.__class__ is not class_x2 or not -0x80000000 <= x2 < 0x80000000:",
        "if (p0 | p1 | p3) & 15:",
        "if p3 < p0 + nbytes_x0 and p0 < p3 + nbytes_y3:",
        "if p3 != p1:",
        "check_2(x2)",
        "t4 = None",
        "pack_1(block_1, 0, p4 + 64, p3, read_0(x2))",
        "counters.dispatches += 2",
    ):
        assert f" {line}\n" in text
    compile(text, "<text>", "exec")
