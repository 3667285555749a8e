// a node on the canvas: its name, ports, fields, thumbnails, and what is wrong with it
import { Field, startValue } from "./fields.js";
import { html } from "./html.js";
import { about } from "./palette.js";
import { assign, link, request, say } from "./session.js";
import { get, set, shownPort, useStore } from "./store.js";
import { hue, isWhole, many, parts } from "./types.js";

const { Handle } = ReactFlow;

export function GraphNode({ id, data: { node, connected, used } }) {
  const error = useStore((s) => s.results.errors[id]);
  const kind = useStore((s) => s.palette.flatMap((group) => group.kinds).find((k) => k.kind === node.kind));
  return html`<div class=${error ? "node wrong" : "node"}>
    <header title=${kind ? about(kind) : node.name}>${parts(node.name).map((part, i) => html`<${React.Fragment} key=${i}>${part}<wbr /></>`)}</header>
    ${node.inputs.map((port) => html`<${Input} key=${port.name} ...${{ node, port, connected: connected.has(port.name) }} />`)}
    ${node.outputs.map((port, i) => html`<${Output} key=${port.name} ...${{ node, port, seen: i === 0 || used.has(port.name) }} />`)}
    ${error && html`<p class="error" title=${error.error}>${error.error}</p>`}
  </div>`;
}

function Input({ node, port, connected }) {
  const value = node.values[port.name] ?? port.default;
  const start = connected || value !== undefined ? undefined : startValue(port);
  return html`<div class="port in">
    ${!port.fixed && html`<${Port} ...${{ node, port, type: "target" }} />`}
    <div class="line">
      <span class="name" title=${told(port)}>${port.name}</span>
      ${(connected || value === undefined) && html`<span class="type">${port.type}</span>`}
      ${start !== undefined && html`<button class="nodrag plain" title="Set a value here" aria-label=${`Set ${port.name} of ${node.name} here`} onClick=${() => assign(node.id, port.name, start, false)}>set</button>`}
    </div>
    ${!connected && value !== undefined && html`<${Field} ...${{ node, port, value }} />`}
  </div>`;
}

/** An output: its picture is seen if it is the first or used, else only while it is the large one. */
function Output({ node, port, seen }) {
  const key = `${node.id}.${port.name}`;
  const result = useStore((s) => s.results.edges[key]);
  const shown = useStore((s) => shownPort(s)?.join(".") === key);
  const show = () => set({ shown: [node.id, port.name] });
  const label = `Show ${port.name} of ${node.name}`;
  return html`<div class="port out">
    <${Port} ...${{ node, port, type: "source" }} />
    <div class="line">
      ${result?.png && !seen && !shown && html`<button class="nodrag plain" aria-label=${label} onClick=${show}>show</button>`}
      <span class="type">${result?.text ?? port.type}</span>
      <span class="name" title=${told(port)}>${port.name}</span>
    </div>
    ${result?.png && (seen || shown) && html`<button class=${shown ? "thumbnail shown" : "thumbnail"} aria-label=${label} aria-pressed=${shown} onClick=${show}>
      <img src=${result.png} alt="" draggable=${false} />
      ${result.bad > 0 && html`<span class="bad-count" title=${`${result.bad} elements are NaN or infinite`}>NaN, inf: ${many(result.bad)}</span>`}
    </button>`}
  </div>`;
}

const told = ({ name, type, doc }) => `${name}: ${type}${doc ? `\n${doc}` : ""}`;

/** The dot of a port: lines start and end there, by mouse, or by Enter on one dot and then on another. */
function Port({ node, port, type }) {
  const key = `${node.id}.${port.name}`;
  const state = useStore((s) => {
    if (s.pending?.key === `${type}.${key}`) return "begun";
    return s.fitting && s.fitting.side === type ? (s.fitting.ports.has(key) ? "fits" : "misfit") : "";
  });
  const keys = (e) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    e.stopPropagation();
    connectByKeys({ end: [node.id, port.name], type, key: `${type}.${key}` }, e.currentTarget);
  };
  const what = type === "target" ? "input" : "output";
  return html`<${Handle} type=${type} position=${type === "target" ? "left" : "right"} id=${port.name} className=${`${isWhole(port.type) ? "whole" : ""} ${state}`}
    style=${hue(port.type)} tabIndex=${0} role="button" aria-label=${`${what} ${port.name} of ${node.name}, ${port.type}`} title=${told(port)} onKeyDown=${keys} />`;
}

async function connectByKeys(here, dot) {
  const { pending } = get();
  const { right: x, bottom: y } = dot.getBoundingClientRect();
  if (pending?.key === here.key) return stopLinking();
  if (!pending || pending.type === here.type) {
    set({ pending: here });
    await showFitting(here.end, here.type === "source");
    return say("A line begins here: go to another port with Tab and press Enter there.", "Escape gives it up.", "told", { x, y });
  }
  stopLinking();
  const [from, to] = here.type === "target" ? [pending.end, here.end] : [here.end, pending.end];
  return link(from, to, { x, y });
}

/** Has the ports stand out at which a line may end. */
export async function showFitting(port, output) {
  const side = output ? "target" : "source";
  const asked = { side, ports: new Set() };
  const { ports } = await request("fitting", output ? { from: port } : { to: port });
  ports.forEach((end) => asked.ports.add(end.join(".")));
  if (get().linking || get().pending) set({ fitting: asked });
}

export function stopLinking() {
  set({ fitting: null, pending: null, linking: null, notice: null });
}
