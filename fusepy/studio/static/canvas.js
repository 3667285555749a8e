// the canvas: nodes and lines of the document, moved, connected and removed
import { Frames } from "./frames.js";
import { html, useCallback, useEffect, useMemo, useRef, useState } from "./html.js";
import { GraphNode, showFitting, stopLinking } from "./node.js";
import { act, link, request, Refusal, say } from "./session.js";
import { get, nodeOf, set, useStore } from "./store.js";
import { hue } from "./types.js";

const { ReactFlow: Flow, Background, Controls, applyNodeChanges, applyEdgeChanges, useConnection, useReactFlow } = ReactFlow;
const KINDS = { node: GraphNode };
const edgeId = ({ to }) => to.join(".");

export function Canvas() {
  const document = useStore((s) => s.document);
  const errors = useStore((s) => s.results.errors);
  const [nodes, setNodes] = useNodesOf(document);
  const [edges, setEdges] = useEdgesOf(document, errors);
  const flow = useReactFlow();
  const lifted = useRef(null); // the line whose end one has taken
  useFirstView(flow, nodes);

  const onNodesChange = useCallback((changes) => setNodes((old) => applyNodeChanges(changes, old)), []);
  const onEdgesChange = useCallback((changes) => setEdges((old) => applyEdgeChanges(changes, old)), []);
  const moved = (_, __, dragged) => act("move", { positions: Object.fromEntries(dragged.map((n) => [n.id, [n.position.x, n.position.y].map(Math.round)])) });
  const begin = (_, { nodeId, handleId, handleType }) => {
    set({ linking: [nodeId, handleId], notice: null });
    showFitting([nodeId, handleId], handleType === "source").catch(ignoreRefusal);
  };
  const end = (event, { toHandle, fromHandle, toNode }) => {
    stopLinking();
    if (toHandle || toNode || !fromHandle || lifted.current) return;
    const { clientX: x, clientY: y } = event.changedTouches?.[0] ?? event;
    const taken = fromHandle.type === "target" && get().document.edges.some((edge) => edge.to[0] === fromHandle.nodeId && edge.to[1] === fromHandle.id);
    if (taken) return void act("disconnect", { to: [fromHandle.nodeId, fromHandle.id] });
    const linked = { port: [fromHandle.nodeId, fromHandle.id], output: fromHandle.type === "source" };
    if (window.document.elementFromPoint(x, y)?.closest(".react-flow__pane")) set({ adding: { at: [x, y], linked } });
  };
  const connected = ({ source, sourceHandle, target, targetHandle }) => link([source, sourceHandle], [target, targetHandle]);
  const reconnect = {
    onReconnectStart: (_, edge) => (lifted.current = edge),
    onReconnect: (old, now) => {
      lifted.current = null;
      relink(old, now);
    },
    onReconnectEnd: (_, edge, __, { toHandle }) => {
      if (lifted.current && !toHandle) act("disconnect", { to: [edge.target, edge.targetHandle] });
      lifted.current = null;
    },
  };
  const clicked = (_, node) => {
    const [first] = node.data.node.outputs;
    if (first && get().shown?.[0] !== node.id && get().results.edges[`${node.id}.${first.name}`]) set({ shown: [node.id, first.name] });
  };
  const menu = (event) => {
    if (event.target.closest(".react-flow__pane")) set({ adding: { at: [event.clientX, event.clientY] } });
  };

  return html`<div class="canvas" onDoubleClick=${menu}>
    <${Flow} ...${{ nodes, edges, onNodesChange, onEdgesChange, nodeTypes: KINDS, ...reconnect }} onConnect=${connected} onConnectStart=${begin} onConnectEnd=${end}
      onNodeDragStop=${moved} onSelectionDragStop=${(e, dragged) => moved(e, null, dragged)} onNodeClick=${clicked} onPaneClick=${() => set({ notice: null, adding: null })}
      deleteKeyCode=${null} zoomOnDoubleClick=${false} minZoom=${0.15} maxZoom=${2.5} connectionRadius=${26} disableKeyboardA11y=${false}
      nodeDragThreshold=${2} colorMode="system" selectionKeyCode="Shift" multiSelectionKeyCode=${["Shift", "Control", "Meta"]}>
      <${Frames} />
      <${Background} gap=${22} size=${1.2} />
      <${Controls} showInteractive=${false} position="bottom-left" />
      <${Asking} />
    </>
  </div>`;
}

/** The nodes as the library wants them: places and selection live here while one drags. */
function useNodesOf(document) {
  const [nodes, setNodes] = useState([]);
  useEffect(() => {
    const { select } = get();
    setNodes((old) => {
      const before = new Map(old.map((node) => [node.id, node]));
      return document.nodes.map((node) => {
        const known = before.get(node.id);
        const connected = new Set(document.edges.filter((edge) => edge.to[0] === node.id).map((edge) => edge.to[1]));
        const used = new Set(document.edges.filter((edge) => edge.from[0] === node.id).map((edge) => edge.from[1]));
        const position = known?.dragging ? known.position : { x: node.at[0], y: node.at[1] };
        const selected = select ? select.includes(node.id) : (known?.selected ?? false);
        return { ...known, id: node.id, type: "node", position, selected, data: { node, connected, used }, ariaLabel: `node ${node.name}` };
      });
    });
    if (select) set({ select: null });
  }, [document]);
  const wanted = useStore((s) => s.select);
  useEffect(() => {
    if (!wanted || !wanted.every(nodeOf)) return;
    setNodes((old) => old.map((node) => ({ ...node, selected: wanted.includes(node.id) })));
    set({ select: null });
  }, [wanted]);
  return [nodes, setNodes];
}

