"""Charts as SVG."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from fusepy.inspect.chart import Box, Chart
from fusepy.inspect.page.layout import LINE, PAD_Y, Placed, Route, lay_out, shown

ARROW = (
    '<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs>'
    '<marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="arrow" d="M0 0.5 8 4 0 7.5z"/></marker></defs></svg>'
)
MOST_TEXTS = 150  # a chart with more links shows their texts in tooltips only


def svg(chart: Chart, title: str, target: Callable[[Box], str]) -> str:
    """Draws a chart as an inline picture.

    Args:
        title: a description for screen readers.
        target: returns the link of a box; empty for none.
    """
    layout = lay_out(chart)
    size = f'width="{layout.width:.0f}" height="{layout.height:.0f}" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}"'
    parts = [f'<svg role="group" aria-label="{escape(title)}" {size}>']
    parts += [_path(route) for route in layout.routes]
    parts += [_box(placed, target(placed.box)) for placed in layout.boxes]
    if len(layout.routes) <= MOST_TEXTS:
        parts += [_text(route) for route in layout.routes if route.text]
    return "\n".join([*parts, "</svg>"])


def _path(route: Route) -> str:
    (x, y), *points = route.points
    steps = [f"M{x:.1f} {y:.1f}"]
    for i, (to_x, to_y) in enumerate(points):
        middle = (y + to_y) / 2
        straight = i % 2 == 1 and i < len(points) - 1  # crosses a row of boxes
        steps.append(f"V{to_y:.1f}" if straight else f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    tip = f"<title>{escape(route.text)}</title>" if route.text else ""
    return f'<path class="link" d="{" ".join(steps)}">{tip}</path>'


def _text(route: Route) -> str:
    (x, y), (to_x, to_y) = route.points[-2:]
    down = 12 * (route.turn % 2)  # so that texts of neighbours do not overlap
    return f'<text class="flow" x="{(x + to_x) / 2:.1f}" y="{(y + to_y) / 2 + down - 2:.1f}">{escape(shown(route.text))}</text>'


def _box(placed: Placed, target: str) -> str:
    box = placed.box
    tip = "\n".join([*box.lines, *([box.loc] if box.loc else [])])
    left = placed.x - placed.width / 2
    radius = 4 if box.kind in ("node", "kernel") else placed.height / 2 if len(box.lines) == 1 else 14
    shape = f'<rect x="{left:.1f}" y="{placed.y:.1f}" width="{placed.width:.1f}" height="{placed.height:.1f}" rx="{radius:g}"/>'
    lines = "".join(
        f'<text class="{"name" if i == 0 else "more"}" x="{placed.x:.1f}" y="{placed.y + PAD_Y + LINE * (i + 0.75):.1f}">'
        f"{escape(shown(line))}</text>"
        for i, line in enumerate(box.lines)
    )
    inside = f'<g class="box {box.kind}"><title>{escape(tip)}</title>{shape}{lines}</g>'
    return f'<a href="{escape(target)}">{inside}</a>' if target else inside
