// what the page knows: one object, and the components that listen to parts of it
let state = {
  state: "connecting", // connecting, open, closed
  palette: [],
  document: { nodes: [], edges: [] },
  canUndo: false,
  canRedo: false,
  path: null,
  opened: null, // the name of the file that was opened last; the browser does not say where it lies
  saved: true,
  loaded: false, // the first document has come
  results: { edges: {}, kernels: [], errors: {}, ms: null },
  version: 0, // of the results
  busy: false,
  status: "", // what the server is about
  shown: null, // [node, port] of the large picture
  select: null, // ids of nodes to be selected when they come
  pixel: null, // [y, x] looked at
  fitting: null, // "node.port" of all ports that the line being drawn may end at
  pending: null, // the port at which a connection by keyboard has begun
  notice: null,
  dialog: null,
  adding: null, // the menu of functions on the canvas
};
const listeners = new Set();

export const get = () => state;

export function set(change) {
  state = { ...state, ...change };
  listeners.forEach((listener) => listener());
}

function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A part of the state; the component is drawn again when it changes. */
export const useStore = (select) => React.useSyncExternalStore(subscribe, () => select(state));

export const nodeOf = (id) => state.document.nodes.find((node) => node.id === id);

/** The output that the large picture shows: the chosen one, else that of the last node whose results nothing uses. */
export function shownPort({ shown, document, results }) {
  if (shown && document.nodes.some((node) => node.id === shown[0])) return shown;
  const used = new Set(document.edges.map((edge) => edge.from[0]));
  const computed = document.nodes.filter((node) => node.outputs.some((port) => results.edges[`${node.id}.${port.name}`]));
  const node = computed.findLast((other) => !used.has(other.id)) ?? computed.at(-1);
  return node ? [node.id, node.outputs.find((port) => results.edges[`${node.id}.${port.name}`]).name] : null;
}
