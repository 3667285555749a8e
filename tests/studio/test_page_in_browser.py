"""The page of the studio in a real browser, on the server of ``fusepy studio``: graphs built by mouse and by keyboard."""

from __future__ import annotations

import json
import os
import re
import runpy
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("PIL")
from PIL import Image

from tests.studio.page import Page, studio
from tests.support.browser import find_browser

# on CI it must run: there, the lack of a browser is an error of the tests below
pytestmark = pytest.mark.skipif(
    find_browser() is None and not os.environ.get("CI"), reason="there is no browser: python tools/setup_browser.py"
)
SLANG = """
/// @param stops [-4, 4]
float3 exposure(float3 c, float stops = 0.5) { return c * exp2(stops); }
float3 logarithm(float3 c) { return log(c - 0.5); }
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "look.slang").write_text(SLANG, encoding="utf-8")
    y, x = np.mgrid[0:48, 0:64]
    Image.fromarray(np.stack([4 * x, 5 * y, 2 * (x + y)], axis=-1).astype(np.uint8)).save(folder / "ramp.png")
    with studio(folder) as url, Page() as page:
        page.url, page.folder = url, folder
        yield page


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    """The page, empty; when the test is over it has said nothing, and has loaded nothing from elsewhere."""
    opened.fresh()
    yield opened
    assert opened.console == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:", opened.url.partition("?")[0]))] == []


@pytest.mark.rest
@pytest.mark.req("G4")
def test_a_graph_is_built_undone_saved_loaded_and_exported(page: Page) -> None:
    page.add("photograph", 380, 200)
    page.add("exposure", 640, 200)
    page.join("photograph.picture", "exposure.c")
    page.lines(1)
    page.until(page.thumbnail("exposure"))

    # what does not fit is refused near the cursor while one drags, and the line is not drawn
    page.join("photograph.picture", "exposure.stops", drop=False)
    page.until("document.querySelector('.notice.refused')")
    said, x, y = page.run("(e => [e.textContent, e.offsetLeft, e.offsetTop])(document.querySelector('.notice'))")
    at = page.middle(page.port("exposure.stops"))
    assert "stops" in said
    assert "float3" in said
    assert abs(x - at[0]) < 60
    assert abs(y - at[1]) < 60
    page.release(at)
    page.lines(1)

    # a slide changes the picture, and is one step back
    before = page.run(page.thumbnail("exposure"))
    slider = f"{page.node('exposure')} input[type=range]"
    left, middle = page.middle(slider)
    page.drag((left + 6, middle), (left + 20, middle), (left + 30, middle))
    page.until(f"{page.thumbnail('exposure')} !== {json.dumps(before)}")
    slid = float(page.steady(f"document.querySelector('{slider}').value"))
    assert slid > 1
    page.press("z", "Control")
    page.until(f"{page.thumbnail('exposure')} === {json.dumps(before)}")
    assert float(page.run(f"document.querySelector('{slider}').value")) == 0.5
    page.press("z", "Control", "Shift")
    page.until(f"document.querySelector('{slider}').value == {slid} && document.querySelector('#redo').disabled")

    # the kernel is a frame around its node, with time and bytes
    page.until("/kernel 0.* (µs|ms) .* [kM]?B/.test(document.querySelector('.kernel-label:not(.old)')?.textContent)")
    frame, node = (
        page.run(f"document.querySelector('{e}').getBoundingClientRect().toJSON()")
        for e in (".frames rect", page.node("exposure"))
    )
    assert frame["left"] < node["left"] < node["right"] < frame["right"]

    # the exported program makes the picture that is seen
    page.press("e", "Control")
    page.until("document.querySelector('dialog code')")
    (page.folder / "graph.py").write_text(page.run("document.querySelector('dialog code').textContent"), encoding="utf-8")
    page.press("Escape")
    page.until("!document.querySelector('dialog')")
    program = runpy.run_path(str(page.folder / "graph.py"))
    wanted = np.clip(np.asarray(program["compute"]().numpy()), 0, 1) * 255
    seen = page.large()
    assert seen.shape == (48, 64, 3)
    assert np.abs(seen - wanted).max() <= 1
    ramp = np.asarray(Image.open(page.folder / "ramp.png")) / 255
    assert np.abs(np.clip(ramp * 2**slid, 0, 1) * 255 - seen).max() <= 1

    # what was saved comes back; a file that is no graph changes nothing
    page.press("s", "Control")
    page.until("document.querySelector('.file').textContent === 'graph.json'")
    page.press("a", "Control")
    page.until("document.querySelectorAll('.react-flow__node.selected').length === 2")
    page.click("#delete")
    page.until("document.querySelector('.start')")
    page.choose("#file", page.folder / "look.slang")
    page.until("document.querySelector('.notice.refused')")
    assert page.run("!!document.querySelector('.start')")
    page.choose("#file", page.folder / "graph.json")
    page.lines(1)
    page.until(page.thumbnail("exposure"))
    assert float(page.run(f"document.querySelector('{slider}').value")) == slid

    # a file that was opened is saved where it lies; one from elsewhere asks for a name, and whether it may replace another
    first = (page.folder / "graph.json").read_text(encoding="utf-8")
    (page.folder / "other.json").write_text(first, encoding="utf-8")
    page.choose("#file", page.folder / "other.json")
    page.until("document.querySelector('.file').textContent === 'other.json'")
    page.search("logarithm")
    page.until("document.querySelector('.file').textContent === 'other.json · changed'")
    page.press("s", "Control")
    page.until("document.querySelector('.file').textContent === 'other.json'")
    assert "logarithm" in (page.folder / "other.json").read_text(encoding="utf-8")
    assert (page.folder / "graph.json").read_text(encoding="utf-8") == first
    (page.folder / "away").mkdir()
    (page.folder / "away" / "other.json").write_text(first, encoding="utf-8")
    page.choose("#file", page.folder / "away" / "other.json")
    page.until("document.querySelector('.file').textContent === 'not saved yet'")
    page.press("s", "Control")
    page.until("document.querySelector('dialog input')?.value === 'other.json'")
    page.press("Enter")
    page.until("document.querySelector('dialog .main').textContent === 'Replace' && document.querySelector('.notice.refused')")
    assert "logarithm" in (page.folder / "other.json").read_text(encoding="utf-8")
    page.press("Enter")
    page.until("document.querySelector('.file').textContent === 'other.json' && !document.querySelector('dialog')")
    assert (page.folder / "other.json").read_text(encoding="utf-8") == first


@pytest.mark.rest
def test_a_line_ends_in_a_menu_or_is_taken_away(page: Page) -> None:
    page.add("photograph", 380, 200)
    page.until(page.thumbnail("photograph"))  # which makes the node taller: its ports move
    x, y = page.middle(page.port("photograph.picture"))
    page.drag((x, y), (x + 150, y + 10), (x + 200, y + 40), drop=False)
    page.until("document.querySelector('.react-flow__connection')")  # the line is drawn before it is let go
    page.release((x + 200, y + 40))
    page.until("document.activeElement.matches('.menu input')")
    page.type("expo")
    page.press("Enter")
    page.lines(1)
    page.until(page.thumbnail("exposure"))

    # a port is connected once: the end of its line is lifted beside the dot, and let go elsewhere
    x, y = page.middle(page.port("exposure.c"))
    page.drag((x - 9, y), (x - 20, y + 200), (x, y + 300))
    page.lines(0)
    page.click("#undo")
    page.lines(1)

    # a number is typed; one that is no number changes nothing
    field = f"{page.node('exposure')} .number"
    for typed, shown in (("1.25", "1.25"), ("much", "1.25")):
        page.click(field)
        page.type(typed)
        page.press("Enter")
        page.until(f"document.activeElement === document.body && document.querySelector('{field}').value === '{shown}'")
    assert float(page.run(f"document.querySelector('{page.node('exposure')} input[type=range]').value")) == 1.25


@pytest.mark.req("G4")
def test_by_keyboard_alone_and_the_values_behind_a_pixel(page: Page) -> None:
    page.press("/")
    for name in ("photograph", "logarithm"):
        page.type(name)
        page.press("Enter")
        page.stands(name)
    page.run("document.activeElement.blur()")
    page.until(page.thumbnail("photograph"))  # results draw the nodes again, and a key that is pressed meanwhile is lost
    for end in ("photograph.picture", "logarithm.c"):
        page.until(f"(p => (p.focus(), document.activeElement === p))(document.querySelector('{page.port(end)}'))")
        page.press("Enter")
        page.until("document.querySelector('.begun, .react-flow__edge')")
    page.lines(1)
    page.until(f"{page.thumbnail('logarithm')} && document.querySelector('.bad-count')")
    page.click(f"{page.node('logarithm')} .thumbnail")

    # the arrow keys begin in the middle of the picture: y 24, x 32, and one to the right
    page.until("document.querySelector('.picture .frame')")
    page.run("document.querySelector('.picture .frame').focus()")
    page.press("ArrowRight")
    page.until(
        "document.querySelector('.values h3')?.textContent === 'Pixel x 33, y 24' && document.querySelector('.values tr.bad')"
    )
    rows = page.run("[...document.querySelectorAll('.values tr')].map(r => [r.className, r.innerText])")
    assert page.run("Math.min(...[...document.querySelectorAll('.values th')].map(name => name.clientWidth))") > 80
    text = "\n".join(row for _, row in rows)
    assert "float3" in text
    assert "look.slang:4: float3 logarithm" in text
    assert "look.logarithm(photograph_picture" in text
    bad = " ".join(row for kind, row in rows if "bad" in kind)
    assert "nan" in bad
    assert page.run("document.querySelector('.values .number .bad').textContent") == "nan"
    source = [float(v) for v in re.findall(r"\d\.\d+", text)[:3]]
    assert np.allclose(source, np.array([4 * 33, 5 * 24, 2 * 57]) / 255, atol=1e-5)

    # what can be used has a name, in light and dark
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    used = [
        n for n in nodes if not n["ignored"] and n["role"]["value"] in ("button", "slider", "textbox", "searchbox", "combobox")
    ]
    assert len(used) > 25
    assert [n["role"]["value"] for n in used if not n.get("name", {}).get("value")] == []
    papers = []
    for dark in (True, False):
        page.dark(dark)
        papers.append(page.run("getComputedStyle(document.querySelector('.node')).backgroundColor"))
    assert papers == ["rgb(32, 35, 38)", "rgb(255, 255, 255)"]


@pytest.mark.rest
def test_a_file_that_is_too_long_is_refused_and_a_line_that_was_cut_is_opened_again(page: Page) -> None:
    page.add("photograph", 380, 200)
    long = page.folder / "long.json"
    long.write_text('{"a": "' + "x" * (3 << 20) + '"}', encoding="utf-8")
    page.choose("#file", long)
    page.until("document.querySelector('.notice.refused')?.textContent.includes('long.json is too long for a document')")
    page.run("""{
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function () { WebSocket.prototype.send = send; this.close(); };
    }""")
    page.search("exposure")
    page.until("document.querySelector('.lost')")
    page.until("!document.querySelector('.lost')")
    page.search("exposure")
    page.stands("exposure")
