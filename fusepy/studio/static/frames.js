// kernels as regions around the nodes that they fuse
import { html, useMemo } from "./html.js";
import { useStore } from "./store.js";
import { bytes, time } from "./types.js";

const { ViewportPortal, useNodes } = ReactFlow;
const HUES = [212, 28, 150, 280, 340, 95, 185, 55];
const ROOM = 14; // around a node

/** All kernels. A region is drawn twice, wider in the colour of its border, so that shapes of one kernel flow together. */
export function Frames() {
  const kernels = useStore((s) => s.results.kernels);
  const measured = useStore((s) => s.results.measured);
  const edges = useStore((s) => s.document.edges);
  const nodes = useNodes();
  const boxes = useMemo(() => new Map(nodes.filter((n) => n.measured?.width).map((n) => [n.id, box(n)])), [nodes]);
  return html`<${ViewportPortal}>
    <svg class="frames" aria-hidden="true">
      ${kernels.map((kernel, i) => html`<${Region} key=${i} hue=${HUES[i % HUES.length]} boxes=${present(kernel, boxes)} links=${links(kernel, edges, boxes)} />`)}
    </svg>
    ${kernels.map((kernel, i) => html`<${Label} key=${i} index=${i} kernel=${kernel} measured=${measured} boxes=${present(kernel, boxes)} />`)}
  </>`;
}

const box = ({ position, measured }) => ({ x: position.x, y: position.y, width: measured.width, height: measured.height });

const present = ({ nodes }, boxes) => nodes.filter((id) => boxes.has(id)).map((id) => boxes.get(id));

/** Pairs of boxes to be joined: along the lines of the graph, and where these do not reach, by the shortest way. */
function links({ nodes }, edges, boxes) {
  const group = new Map(nodes.filter((id) => boxes.has(id)).map((id) => [id, id]));
  const root = (id) => (group.get(id) === id ? id : root(group.get(id)));
  const found = [];
  const join = (a, b) => {
    found.push([boxes.get(a), boxes.get(b)]);
    group.set(root(a), root(b));
  };
  for (const { from: [a], to: [b] } of edges) if (group.has(a) && group.has(b)) join(a, b);
  const all = [...group.keys()];
  const pairs = all.flatMap((a, i) => all.slice(i + 1).map((b) => [apart(boxes.get(a), boxes.get(b)), a, b]));
  for (const [, a, b] of pairs.sort((p, q) => p[0] - q[0])) if (root(a) !== root(b)) join(a, b);
  return found;
}

const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

function apart(a, b) {
  const [[ax, ay], [bx, by]] = [middle(a), middle(b)];
  return Math.hypot(ax - bx, ay - by);
}

function Region({ hue, boxes, links }) {
  const shapes = (more) => html`
    ${boxes.map((b, i) => html`<rect key=${i} x=${b.x - ROOM - more} y=${b.y - ROOM - more} width=${b.width + 2 * (ROOM + more)} height=${b.height + 2 * (ROOM + more)} rx=${ROOM + more} />`)}
    ${links.map(([a, b], i) => html`<path key=${`l${i}`} d=${`M${middle(a)}L${middle(b)}`} strokeWidth=${36 + 2 * more} />`)}`;
  return html`<g style=${{ "--hue": hue }}><g class="border">${shapes(1.5)}</g><g class="inside">${shapes(0)}</g></g>`;
}

function Label({ index, kernel, boxes, measured }) {
  if (!boxes.length) return null;
  const top = boxes.reduce((a, b) => (b.y < a.y ? b : a));
  const costs = [kernel.us != null && time(kernel.us), kernel.bytes != null && bytes(kernel.bytes)].filter(Boolean).join(" · ");
  const style = { "--hue": HUES[index % HUES.length], transform: `translate(${top.x - ROOM + 6}px, ${top.y - ROOM}px) translateY(-60%)` };
  return html`<div class=${measured ? "kernel-label" : "kernel-label old"} style=${style} title=${`Kernel ${index}: time on the device, bytes read and written`}><b>kernel ${index}</b> ${costs}</div>`;
}
