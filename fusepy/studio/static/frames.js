// kernels as regions around the nodes that they fuse
import { html, useMemo } from "./html.js";
import { useStore } from "./store.js";
import { bytes, time } from "./types.js";

const { ViewportPortal, useNodes } = ReactFlow;
const HUES = [212, 28, 150, 280, 340, 95, 185, 55];
const ROOM = 14; // around a node
const RING = 5; // more room for each further kernel that computes the same node

/** All kernels. A region is drawn twice, wider in the colour of its border, so that shapes of one kernel flow together. */
export function Frames() {
  const kernels = useStore((s) => s.results.kernels);
  const measured = useStore((s) => s.results.measured);
  const edges = useStore((s) => s.document.edges);
  const nodes = useNodes();
  const boxes = useMemo(() => new Map(nodes.filter((n) => n.measured?.width).map((n) => [n.id, box(n)])), [nodes]);
  return html`<${ViewportPortal}>
    <svg class="frames" aria-hidden="true">
      ${kernels.map((kernel, i) => html`<${Region} key=${i} hue=${HUES[i % HUES.length]} boxes=${ringed(kernels, i, boxes)} links=${links(kernel, edges, boxes)} />`)}
    </svg>
    ${labelled(kernels, boxes).map((box, i) => box && html`<${Label} key=${i} index=${i} kernel=${kernels[i]} ...${{ box, measured }} />`)}
  </>`;
}

const box = ({ position, measured }) => ({ x: position.x, y: position.y, width: measured.width, height: measured.height });

/** The boxes of a kernel, larger where later kernels are drawn over them. */
const ringed = (kernels, i, boxes) =>
  kernels[i].nodes.filter((id) => boxes.has(id)).map((id) => ({ ...boxes.get(id), more: RING * kernels.slice(i + 1).filter((later) => later.nodes.includes(id)).length }));

/** Pairs of boxes to be joined: along the lines of the graph, and where these do not reach, by the shortest way. */
function links({ nodes }, edges, boxes) {
  const group = new Map(nodes.filter((id) => boxes.has(id)).map((id) => [id, id]));
  const root = (id) => (group.get(id) === id ? id : root(group.get(id)));
  const found = [];
  const join = ([, a, b]) => {
    if (root(a) === root(b)) return;
    found.push([boxes.get(a), boxes.get(b)]);
    group.set(root(a), root(b));
  };
  const pair = (a, b) => [apart(boxes.get(a), boxes.get(b)), a, b];
  const nearest = (p, q) => p[0] - q[0];
  const all = [...group.keys()];
  edges.filter(({ from: [a], to: [b] }) => group.has(a) && group.has(b)).map(({ from: [a], to: [b] }) => pair(a, b)).sort(nearest).forEach(join);
  all.flatMap((a, i) => all.slice(i + 1).map((b) => pair(a, b))).sort(nearest).forEach(join);
  return found;
}

const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

function apart(a, b) {
  const [[ax, ay], [bx, by]] = [middle(a), middle(b)];
  return Math.hypot(ax - bx, ay - by);
}

const Box = ({ x, y, width, height, room }) => html`<rect x=${x - room} y=${y - room} width=${width + 2 * room} height=${height + 2 * room} rx=${room} />`;

function Region({ hue, boxes, links }) {
  const shapes = (more) => html`
    ${boxes.map((b, i) => html`<${Box} key=${i} ...${b} room=${ROOM + b.more + more} />`)}
    ${links.map(([a, b], i) => html`<path key=${`l${i}`} d=${`M${middle(a)}L${middle(b)}`} strokeWidth=${36 + 2 * more} />`)}`;
  return html`<g style=${{ "--hue": hue }}><g class="border">${shapes(1.5)}</g><g class="inside">${shapes(0)}</g></g>`;
}

function Label({ index, kernel, box, measured }) {
  const costs = [kernel.us != null && time(kernel.us), kernel.bytes != null && bytes(kernel.bytes)].filter(Boolean).join(" · ");
  const style = { "--hue": HUES[index % HUES.length], transform: `translate(${box.x - ROOM + 6}px, ${box.y - ROOM}px) translateY(-60%)` };
  return html`<div class=${measured ? "kernel-label" : "kernel-label old"} style=${style} title=${`Kernel ${index}: time on the device, bytes read and written`}><b>kernel ${index}</b> ${costs}</div>`;
}

/** For each kernel the highest of its nodes, or the next one where another label stands. */
function labelled(kernels, boxes) {
  const taken = new Set();
  return kernels.map(({ nodes }) => {
    const order = nodes.filter((id) => boxes.has(id)).sort((a, b) => boxes.get(a).y - boxes.get(b).y);
    const id = order.find((other) => !taken.has(other)) ?? order[0];
    taken.add(id);
    return boxes.get(id);
  });
}
