// the list of functions and sources: searched, dragged to the canvas, or added with Enter; and the same as a menu on the canvas
import { html, useEffect, useRef, useState } from "./html.js";
import { add, addLinked } from "./session.js";
import { set, useStore } from "./store.js";
import { hue, isWhole, parts } from "./types.js";

const { useReactFlow } = ReactFlow;

const fits = (kind, group, words) => {
  const text = [kind.name, group, kind.doc ?? "", ...kind.inputs.map((p) => p.type), ...kind.outputs.map((p) => p.type)].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
};

/** The groups with the kinds that have all words of the search, those first whose name begins with it. */
function found(groups, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const first = (kind) => (kind.name.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return groups
    .map((group) => ({ ...group, kinds: group.kinds.filter((kind) => fits(kind, group.name, words)).sort((a, b) => (words.length ? first(a) - first(b) : 0)) }))
    .filter((group) => group.kinds.length);
}

export function Palette() {
  const groups = useStore((s) => s.palette);
  const [search, setSearch] = useState("");
  const [ghost, setGhost] = useState(null);
  const flow = useReactFlow();
  const list = found(groups, search);
  const addCentre = (kind) => add(kind.kind, freePlace(flow));
  const drag = useDrag(setGhost, (kind, x, y) => {
    const over = document.elementFromPoint(x, y);
    if (!over?.closest(".canvas")) return;
    const at = flow.screenToFlowPosition({ x, y });
    add(kind.kind, [at.x - 95, at.y - 16]);
  }, addCentre);
  return html`<aside class="palette" aria-label="Functions and sources">
    <${Search} ...${{ search, setSearch }} onEnter=${() => list[0] && (addCentre(list[0].kinds[0]), setSearch(""))} placeholder="Search  /" id="search" />
    <div class="groups" onKeyDown=${arrows}>
      ${list.map((group) => html`<details key=${group.name} open><summary>${group.name}</summary>
        ${group.kinds.map((kind) => html`<button key=${kind.kind} class="kind" data-kind=${kind.kind} title=${about(kind)} onPointerDown=${(e) => drag(e, kind)} onClick=${(e) => e.detail === 0 && addCentre(kind)}>
          <${Signature} kind=${kind} />
        </button>`)}
      </details>`)}
      ${!list.length && search && html`<p class="quiet">Nothing is called “${search}”.</p>`}
      <button class="more" onClick=${() => set({ dialog: { kind: "source" } })}>Add a Slang file…</button>
    </div>
    ${ghost && html`<div class="ghost" style=${{ left: ghost.x, top: ghost.y }}>${ghost.kind.name}</div>`}
  </aside>`;
}

function Search({ search, setSearch, onEnter, placeholder, id, onEscape }) {
  const keys = (e) => {
    if (e.key === "Enter") onEnter();
    else if (e.key === "Escape") (search || !onEscape ? setSearch("") : onEscape());
    else if (e.key === "ArrowDown") e.target.closest(".palette, .menu").querySelector(".kind")?.focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return html`<input type="search" id=${id} class="search" aria-label="Search functions and sources" placeholder=${placeholder} value=${search} autoFocus=${!!onEscape}
    onInput=${(e) => setSearch(e.target.value)} onChange=${() => {}} onKeyDown=${keys} autocomplete="off" spellcheck=${false} />`;
}

function Signature({ kind }) {
  const dots = (ports) => ports.map((port, i) => html`<i key=${i} class=${isWhole(port.type) ? "dot whole" : "dot"} style=${hue(port.type)} />`);
  return html`<span class="dots">${dots(kind.inputs.filter((port) => !port.fixed))}</span><span class="name">${parts(kind.name).map((part, i) => html`<${React.Fragment} key=${i}>${part}<wbr /></>`)}</span><span class="dots">${dots(kind.outputs)}</span>`;
}

export const about = ({ name, doc, inputs, outputs }) =>
  `${outputs.map((p) => p.type).join(", ")} ${name}(${inputs.map((p) => `${p.type} ${p.name}`).join(", ")})${doc ? `\n${doc}` : ""}`;

/** Up and down in a list of buttons. */
function arrows(e) {
  if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
  const all = [...e.currentTarget.querySelectorAll(".kind")];
  const next = all[all.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1)];
  e.preventDefault();
  e.stopPropagation();
  (next ?? e.currentTarget.parentElement.querySelector(".search")).focus();
}

/** Dragging an entry: `drop` where it is let go, or `click` if it has not moved. */
function useDrag(setGhost, drop, click) {
  const latest = useRef(null);
  latest.current = { drop, click };
  return (event, kind) => {
    if (event.button !== 0) return;
    const from = [event.clientX, event.clientY];
    const stop = new AbortController();
    let moved = false;
    const move = ({ clientX: x, clientY: y }) => {
      moved ||= Math.hypot(x - from[0], y - from[1]) > 5;
      if (moved) setGhost({ kind, x, y });
    };
    const end = ({ clientX: x, clientY: y, type }) => {
      stop.abort();
      setGhost(null);
      if (type !== "pointerup") return;
      if (moved) latest.current.drop(kind, x, y);
      else latest.current.click(kind);
    };
    const { signal } = stop;
    addEventListener("pointermove", move, { signal });
    addEventListener("pointerup", end, { signal });
    addEventListener("pointercancel", end, { signal });
    addEventListener("keydown", (e) => e.key === "Escape" && end({ type: "escape" }), { signal });
    event.preventDefault();
  };
}

/** A place in the middle of what is seen, beside the nodes that are there. */
export function freePlace(flow) {
  const { left, top, width, height } = document.querySelector(".canvas").getBoundingClientRect();
  const at = flow.screenToFlowPosition({ x: left + width / 2, y: top + height / 2 });
  const [x, y] = [at.x - 95, at.y - 90];
  const nodes = flow.getNodes();
  const taken = (px, py) => nodes.some((n) => Math.abs(n.position.x - px) < 225 && n.position.y < py + 200 && py < n.position.y + (n.measured?.height ?? 200) + 20);
  for (let ring = 0; ring < 12; ring++) {
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, 1]]) {
      const [px, py] = [x + dx * ring * 240, y + dy * ring * 230];
      if (!taken(px, py)) return [px, py];
    }
  }
  return [x, y];
}

