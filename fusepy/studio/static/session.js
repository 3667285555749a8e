// the line to the server: requests and their replies, events, and what the page does with them
import { get, nodeOf, set } from "./store.js";

export const token = new URLSearchParams(location.search).get("token") ?? "";

/** What the server has refused, in its own words. */
export class Refusal extends Error {
  constructor(error, hint) {
    super(error);
    this.hint = hint;
  }
}

const waiting = new Map();
let socket = null;
let last = 0;
const early = []; // asked for before the line was open
const TRIES = 20;
let tries = TRIES; // attempts to open the line, until one succeeds: only a line that was open is opened again

export function connect() {
  socket = new WebSocket(`ws://${location.host}/ws?token=${encodeURIComponent(token)}`);
  socket.addEventListener("open", () => {
    tries = 0;
    set({ state: "open" });
    early.splice(0).forEach((text) => socket.send(text));
  });
  socket.addEventListener("message", ({ data }) => take(JSON.parse(data)));
  socket.addEventListener("close", () => {
    set({ state: "closed", busy: false });
    waiting.forEach(({ reject }) => reject(new Refusal("The studio does not answer.", "Start it again, and open the address that it prints.")));
    waiting.clear();
    if (tries++ < TRIES) setTimeout(connect, Math.min(200 * 2 ** tries, 5000)); // such as after the sleep of this machine
  });
}

/** Asks the server; the promise is broken with a `Refusal`. */
export function request(op, fields = {}) {
  const id = ++last;
  const text = JSON.stringify({ id, op, ...fields });
  const reply = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  if (socket.readyState === WebSocket.CONNECTING) early.push(text);
  else if (socket.readyState === WebSocket.OPEN) socket.send(text);
  else waiting.get(id).reject(new Refusal("The studio does not answer.", "Start it again, and open the address that it prints."));
  return reply;
}

function take(message) {
  if ("reply" in message) {
    const { resolve, reject } = waiting.get(message.reply) ?? {};
    waiting.delete(message.reply);
    if (message.ok) resolve?.(message);
    else reject?.(new Refusal(message.error, message.hint));
  } else if (message.event === "palette") {
    set({ palette: message.groups });
  } else if (message.event === "document") {
    const { document, can_undo: canUndo, can_redo: canRedo, path = null, saved = true } = message;
    set({ document, canUndo, canRedo, path, saved, loaded: true });
  } else if (message.event === "results") {
    const { edges, ms, errors } = message;
    const measured = message.kernels.length > 0;
    const kernels = measured ? message.kernels : get().results.kernels; // those of the last edit, until the new are measured
    set({ results: { edges, kernels, measured, ms, errors: errors ?? {} }, version: get().version + 1, busy: false, status: "" });
  } else if (message.event === "kernels") {
    set({ results: { ...get().results, kernels: message.kernels, measured: true } });
  } else if (message.event === "status") {
    set({ status: message.text });
  }
}

const pointer = { x: innerWidth / 2, y: 120 };
for (const kind of ["pointermove", "pointerdown"]) {
  addEventListener(kind, ({ clientX, clientY }) => Object.assign(pointer, { x: clientX, y: clientY }), true);
}
addEventListener("pointerdown", ({ target }) => {
  if (get().notice) set({ notice: null });
  const field = document.activeElement;
  if (field?.matches("input, select") && !field.contains(target)) field.blur(); // the canvas does not take the focus away
}, true);

/** Says something near the cursor, or near another place of the window. */
export const say = (text, hint = "", kind = "refused", at = { ...pointer }) => set({ notice: { text, hint, kind, at } });

const sending = new Map(); // the fields whose values are under way

const NOTHING_NEW = new Set(["save", "text", "export", "add_source"]); // after these come no new results

/** A change of the graph, after the values that are under way: true if the server has done it, else its words are shown and null returned. */
export async function act(op, fields, at) {
  set({ notice: null, busy: get().busy || !NOTHING_NEW.has(op) });
  if (op !== "set") await Promise.all([...sending.values()].map((field) => field.done));
  try {
    return await request(op, fields);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    set({ busy: false });
    say(error.message, error.hint, "refused", at);
    return null;
  }
}

/** Puts a node on the canvas, selects it, and returns its id. */
export async function add(kind, at) {
  const added = await act("add", { kind, at: at.map(Math.round) });
  if (added) set({ select: [added.node] });
  return added?.node ?? null;
}

export const link = (from, to, at) => act("connect", { from, to }, at);

/** Adds a node and connects it with the port that a line was drawn from. */
export async function addLinked(kind, at, { port, output }) {
  const node = await add(kind, at);
  if (node === null) return;
  const { ports } = await request("fitting", output ? { from: port } : { to: port });
  const end = ports.find(([id]) => id === node);
  if (end) await (output ? link(port, end) : link(end, port));
  else say(`No port of ${nodeOf(node)?.name ?? kind} fits here.`, "It stands on the canvas without a connection.");
}

/** Sets a number. `live`: a slider is still held. One request at a time for each field; of what comes meanwhile only the last is sent. */
export function assign(node, port, value, live) {
  const key = `${node}.${port}`;
  const field = sending.get(key) ?? {};
  field.next = { value, live };
  if (!field.done) {
    sending.set(key, field);
    field.done = send(node, port, field).finally(() => sending.delete(key));
  }
  return field.done;
}

async function send(node, port, field) {
  while (field.next) {
    const { value, live } = field.next;
    field.next = null;
    await act("set", { node, port, value, live });
  }
}
