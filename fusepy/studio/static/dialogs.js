// what opens above the page: the exported program, the name of a file, the keys; and notices near the cursor
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { act } from "./session.js";
import { set, useStore } from "./store.js";

export function Dialogs() {
  const dialog = useStore((s) => s.dialog);
  if (!dialog) return null;
  const Content = { export: Export, save: Save, source: Source, keys: Keys }[dialog.kind];
  return html`<${Modal} key=${dialog.kind}><${Content} ...${dialog} /></>`;
}

const close = () => set({ dialog: null });

function Modal({ children }) {
  const ref = useRef(null);
  useEffect(() => ref.current.showModal(), []);
  const outside = (e) => e.target === ref.current && close();
  return html`<dialog ref=${ref} onClose=${close} onClick=${outside}><div class="content">${children}</div><${NoticeBox} /></dialog>`; // else it would lie below
}

/** Has the browser keep a text as a file. */
export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function Export({ text, name }) {
  const [copied, setCopied] = useState("Copy");
  const code = useRef(null);
  const copy = async () => {
    getSelection().selectAllChildren(code.current);
    const done = await navigator.clipboard.writeText(text).then(() => true, () => document.execCommand("copy"));
    setCopied(done ? "Copied" : "Selected");
  };
  return html`
    <h2>The graph as a Python program</h2>
    <p class="quiet">It makes the same picture without the studio.</p>
    <pre><code ref=${code}>${text}</code></pre>
    <div class="buttons"><button onClick=${copy}>${copied}</button><button class="main" onClick=${() => download(name, text)} autoFocus>Download ${name}</button><button onClick=${close}>Close</button></div>`;
}

const Save = ({ name }) => html`<${AskPath} op="save" title="Save the graph" button="Save" name=${name} />`;

const Source = () => html`<${AskPath} op="add_source" title="Add a Slang file" button="Add" name="" hint="look.slang" />`;

/** Asks for a file by name, and stays open while the server refuses it. */
function AskPath({ op, title, button, name, hint }) {
  const [path, setPath] = useState(name);
  const [refused, setRefused] = useState(null); // this path: to send it once more replaces what is there
  const send = async (e) => {
    e.preventDefault();
    const { left: x, bottom: y } = e.target.getBoundingClientRect();
    if (await act(op, { path, replace: path === refused }, { x, y })) close();
    else setRefused(path);
  };
  return html`<form onSubmit=${send}>
    <h2>${title}</h2>
    <label>Name of the file, below the folder in which the studio was started
      <input type="text" value=${path} placeholder=${hint} onInput=${(e) => setPath(e.target.value)} onChange=${() => {}} autoFocus /></label>
    <div class="buttons"><button class="main" type="submit" disabled=${!path}>${path === refused && op === "save" ? "Replace" : button}</button><button type="button" onClick=${close}>Cancel</button></div>
  </form>`;
}

const KEYS = [
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["Delete", "remove the selected nodes and lines"],
  ["Ctrl+S, Ctrl+O, Ctrl+E", "save, open, export"],
  ["/", "search functions; Enter adds the first"],
  ["double click", "add a function here"],
  ["Tab, arrow keys", "go from node to port; move the selected nodes"],
  ["Enter on a port", "begin a line, or end it"],
  ["Shift and drag", "select several nodes"],
  ["F", "show the whole graph"],
  ["arrow keys in the picture", "the next pixel; with Shift ten further"],
];

function Keys() {
  return html`<h2>Keys</h2>
    <table class="keys"><tbody>${KEYS.map(([key, what]) => html`<tr key=${key}><th>${key}</th><td>${what}</td></tr>`)}</tbody></table>
    <div class="buttons"><button class="main" onClick=${close} autoFocus>Close</button></div>`;
}

/** Words near the cursor, inside the window; they stay until the next change, Escape or some seconds are over. */
export const Notice = () => (useStore((s) => s.dialog) ? null : html`<${NoticeBox} />`);

function NoticeBox() {
  const notice = useStore((s) => s.notice);
  const ref = useRef(null);
  useLayoutEffect(() => {
    if (!notice) return undefined;
    const { width, height } = ref.current.getBoundingClientRect();
    const below = notice.at.y + 22 + height < innerHeight;
    ref.current.style.left = `${Math.max(8, Math.min(notice.at.x + 14, innerWidth - width - 8))}px`;
    ref.current.style.top = `${below ? notice.at.y + 22 : Math.max(8, notice.at.y - height - 14)}px`;
    const timer = setTimeout(() => set({ notice: null }), 5000 + 60 * notice.text.length);
    return () => clearTimeout(timer);
  }, [notice]);
  return html`<div role="alert" class="alert">${notice && html`<div ref=${ref} class=${`notice ${notice.kind}`}><pre>${notice.text}</pre>${notice.hint && html`<p>${notice.hint}</p>`}</div>`}</div>`;
}
