"""A layered layout of charts: where boxes stand, and how links run between them.

The usual steps: boxes are put into rows below those that they read, links that pass rows get a place in each of them. The boxes
of a row are ordered by where their neighbours stand, and moved as close to these as order and room allow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fusepy.inspect.chart import Box, Chart

CHAR, LINE = 7.3, 17.0  # of the monospaced font in which boxes are written, in pixels
PAD_X, PAD_Y = 12.0, 8.0
GAP_X, GAP_Y = 26.0, 52.0
WIDEST = 42  # characters of a line; the rest is in the tooltip
MOST_IN_A_ROW = 32
MOST_WAYPOINTS = 4000  # beyond them, long links run straight
SWEEPS = 8


@dataclass(frozen=True)
class Placed:
    """A box with the middle of its top edge and its size."""

    box: Box
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """A link as the points that it passes, from the lower edge of one box to the upper edge of another.

    Attributes:
        turn: which of the links into that box it is, from the left.
    """

    source: int
    target: int
    text: str
    turn: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Layout:
    """A chart as it is drawn."""

    boxes: tuple[Placed, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(chart: Chart) -> Layout:
    """Where everything in a chart stands; the same chart is always drawn alike."""
    return _Layers(chart).layout()


def shown(line: str) -> str:
    """A line as it fits into a box."""
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"


class _Layers:
    """Spots in rows: one for each box, and waypoints of links, which have no size."""

    def __init__(self, chart: Chart):
        self.chart = chart
        count = len(chart.boxes)
        self.widths = [max(len(shown(line)) for line in box.lines) * CHAR + 2 * PAD_X for box in chart.boxes]
        self.heights = [len(box.lines) * LINE + 2 * PAD_Y for box in chart.boxes]
        row = self.ranked()
        self.row = row
        self.paths: list[list[int]] = []  # the spots that each link passes
        waypoints = sum(max(0, row[t] - row[s] - 1) for s, t, _ in chart.links)
        spots = count
        for source, target, _ in chart.links:
            between = range(row[source] + 1, row[target]) if waypoints <= MOST_WAYPOINTS else ()
            self.paths.append([source, *range(spots, spots + len(between)), target])
            row.extend(between)
            spots += len(between)
        self.widths += [0.0] * (spots - count)
        self.rows: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
        for spot in range(spots):
            self.rows[row[spot]].append(spot)
        self.above: list[list[int]] = [[] for _ in range(spots)]
        self.below: list[list[int]] = [[] for _ in range(spots)]
        for path in self.paths:
            for a, b in itertools.pairwise(path):
                self.above[b].append(a)
                self.below[a].append(b)
        self.x = [0.0] * spots

    def ranked(self) -> list[int]:
        """The row of each box: below all that it reads; what reads nothing right above what reads it; long rows are broken."""
        boxes, links = self.chart.boxes, self.chart.links
        rank = [0] * len(boxes)
        for source, target, _ in sorted(links, key=lambda link: link[1]):  # boxes come before those that read them
            rank[target] = max(rank[target], rank[source] + 1)
        reads = {target for _, target, _ in links}
        first: dict[int, int] = {}
        for source, target, _ in links:
            first[source] = min(first.get(source, rank[target]), rank[target])
        for i in range(len(boxes)):
            if i not in reads and i in first:
                rank[i] = first[i] - 1
        members: dict[int, list[int]] = {}
        for i, r in enumerate(rank):
            members.setdefault(r, []).append(i)
        row = 0
        for r in sorted(members):
            for at, i in enumerate(members[r]):
                rank[i] = row + at // MOST_IN_A_ROW
            row += -(-len(members[r]) // MOST_IN_A_ROW)
        return rank

    def layout(self) -> Layout:
        for downward in [True, False] * (SWEEPS // 2):
            self.order(downward)
        for row in self.rows:
            self.settle(row, [0.0] * len(row))
        for downward in [True, False] * (SWEEPS // 2) + [True]:
            self.align(downward)
        left = min((self.x[s] - self.widths[s] / 2 for row in self.rows for s in row), default=0.0) - 1
        right = max((self.x[s] + self.widths[s] / 2 for row in self.rows for s in row), default=0.0) + 1
        top = 1.0
        tops: list[float] = []
        bottoms: list[float] = []
        for row in self.rows:
            height = max((self.heights[s] for s in row if s < len(self.heights)), default=0.0)
            tops.append(top)
            bottoms.append(top + height)
            top += height + GAP_Y
        boxes = [
            Placed(box, self.x[i] - left, tops[self.row[i]], self.widths[i], self.heights[i])
            for i, box in enumerate(self.chart.boxes)
        ]
        ends = self.ends()
        routes = [
            Route(s, t, text, ends[i][2], tuple(self.points(i, left, boxes, tops, bottoms, ends[i])))
            for i, (s, t, text) in enumerate(self.chart.links)
        ]
        return Layout(tuple(boxes), tuple(routes), right - left, max(top - GAP_Y + 1, 1.0))

    def ends(self) -> list[tuple[float, float, int]]:
        """Where each link leaves its first box and enters its last, from the middle of the edge; and which of its links it is."""
        found = [[0.0, 0.0, 0.0] for _ in self.paths]
        for end, (box, neighbour) in enumerate(((0, 1), (-1, -2))):
            links: dict[int, list[int]] = {}
            for i, path in enumerate(self.paths):
                links.setdefault(path[box], []).append(i)
            for spot, members in links.items():
                members.sort(key=lambda i: self.x[self.paths[i][neighbour]])
                step = min((self.widths[spot] - 2 * PAD_X) / len(members), 3 * PAD_X)
                for at, i in enumerate(members):
                    found[i][end] = (at - (len(members) - 1) / 2) * step
                    found[i][2] = at
        return [(out, into, int(at)) for out, into, at in found]

    def points(
        self,
        link: int,
        left: float,
        boxes: Sequence[Placed],
        tops: Sequence[float],
        bottoms: Sequence[float],
        ends: tuple[float, float, int],
    ) -> Iterator[tuple[float, float]]:
        first, *between, last = self.paths[link]
        yield boxes[first].x + ends[0], boxes[first].y + boxes[first].height
        for spot in between:
            yield self.x[spot] - left, tops[self.row[spot]]
            yield self.x[spot] - left, bottoms[self.row[spot]]
        yield boxes[last].x + ends[1], boxes[last].y

    def order(self, downward: bool) -> None:
        """Sorts each row by where the neighbours stand in the row before it."""
        place = {spot: i / max(len(row), 1) for row in self.rows for i, spot in enumerate(row)}
        near = self.above if downward else self.below
        for row in self.rows if downward else reversed(self.rows):
            row.sort(key=lambda s: sum(place[n] for n in near[s]) / len(near[s]) if near[s] else place[s])
            place.update((spot, i / max(len(row), 1)) for i, spot in enumerate(row))

    def align(self, downward: bool) -> None:
        """Moves the spots of each row towards the middle of their neighbours."""
        for row in self.rows if downward else reversed(self.rows):
            wanted: list[float] = []
            for spot in row:
                near = (self.above if downward else self.below)[spot] or [*self.above[spot], *self.below[spot]]
                wanted.append(sum(self.x[n] for n in near) / len(near) if near else self.x[spot])
            self.settle(row, wanted)

    def settle(self, row: Sequence[int], wanted: Sequence[float]) -> None:
        """Places a row as close to `wanted` as it can be without changing its order: least squares, by pooling neighbours."""
        offsets: list[float] = []
        for i, spot in enumerate(row):
            before = offsets[-1] + (self.widths[row[i - 1]] + self.widths[spot]) / 2 + GAP_X if i else 0.0
            offsets.append(before)
        pools: list[tuple[float, int]] = []  # mean and size of each
        for want, offset in zip(wanted, offsets):
            mean, size = want - offset, 1
            while pools and pools[-1][0] >= mean:
                other, count = pools.pop()
                mean, size = (mean * size + other * count) / (size + count), size + count
            pools.append((mean, size))
        means = [mean for mean, size in pools for _ in range(size)]
        for spot, mean, offset in zip(row, means, offsets):
            self.x[spot] = mean + offset
