// the page of `fusepy studio`
import { Canvas, removeSelected, tidy } from "./canvas.js";
import { Dialogs, download, Notice } from "./dialogs.js";
import { html, useEffect, useRef } from "./html.js";
import { stopLinking } from "./node.js";
import { freePlace, Menu, Palette } from "./palette.js";
import { Preview } from "./preview.js";
import { act, add, connect, say } from "./session.js";
import { get, set, shownPort, useStore } from "./store.js";
import { bytes } from "./types.js";

const { ReactFlowProvider, useReactFlow, useStore: useFlow } = ReactFlow;

const LONGEST = 1 << 20; // bytes of a file, as the server has it

function Studio() {
  const state = useStore((s) => s.state);
  const flow = useReactFlow();
  const file = useRef(null);
  useEffect(() => {
    const keys = (e) => shortcut(e, flow, file.current);
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  return html`
    <${Toolbar} ...${{ flow, file }} />
    ${state === "closed" && html`<p class="lost" role="alert">The studio does not answer. If it has ended, start it again, and open the address that it prints; what was not saved is lost.</p>`}
    <main><${Palette} /><div class="middle"><${Canvas} /><${Empty} flow=${flow} /></div><${Preview} /></main>
    <${Menu} /><${Dialogs} /><${Notice} />`;
}

function Toolbar({ flow, file }) {
  const canUndo = useStore((s) => s.canUndo);
  const canRedo = useStore((s) => s.canRedo);
  const path = useStore((s) => s.path);
  const saved = useStore((s) => s.saved);
  const empty = useStore((s) => s.document.nodes.length === 0);
  const selected = useFlow((s) => s.nodes.some((n) => n.selected) || s.edges.some((e) => e.selected));
  useEffect(() => {
    document.title = `${saved ? "" : "• "}${path ?? "fusepy studio"}`;
  }, [path, saved]);
  const open = async (e) => {
    const [chosen] = e.target.files;
    e.target.value = "";
    if (chosen?.size > LONGEST) say(`${chosen.name} is too long for a document.`, `It has ${bytes(chosen.size)}, a document at most ${bytes(LONGEST)}.`);
    else if (chosen) await load(chosen, flow);
  };
  return html`<header class="toolbar" role="toolbar" aria-label="The graph">
    <h1>fusepy studio</h1>
    <span class="file">${path ?? "not saved yet"}${path && !saved ? " · changed" : ""}</span>
    <div class="buttons">
      <button id="undo" disabled=${!canUndo} onClick=${() => act("undo")} title="Ctrl+Z">Undo</button>
      <button id="redo" disabled=${!canRedo} onClick=${() => act("redo")} title="Ctrl+Shift+Z">Redo</button>
      <button id="delete" disabled=${!selected} onClick=${() => removeSelected(flow)} title="Delete">Delete</button>
      <button id="tidy" disabled=${empty} onClick=${() => tidy(flow)} title="Puts the nodes into columns">Tidy</button>
    </div>
    <div class="buttons">
      <button id="open" onClick=${() => file.current.click()} title="Ctrl+O">Open…</button>
      <button id="save" onClick=${save} title="Ctrl+S">Save</button>
      <button id="download" disabled=${empty} onClick=${() => downloadGraph()} title="The graph as a file of the browser">Download</button>
      <button id="export" disabled=${empty} onClick=${exportProgram} title="The graph as a Python program: Ctrl+E">Export…</button>
    </div>
    <button id="keys" onClick=${() => set({ dialog: { kind: "keys" } })}>Keys</button>
    <${Status} />
    <input type="file" id="file" ref=${file} accept=".json,application/json" hidden onChange=${open} />
  </header>`;
}

function Status() {
  const busy = useStore((s) => s.busy);
  const status = useStore((s) => s.status);
  const { ms, kernels, errors } = useStore((s) => s.results);
  const wrong = Object.keys(errors).length;
  const total = kernels.reduce((sum, kernel) => sum + (kernel.bytes ?? 0), 0);
  const said = [ms != null && `${ms.toFixed(ms < 10 ? 1 : 0)} ms`, kernels.length && `${kernels.length} ${kernels.length === 1 ? "kernel" : "kernels"}`, total > 0 && bytes(total)];
  return html`<p class="status" role="status">
    ${status && html`<span>${status}</span>`}
    ${wrong > 0 && html`<b class="bad">${wrong} ${wrong === 1 ? "error" : "errors"}</b>`}
    <span class=${busy ? "busy" : ""}>${said.filter(Boolean).join(" · ")}</span>
  </p>`;
}

async function save() {
  const { path, opened } = get();
  if (!path) return set({ dialog: { kind: "save", name: opened ?? "graph.json" } });
  if (await act("save", {})) say(`Saved as ${path}.`, "", "told", { x: innerWidth / 2 - 60, y: 40 });
}

async function downloadGraph() {
  const { document: graph, path, opened } = get();
  const reply = await act("text", {});
  if (reply) download(path?.split("/").at(-1) ?? opened ?? "graph.json", reply.text ?? JSON.stringify(graph));
}

async function exportProgram() {
  const [node, port] = shownPort(get()) ?? [];
  const reply = await act("export", { node, port });
  if (reply) set({ dialog: { kind: "export", text: reply.text, name: (get().path?.split("/").at(-1) ?? "graph").replace(/\.json$/, "") + ".py" } });
}

async function load(file, flow) {
  if (!(await act("load", { text: await file.text(), name: file.name }))) return;
  set({ opened: file.name });
  setTimeout(() => flow.fitView({ padding: 0.12, maxZoom: 1 }), 100);
}

/** What to do first. */
function Empty({ flow }) {
  const empty = useStore((s) => s.loaded && s.document.nodes.length === 0);
  const complete = (kind) => kind.inputs.every((port) => port.fixed && port.default !== undefined);
  const source = useStore((s) => s.palette.flatMap((group) => group.kinds).find(complete));
  if (!empty) return null;
  return html`<section class="start">
    <h2>An empty graph</h2>
    <ol>
      <li>Drag a source, such as a photograph, from the list on the left to this place.</li>
      <li>Drag a function beside it. Slang files with more functions are added below the list.</li>
      <li>Draw a line from the dot on the right of the one to a dot on the left of the other.</li>
    </ol>
    <p>The picture appears at once. Colours are types; what does not fit is refused, and the compiler says why.</p>
    ${source && html`<button class="main" onClick=${() => add(source.kind, freePlace(flow))}>Begin with “${source.name}”</button>`}
  </section>`;
}

function shortcut(e, flow, file) {
  const typing = e.target.closest?.("input:not([type=range], [type=checkbox], [type=color]), textarea, select, dialog");
  const key = e.key.toLowerCase();
  const run = (action) => {
    e.preventDefault();
    action();
  };
  if (e.ctrlKey || e.metaKey) {
    if (key === "s") run(save);
    else if (key === "o") run(() => file.click());
    else if (key === "e") run(exportProgram);
    else if (typing) return;
    else if (key === "z") run(() => act(e.shiftKey ? "redo" : "undo"));
    else if (key === "y") run(() => act("redo"));
    else if (key === "a") run(() => set({ select: get().document.nodes.map((node) => node.id) }));
  } else if (key === "escape") {
    stopLinking();
    set({ adding: null });
  } else if (typing) {
    return;
  } else if (key === "delete" || key === "backspace") run(() => removeSelected(flow));
  else if (key === "/") run(() => document.getElementById("search").focus());
  else if (key === "f") run(() => flow.fitView({ padding: 0.12, maxZoom: 1 }));
  else if (key === "?") run(() => set({ dialog: { kind: "keys" } }));
}

connect();
ReactDOM.createRoot(document.getElementById("studio")).render(html`<${ReactFlowProvider}><${Studio} /></>`);