function useEdgesOf(document, errors) {
  const [edges, setEdges] = useState([]);
  useEffect(() => {
    setEdges((old) => {
      const selected = new Set(old.filter((edge) => edge.selected).map((edge) => edge.id));
      return document.edges.map((edge) => {
        const [source, sourceHandle] = edge.from;
        const [target, targetHandle] = edge.to;
        const type = nodeOf(source)?.outputs.find((port) => port.name === sourceHandle)?.type ?? "";
        const id = edgeId(edge);
        const className = errors[source] ? "wrong" : "";
        return { id, source, sourceHandle, target, targetHandle, className, style: hue(type), selected: selected.has(id), reconnectable: "target" };
      });
    });
  }, [document, errors]);
  return [edges, setEdges];
}

/** Shows the whole graph once, when its nodes have been measured. */
function useFirstView(flow, nodes) {
  const done = useRef(false);
  const beganEmpty = useStore((s) => s.loaded && s.document.nodes.length === 0);
  const ready = nodes.length > 0 && nodes.every((node) => node.measured?.width);
  useEffect(() => {
    done.current ||= beganEmpty; // what one drops there stays where it was dropped
    if (!ready || done.current) return;
    done.current = true;
    flow.fitView({ padding: 0.12, maxZoom: 1 });
  }, [ready, beganEmpty]);
}

async function relink(old, { source, sourceHandle, target, targetHandle }) {
  if (old.target === target && old.targetHandle === targetHandle) return;
  if (await link([source, sourceHandle], [target, targetHandle])) await act("disconnect", { to: [old.target, old.targetHandle] });
}

function ignoreRefusal(error) {
  if (!(error instanceof Refusal)) throw error;
}

/** While a line is over a port: asks whether it may end there, and says at once why not. */
function Asking() {
  const { from, to } = useConnection(({ inProgress, fromHandle, toHandle }) => ({ from: inProgress ? fromHandle : null, to: toHandle }));
  const over = from && to && from.type !== to.type ? [from.nodeId, from.id, to.nodeId, to.id].join("\n") : null;
  useEffect(() => {
    if (!over) {
      if (get().linking) set({ notice: null });
      return;
    }
    const ends = [[from.nodeId, from.id], [to.nodeId, to.id]];
    const [source, target] = from.type === "source" ? ends : ends.reverse();
    if (get().fitting?.ports.has([to.nodeId, to.id].join("."))) return;
    request("can_connect", { from: source, to: target }).catch((error) => {
      ignoreRefusal(error);
      if (get().linking) say(error.message, error.hint);
    });
  }, [over]);
  return null;
}

/** Removes what is selected; a line that is selected is taken away. */
export async function removeSelected(flow) {
  const nodes = flow.getNodes().filter((node) => node.selected).map((node) => node.id);
  const edges = flow.getEdges().filter((edge) => edge.selected && !nodes.includes(edge.source) && !nodes.includes(edge.target));
  for (const edge of edges) await act("disconnect", { to: [edge.target, edge.targetHandle] });
  if (nodes.length) await act("remove", { nodes });
}

/** Puts the nodes into columns, each to the right of those that it uses, and as high as these are. */
export function tidy(flow) {
  const { nodes, edges } = get().document;
  const depth = new Map();
  const depthOf = (id) => {
    if (!depth.has(id)) {
      depth.set(id, 0);
      depth.set(id, Math.max(-1, ...edges.filter((edge) => edge.to[0] === id).map((edge) => depthOf(edge.from[0]))) + 1);
    }
    return depth.get(id);
  };
  const sources = (id) => edges.filter((edge) => edge.to[0] === id).map((edge) => positions[edge.from[0]][1]);
  const wanted = (node) => (depthOf(node.id) ? sources(node.id).reduce((sum, y) => sum + y, 0) / sources(node.id).length : node.at[1]);
  const positions = {};
  for (let column = 0, left = nodes; left.length; column++) {
    const here = left.filter((node) => depthOf(node.id) === column).map((node) => ({ node, y: wanted(node) }));
    left = left.filter((node) => depthOf(node.id) > column);
    let bottom = -Infinity;
    for (const { node, y } of here.sort((a, b) => a.y - b.y)) {
      positions[node.id] = [column * 270, Math.round(Math.max(bottom, column ? y : 0))];
      bottom = positions[node.id][1] + (flow.getNode(node.id)?.measured?.height ?? 200) + 45;
    }
  }
  return act("move", { positions }).then(() => setTimeout(() => flow.fitView({ padding: 0.12, maxZoom: 1 }), 50));
}
