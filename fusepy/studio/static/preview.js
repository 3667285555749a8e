// the right side: a large picture of one output, the values behind one of its pixels, and what is wrong at the selected node
import { Debugger, Magnifier } from "./debugger.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { token } from "./session.js";
import { get, nodeOf, set, shownPort, useStore } from "./store.js";

const { useStore: useFlow } = ReactFlow;

export function Preview() {
  const key = useStore((s) => shownPort(s)?.join("\n") ?? "");
  const [node, port] = key.split("\n");
  const result = useStore((s) => s.results.edges[`${node}.${port}`]);
  const known = useStore((s) => s.document.nodes.find((n) => n.id === node));
  const source = usePicture(key && result?.size ? key : null);
  if (!known) return html`<aside class="preview" aria-label="Preview"><p class="quiet empty">The picture of the graph appears here.</p><${Errors} /></aside>`;
  return html`<aside class="preview" aria-label="Preview">
    <${Grip} />
    <h2>${known.name}${known.outputs.length > 1 ? ` · ${port}` : ""} <span class="type">${result?.text}</span></h2>
    ${source && result?.size ? html`<${Picture} ...${{ source, size: result.size }} />` : html`<p class=${result ? "value" : "quiet"}>${result?.text ?? "There is no result yet."}</p>`}
    ${result?.bad > 0 && html`<p class="bad-note">${result.bad.toLocaleString("en")} ${result.bad === 1 ? "element is" : "elements are"} NaN or infinite.</p>`}
    <${Errors} />
    ${result?.size && html`<${Debugger} ...${{ node, port }} />`}
  </aside>`;
}

/** The address of the newest full picture that has arrived; the next is asked for when the last is there. */
function usePicture(key) {
  const version = useStore((s) => s.version);
  const [source, setSource] = useState(null);
  const state = useRef({ busy: false, wanted: null });
  useEffect(() => {
    if (!key) return setSource(null);
    const [node, port] = key.split("\n").map(encodeURIComponent);
    const load = (address) => {
      state.current = { busy: true, wanted: null };
      const image = new Image();
      const next = (found) => () => {
        if (found) setSource(address);
        const { wanted } = state.current;
        state.current.busy = false;
        if (wanted) load(wanted);
      };
      image.onload = next(true);
      image.onerror = next(false);
      image.src = address;
    };
    const address = `full/${node}/${port}.png?token=${encodeURIComponent(token)}&v=${version}`;
    if (state.current.busy) state.current.wanted = address;
    else load(address);
  }, [key, version]);
  return source;
}

const clamp = (value, high) => Math.max(0, Math.min(high - 1, value));

function Picture({ source, size: [height, width] }) {
  const pixel = useStore((s) => s.pixel);
  const ref = useRef(null);
  const look = (y, x) => set({ pixel: [clamp(y, height), clamp(x, width)] });
  const click = (e) => {
    const box = ref.current.getBoundingClientRect();
    look(Math.floor(((e.clientY - box.top) / box.height) * height), Math.floor(((e.clientX - box.left) / box.width) * width));
  };
  const keys = (e) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
    if (e.key === "Escape") set({ pixel: null });
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const [y, x] = get().pixel ?? [Math.floor(height / 2), Math.floor(width / 2)];
    const far = e.shiftKey ? 10 : 1;
    look(y + far * step[0], x + far * step[1]);
  };
  const at = pixel && pixel[0] < height && pixel[1] < width ? pixel : null;
  const cross = at && { left: `${(100 * (at[1] + 0.5)) / width}%`, top: `${(100 * (at[0] + 0.5)) / height}%` };
  return html`<div class="picture" style=${{ "--ratio": width / height }}>
    <div class="frame" tabIndex=${0} role="application" aria-label="Picture: click a pixel, or move with the arrow keys, to see the values behind it" onPointerDown=${click} onPointerMove=${(e) => e.buttons & 1 && click(e)} onKeyDown=${keys}>
      <img ref=${ref} src=${source} alt="The result" draggable=${false} class=${width < 96 ? "large pixels" : ""} />
      ${cross && html`<i class="cross" style=${cross} />`}
    </div>
    ${at && html`<${Magnifier} ...${{ source, at }} />`}
  </div>`;
}

/** All that is wrong at the selected nodes, or at any node if nothing is selected; what is wrong at several nodes is said once. */
function Errors() {
  const errors = useStore((s) => s.results.errors);
  const picked = useFlow((s) => s.nodes.filter((node) => node.selected).map((node) => node.id).join("\n"));
  const said = new Map();
  for (const [id, error] of Object.entries(errors)) {
    if (!nodeOf(id) || (picked && !picked.split("\n").includes(id))) continue;
    const key = error.error + error.hint;
    said.set(key, { ...error, names: [...(said.get(key)?.names ?? []), nodeOf(id).name] });
  }
  return [...said].map(([key, { error, hint, line, names }]) => html`<section key=${key} class="problem" aria-label=${`Error at ${names.join(", ")}`}>
    <h3>${names.join(", ")}</h3>
    <pre>${error}</pre>
    ${hint && html`<p>${hint}</p>`}
    ${line && html`<p class="quiet">${line}</p>`}
  </section>`);
}

/** The left edge of the preview, by which it is made wider. */
function Grip() {
  const root = document.documentElement;
  const width = () => document.querySelector(".preview").getBoundingClientRect().width;
  const put = (pixels) => root.style.setProperty("--preview", `${Math.max(240, Math.min(innerWidth * 0.6, pixels))}px`);
  const keys = (e) => {
    const step = { ArrowLeft: 30, ArrowRight: -30 }[e.key];
    if (step) put(width() + step);
  };
  const down = (e) => e.currentTarget.setPointerCapture(e.pointerId);
  const move = (e) => e.buttons & 1 && put(innerWidth - e.clientX);
  return html`<div class="grip" role="separator" aria-orientation="vertical" aria-label="Width of the preview" tabIndex=${0} onPointerDown=${down} onPointerMove=${move} onKeyDown=${keys} />`;
}
