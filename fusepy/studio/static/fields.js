// the values that one sets on a node: sliders, numbers, colours, choices
import { html, useEffect, useRef, useState } from "./html.js";
import { assign } from "./session.js";
import { element, isWhole, short } from "./types.js";

const SCALARS = new Set(["float", "half", "double", "int", "uint", "int64_t", "uint64_t", "int16_t", "uint16_t", "int8_t", "uint8_t"]);
const VECTOR = /^(?:float|half|double|int|uint)([234])$/;
const isInteger = (type) => /^u?int/.test(type);

/** The value that a port starts with when one sets it here; undefined for what only a connection can give. */
export function startValue({ type, range, choices }) {
  if (choices) return choices[0];
  if (isWhole(type)) return undefined;
  if (SCALARS.has(type)) return range ? (isInteger(type) ? Math.round((range[0] + range[1]) / 2) : (range[0] + range[1]) / 2) : isInteger(type) ? 1 : 0.5;
  const vector = VECTOR.exec(type);
  if (vector) return Array(Number(vector[1])).fill(isInteger(type) ? 1 : 0.5);
  if (type === "bool") return true;
  return type === "string" ? "" : undefined;
}

/** The field of one port. */
export function Field({ node, port, value }) {
  const label = `${port.name} of ${node.name}`;
  const [draft, change, done] = useDraft(value, (now, live) => assign(node.id, port.name, now, live));
  const type = element(port.type);
  if (port.choices) return html`<${Choice} ...${{ label, port, draft, done }} />`;
  if (type === "bool") {
    return html`<input type="checkbox" class="nodrag" aria-label=${label} checked=${draft} onChange=${(e) => done(e.target.checked)} />`;
  }
  if (SCALARS.has(type) && typeof draft === "number") return html`<${Scalar} ...${{ label, port, draft, change, done }} />`;
  if (Array.isArray(draft)) return html`<${Vector} ...${{ label, type, draft, change, done }} />`;
  return html`<input type="text" class="nodrag" aria-label=${label} defaultValue=${String(draft)} onBlur=${(e) => e.target.value !== String(draft) && done(e.target.value)} />`;
}

/** What the field shows: the document's value, but while one sets it the value that one has set last. */
function useDraft(value, send) {
  const [draft, setDraft] = useState(null);
  const count = useRef(0);
  const give = async (now, live) => {
    const mine = ++count.current;
    setDraft({ value: now });
    await send(now, live);
    if (!live && mine === count.current) setDraft(null);
  };
  return [draft ? draft.value : value, (now) => give(now, true), (now) => give(now, false)];
}

function Choice({ label, port, draft, done }) {
  return html`<select class="nodrag" aria-label=${label} value=${draft} onChange=${(e) => done(e.target.value)}>
    ${port.choices.map((choice) => html`<option key=${choice} value=${choice}>${choice}</option>`)}
  </select>`;
}

function Scalar({ label, port, draft, change, done }) {
  const integer = isInteger(element(port.type));
  const [low, high] = useRange(port.range, draft, integer);
  const step = integer ? 1 : 10 ** Math.floor(Math.log10((high - low) / 80)); // 0.01 for 0 to 1
  return html`<div class="scalar nodrag">
    <${Slider} ...${{ label, low, high, step, draft, change, done }} />
    <${Number_} ...${{ label: `${label}, as a number`, draft, done, integer, step: integer ? 1 : step * 10 }} />
  </div>`;
}

/** The ends of a slider: those of the port, wider where the value is beyond them. */
function useRange(range, value, integer) {
  const [ends] = useState(() => range ?? (value < 0 ? [2 * value, -2 * value] : [0, value <= 1 && !integer ? 1 : 4 * value || 10]));
  return [Math.min(ends[0], value), Math.max(ends[1], value)];
}

/** A slider: it shows any number, and gives round ones. React takes the input event for a change, so the end of a slide is listened to by hand. */
function Slider({ label, low, high, step, draft, change, done }) {
  const ref = useRef(null);
  const latest = useRef(done);
  const round = (text) => Number((Math.round(Number(text) / step) * step).toPrecision(8));
  latest.current = (text) => done(round(text));
  useEffect(() => {
    const slider = ref.current;
    const end = () => latest.current(slider.value);
    slider.addEventListener("change", end);
    return () => slider.removeEventListener("change", end);
  }, []);
  const filled = { "--filled": `${(100 * (draft - low)) / (high - low || 1)}%` };
  return html`<input type="range" ref=${ref} aria-label=${label} min=${low} max=${high} step=${step === 1 ? 1 : "any"} value=${draft} style=${filled}
    onInput=${(e) => change(round(e.target.value))} onChange=${() => {}} />`;
}

/** A field for a number, sent with Enter, by the arrow keys, or when one leaves it. */
function Number_({ label, draft, done, integer, step }) {
  const [text, setText] = useState(null);
  const ref = useRef(null);
  const send = (now) => {
    setText(null);
    const number = integer ? Math.round(Number(now)) : Number(now);
    if (now !== "" && Number.isFinite(number) && number !== draft) done(number);
  };
  const keys = (e) => {
    if (e.key === "Enter" || e.key === "Escape") {
      if (e.key === "Escape") setText(null);
      else send(e.target.value);
      setTimeout(() => ref.current?.blur()); // the keys of the page work again
    }
    else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      e.preventDefault();
      send(String(Number((draft + (e.key === "ArrowUp" ? step : -step)).toPrecision(8))));
    } else return;
    e.stopPropagation();
  };
  return html`<input type="text" ref=${ref} inputmode="decimal" class="number nodrag" aria-label=${label} value=${text ?? short(draft)}
    onInput=${(e) => setText(e.target.value)} onChange=${() => {}} onFocus=${(e) => e.target.select()} onBlur=${(e) => text !== null && send(e.target.value)} onKeyDown=${keys} />`;
}

function Vector({ label, type, draft, change, done }) {
  const integer = isInteger(type);
  const colour = draft.length >= 3 && !integer && draft.slice(0, 3).every((v) => v >= 0 && v <= 1);
  const put = (index, value) => done(draft.map((old, i) => (i === index ? value : old)));
  return html`<div class="vector nodrag">
    ${colour && html`<${Swatch} ...${{ label: `${label}, as a colour`, draft, change, done }} />`}
    ${draft.map((value, i) => html`<${Number_} key=${i} label=${`${label}, ${"xyzw"[i]}`} draft=${value} done=${(v) => put(i, v)} integer=${integer} step=${integer ? 1 : 0.05} />`)}
  </div>`;
}

function Swatch({ label, draft, change, done }) {
  const ref = useRef(null);
  const latest = useRef(null);
  latest.current = () => done(withColour(ref.current.value, draft));
  useEffect(() => {
    const swatch = ref.current;
    const end = () => latest.current();
    swatch.addEventListener("change", end);
    return () => swatch.removeEventListener("change", end);
  }, []);
  const hex = `#${draft.slice(0, 3).map((v) => Math.round(v * 255).toString(16).padStart(2, "0")).join("")}`;
  return html`<input type="color" ref=${ref} aria-label=${label} value=${hex} onInput=${(e) => change(withColour(e.target.value, draft))} onChange=${() => {}} />`;
}

function withColour(hex, old) {
  const rgb = [1, 3, 5].map((at) => Number((parseInt(hex.slice(at, at + 2), 16) / 255).toFixed(4)));
  return [...rgb, ...old.slice(3)];
}
