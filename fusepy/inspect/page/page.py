"""A call as one page of HTML: its kernels with nodes, reasons, Slang and times. The page loads no other files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from fusepy.backend.execute.traffic import scaled
from fusepy.inspect.anatomy import Anatomy, KernelValue, KernelView
from fusepy.inspect.chart import Chart
from fusepy.inspect.page.svg import ARROW, svg

MOST_OPEN = 4  # a page with more kernels shows them folded
_HERE = Path(__file__).parent
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(anatomy: Anatomy, built: Chart | None = None) -> str:
    """Returns the text of the page.

    Args:
        built: the nodes of a graph as the user has built it.
    """
    name = escape(anatomy.name)
    longest = max((k.seconds for k in anatomy.kernels if k.seconds is not None), default=0.0)
    opened = len(anatomy.kernels) <= MOST_OPEN
    return _document(
        name,
        _totals(anatomy),
        _section("overview", "Kernels and what flows between them", _overview(anatomy)),
        _section("built", "The graph as it was built", _figure(built, "nodes of the graph")) if built is not None else "",
        _section("arguments", "Arguments", f"<pre>{escape(chr(10).join(anatomy.explanation.inputs))}</pre>"),
        '<section id="kernels" aria-labelledby="kernels-title"><h2 id="kernels-title">Kernels</h2>',
        '<p class="tools"><button type="button" id="open-all">Unfold all</button> '
        '<button type="button" id="close-all">Fold all</button></p>',
        *(_kernel(kernel, longest, opened) for kernel in anatomy.kernels),
        "</section>",
        _section("reasons", "Reasons", _list(anatomy.reasons)) if anatomy.reasons else "",
        f"<script>{_file('page.js')}</script>",
    )


def page_of_chart(chart: Chart) -> str:
    """Returns the text of a page with the nodes of a graph as the user has built it."""
    nodes = sum(box.kind == "node" for box in chart.boxes)
    built = _section("built", "The graph as it was built", _figure(chart, "nodes of the graph"))
    return _document(escape(chart.name), f"{nodes} node{'s' * (nodes != 1)}", built)


def _document(name: str, summary: str, *parts: str) -> str:
    head = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{name}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
        f"<style>{_file('page.css')}</style></head><body>{ARROW}<main>",
        f"<header><h1>{name}</h1><p>{escape(summary)}</p></header>",
    ]
    return "\n".join(part for part in [*head, *parts, "</main></body></html>"] if part) + "\n"


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _section(id: str, title: str, inside: str) -> str:
    return f'<section id="{id}" aria-labelledby="{id}-title"><h2 id="{id}-title">{title}</h2>\n{inside}\n</section>'


def _figure(chart: Chart, title: str, *, links: bool = False) -> str:
    picture = svg(chart, title, lambda box: f"#kernel-{box.group}" if links and box.kind == "kernel" else "")
    return f'<div class="figure" tabindex="0" role="region" aria-label="{escape(title)}">\n{picture}\n</div>'


def _overview(anatomy: Anatomy) -> str:
    chart = anatomy.overview
    costs = {k.number: f"{_moved(k)}{_time(k)}" for k in anatomy.kernels}
    boxes = [
        box
        if box.kind != "kernel" or box.group is None
        else type(box)(box.kind, (*box.lines, costs[box.group]), box.loc, box.group)
        for box in chart.boxes
    ]
    return _figure(Chart(chart.name, boxes, chart.links), "kernels and what flows between them", links=True)


def _kernel(kernel: KernelView, longest: float, opened: bool) -> str:
    share = 0.0 if not longest or kernel.seconds is None else 100 * kernel.seconds / longest
    listed = ", ".join(kernel.names)
    listed = listed if len(listed) <= 80 else listed[:79] + "…"
    code = escape(kernel.source)
    return "\n".join(
        [
            f'<details class="kernel" id="kernel-{kernel.number}"{" open" if opened else ""}>',
            f'<summary><span class="title">kernel {kernel.number}</span> <span class="nodes">{escape(listed)}</span>'
            f'<span class="cost">{escape(_moved(kernel) + _time(kernel))}</span>'
            f'<span class="bar" aria-hidden="true"><i style="width:{share:.1f}%"></i></span></summary>',
            f"<p>Indexed {escape(kernel.indexing)}.</p>",
            _figure(kernel.chart, f"what kernel {kernel.number} computes"),
            _table([("loads", row) for row in kernel.loads] + [("stores", row) for row in kernel.stores]),
            f"<h3>Reasons</h3>{_list(kernel.reasons)}" if kernel.reasons else "",
            f'<details class="slang"><summary>Slang, {len(kernel.source.splitlines())} lines</summary>'
            f'<button type="button" class="copy">Copy</button><pre tabindex="0"><code>{code}</code></pre></details>',
            "</details>",
        ]
    )


def _table(rows: Sequence[tuple[str, KernelValue]]) -> str:
    lines = "".join(
        f"<tr><td>{what}</td><th scope=row>{escape(row.name)}</th><td>{escape(row.what)}</td><td>{escape(row.mapping)}</td></tr>"
        for what, row in rows
    )
    heads = "".join(f"<th scope=col>{head}</th>" for head in ("", "name", "type and extents", "mapping"))
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in dict.fromkeys(items)) + "</ul>"


def _totals(anatomy: Anatomy) -> str:
    count = len(anatomy.kernels)
    parts = [f"{count} kernel{'s' * (count != 1)}", f"{scaled(sum(k.nbytes for k in anatomy.kernels), 'B')} moved"]
    if all(k.seconds is not None for k in anatomy.kernels):
        parts.append(scaled(sum(k.seconds or 0.0 for k in anatomy.kernels), "s"))
    else:
        parts.append(f"time {anatomy.unmeasured}")
    return ", ".join([*parts, f"on {anatomy.device}"])


def _moved(kernel: KernelView) -> str:
    return scaled(kernel.nbytes, "B")


def _time(kernel: KernelView) -> str:
    if kernel.seconds is None:
        return ""
    rate = f", {kernel.nbytes / kernel.seconds / 1e9:.3g} GB/s" if kernel.seconds else ""
    return f", {scaled(kernel.seconds, 's')}{rate}"
