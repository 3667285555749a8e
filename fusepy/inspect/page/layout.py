"""A layered layout of charts: positions of boxes, and routes of links.

The layout has the usual steps. Boxes are put into rows below the boxes that they read. Links get a waypoint in each row
that they cross. Each row is sorted by the positions of neighbours, and moved towards these as far as order and space allow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fusepy.inspect.chart import Box, Chart

CHAR, LINE = 7.3, 17.0  # pixels of the monospaced font of boxes
PAD_X, PAD_Y = 12.0, 8.0
GAP_X, GAP_Y = 26.0, 52.0
WIDEST = 42  # characters of a line; the tooltip has the rest
MOST_IN_A_ROW = 32
MOST_WAYPOINTS = 4000  # with more waypoints, long links are straight
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
    """A link as a list of points, from the lower edge of one box to the upper edge of another.

    Attributes:
        turn: its index among the links into that box, from the left.
    """

    source: int
    target: int
    text: str
    turn: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class PlacedChart:
    """A chart with the positions of its boxes and links."""

    boxes: tuple[Placed, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(chart: Chart) -> PlacedChart:
    """Lays out a chart; the same chart always gives the same layout."""
    return _Layers(chart).layout()


def shown(line: str) -> str:
    """Shortens a line to the width of a box."""
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
        self.paths: list[list[int]] = []  # the spots of each link
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
        """Returns the row of each box: below the boxes it reads; others are right above their readers; long rows are split."""
        boxes, links = self.chart.boxes, self.chart.links
        rank = [0] * len(boxes)
        for source, target, _ in sorted(links, key=lambda link: link[1]):  # boxes come before their readers
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

    def layout(self) -> PlacedChart:
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
        return PlacedChart(tuple(boxes), tuple(routes), right - left, max(top - GAP_Y + 1, 1.0))

    def ends(self) -> list[tuple[float, float, int]]:
        """Returns, for each link, its offsets from the middles of both boxes, and its index among the links of the last box."""
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
        """Sorts each row by the positions of neighbours in the row before it."""
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
        """Moves a row as close to `wanted` as its order allows: least squares, by pooling neighbours."""
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
