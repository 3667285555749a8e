"""The page of a graph in a real browser: it folds by mouse and keyboard, and neither complains nor loads anything."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fusepy as fp
from tests.inspect.page.test_page import SOURCE, big, pipeline
from tests.support.browser import Browser, find_browser
from tests.support.slang_functions import ramp

# on CI it must run: there, the lack of a browser is an error of the tests below
pytestmark = pytest.mark.skipif(
    find_browser() is None and not os.environ.get("CI"), reason="there is no browser: python tools/setup_browser.py"
)
OPEN = "[...document.querySelectorAll('details.kernel')].map(d => d.open)"


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "pages", SOURCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, m: Any, tmp_path: Path) -> Iterator[Browser]:
    """The page of the pipeline, open; when the test is over it has said nothing, and has loaded nothing but itself."""
    g, args = pipeline(m)
    g.to_html(tmp_path / "graph.html", *args)
    browser.open(tmp_path / "graph.html")
    yield browser
    assert browser.console == []
    assert [url.partition("#")[0] for url in browser.requests] == [(tmp_path / "graph.html").as_uri()]


@pytest.mark.req("G4")
def test_g4_all_kernels_nodes_and_texts_are_there(page: Browser, m: Any) -> None:
    g, args = pipeline(m)
    explained = g.explain(*args)
    assert page.run("document.querySelectorAll('details.kernel').length") == explained.kernels
    assert page.run("document.querySelectorAll('#overview .box.kernel').length") == explained.kernels
    built = page.run("[...document.querySelectorAll('#built .box.node .name')].map(t => t.textContent)")
    assert sorted(built) == sorted(["luminance", "blurred", "tone", "<lambda>", "*"])
    inside = page.run("[...document.querySelectorAll('details.kernel .box.node .name')].map(t => t.textContent)")
    assert {"luminance", "blurred", "tone", "mean", "mul(·, 2)"} <= set(inside)
    codes = page.run("[...document.querySelectorAll('details.kernel code')].map(c => c.textContent)")
    assert "\n".join(codes) == g.source(*args)
    said = page.run("document.querySelector('main').innerText")
    for reason in explained.reasons:
        assert reason in said
    assert page.run("document.title") == "pipeline"


def test_boxes_are_drawn_with_their_text_inside(page: Browser) -> None:
    outside = page.run(
        """[...document.querySelectorAll('#overview .box, #built .box, details.kernel .box')].filter(box => {
            const frame = box.querySelector('rect').getBoundingClientRect();
            return frame.width < 10 || [...box.querySelectorAll('text')].some(text => {
                const r = text.getBoundingClientRect();
                return r.left < frame.left || r.right > frame.right || r.top < frame.top || r.bottom > frame.bottom;
            });
        }).map(box => box.textContent)"""
    )
    assert outside == []


@pytest.mark.rest
def test_kernels_fold_by_mouse(page: Browser) -> None:
    count = len(page.run(OPEN))
    assert page.run(OPEN) == [True] * count
    page.click("#kernel-0 > summary")
    assert page.run(OPEN) == [False] + [True] * (count - 1)
    page.click("#kernel-0 > summary")
    page.click("#close-all")
    assert page.run(OPEN) == [False] * count
    assert not page.run("document.querySelector('#kernel-0 code').checkVisibility()")
    page.click("#open-all")
    assert page.run(OPEN) == [True] * count


def test_kernels_fold_by_keyboard_alone(page: Browser) -> None:
    focused = "document.activeElement.closest('details') && document.activeElement.closest('details').id"
    for _ in range(40):
        page.press("Tab")
        if page.run(focused) == "kernel-0":
            break
    assert page.run("document.activeElement.matches('#kernel-0 > summary')")
    for key, opened in (("Enter", False), (" ", True)):
        page.press(key)
        assert page.run("document.querySelector('#kernel-0').open") is opened
    slang = "document.querySelector('#kernel-0 .slang')"
    for _ in range(5):
        page.press("Tab")
        if page.run(f"document.activeElement === {slang}.querySelector('summary')"):
            break
    page.press("Enter")
    assert page.run(f"{slang}.open")
    assert page.run(f"{slang}.querySelector('code').checkVisibility()")


@pytest.mark.rest
def test_a_box_of_the_overview_leads_to_its_kernel(page: Browser) -> None:
    page.click("#close-all")
    page.click("#overview a[href='#kernel-1'] rect")
    assert page.run("location.hash") == "#kernel-1"
    assert page.run("new Promise(done => setTimeout(() => done(document.querySelector('#kernel-1').open), 50))")
    assert page.run("document.activeElement.matches('#kernel-1 > summary')")
    page.click("#close-all")
    page.click("#overview a[href='#kernel-1'] rect")  # once more, where the address stays the same
    assert page.run("document.querySelector('#kernel-1').open")


@pytest.mark.rest
def test_the_slang_can_be_copied(page: Browser) -> None:
    page.click("#kernel-0 .slang summary")
    page.click("#kernel-0 .copy")
    text = "new Promise(done => setTimeout(() => done(document.querySelector('#kernel-0 .copy').textContent), 200))"
    assert page.run(text) == "Copied"
    assert page.run("getSelection().toString().trim()") == page.run("document.querySelector('#kernel-0 code').textContent.trim()")


def test_light_and_dark(page: Browser) -> None:
    colours: list[tuple[float, float]] = []
    for dark in (False, True):
        page.dark(dark)
        paper, ink = page.run("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
        colours.append((_light(paper), _light(ink)))
        boxes = "(b => [getComputedStyle(b.querySelector('rect')).fill, getComputedStyle(b.querySelector('.name')).fill])"
        for kind in ("kernel", "argument", "result"):
            fill, text = map(_light, page.run(f"{boxes}(document.querySelector('#overview .box.{kind}'))"))
            assert (max(fill, text) + 0.05) / (min(fill, text) + 0.05) > 7, (kind, dark)  # WCAG's enhanced contrast
    page.dark(False)
    (paper, ink), (dark_paper, dark_ink) = colours
    assert paper > 0.8 > 0.2 > ink
    assert dark_paper < 0.05 < 0.6 < dark_ink


def _light(colour: str) -> float:
    """The relative luminance of ``rgb(r, g, b)``."""
    parts = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_what_can_be_used_has_a_name(page: Browser) -> None:
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    used = [
        n
        for n in nodes
        if not n["ignored"] and n["role"]["value"] in ("button", "link", "region", "DisclosureTriangle", "heading")
    ]
    assert len(used) > 10
    assert [n["role"]["value"] for n in used if not n.get("name", {}).get("value")] == []


@pytest.mark.rest
@pytest.mark.filterwarnings("ignore::fusepy.UnrollWarning")
def test_two_thousand_nodes_are_a_few_megabytes_and_open(browser: Browser, m: Any, tmp_path: Path) -> None:
    big(m).to_html(tmp_path / "big.html", ramp(8), _measure=False)
    assert (tmp_path / "big.html").stat().st_size < 4_000_000
    browser.open(tmp_path / "big.html")
    assert browser.run("document.querySelectorAll('#built .box.node').length") == 2000
    assert browser.run("document.querySelectorAll('#kernel-0 .box.node').length") == 2000
    assert browser.run("document.body.scrollWidth <= innerWidth")  # wide pictures scroll by themselves
    assert len(zlib.compress(browser.screenshot())) > 5000
    browser.click("#close-all")
    assert browser.run(OPEN) == [False]
    assert browser.console == []
    assert len(browser.requests) == 1