/** The same list where one has clicked twice, or where a line was let go: what is chosen is put there. */
export function Menu() {
  const adding = useStore((s) => s.adding);
  return adding && html`<${OpenMenu} ...${adding} />`;
}

function OpenMenu({ at: [x, y], linked }) {
  const groups = useStore((s) => s.palette);
  const [search, setSearch] = useState("");
  const flow = useReactFlow();
  const ref = useRef(null);
  const close = () => set({ adding: null });
  useEffect(() => {
    const outside = (e) => ref.current && !ref.current.contains(e.target) && close();
    addEventListener("pointerdown", outside, true);
    return () => removeEventListener("pointerdown", outside, true);
  }, []);
  const choose = (kind) => {
    close();
    const at = flow.screenToFlowPosition({ x, y });
    if (linked) addLinked(kind.kind, linked.output ? [at.x, at.y - 40] : [at.x - 190, at.y - 40], linked);
    else add(kind.kind, [at.x - 95, at.y - 16]);
  };
  const wanted = groups.map((group) => ({ ...group, kinds: group.kinds.filter((kind) => !linked || (linked.output ? kind.inputs.some((port) => !port.fixed) : kind.outputs.length)) }));
  const list = found(wanted, search);
  const style = { left: Math.min(x, innerWidth - 270), top: Math.min(y, innerHeight - 340) };
  return html`<div class="menu" ref=${ref} style=${style} role="dialog" aria-label="Add a function" onKeyDown=${(e) => e.key === "Escape" && close()}>
    <${Search} ...${{ search, setSearch }} onEnter=${() => list[0] && choose(list[0].kinds[0])} onEscape=${close} placeholder=${linked ? "Connect with…" : "Add…"} />
    <div class="groups" onKeyDown=${arrows}>
      ${list.map((group) => html`<${React.Fragment} key=${group.name}><h3>${group.name}</h3>
        ${group.kinds.map((kind) => html`<button key=${kind.kind} class="kind" title=${about(kind)} onClick=${() => choose(kind)}><${Signature} kind=${kind} /></button>`)}</>`)}
    </div>
  </div>`;
}
