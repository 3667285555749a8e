// the values behind one pixel
import { html, useEffect, useRef, useState } from "./html.js";
import { Refusal, request } from "./session.js";
import { useStore } from "./store.js";
import { short } from "./types.js";

const AROUND = 5; // pixels on each side, in the magnifier

/** The table of intermediates of the chosen pixel, asked for again with each result. */
export function Debugger({ node, port }) {
  const at = useStore((s) => s.pixel);
  const version = useStore((s) => s.version);
  const [found, setFound] = useState(null);
  useEffect(() => {
    if (!at) return setFound(null);
    let current = true;
    const show = (reply) => current && setFound(reply);
    request("pixel", { node, port, at }).then(show, (error) => {
      if (!(error instanceof Refusal)) throw error;
      show({ error: error.message, hint: error.hint, at, values: [] });
    });
    return () => (current = false);
  }, [node, port, at?.[0], at?.[1], version]);
  if (!at) return html`<p class="quiet">Click a pixel of the picture to see every value behind it.</p>`;
  if (!found) return html`<p class="quiet">Looking at pixel ${at[1]}, ${at[0]}…</p>`;
  const [y, x] = found.at ?? at;
  if (found.error) return html`<section class="problem"><pre>${found.error}</pre><p>${found.hint}</p></section>`;
  return html`<section class="values" aria-label="Values of the pixel">
    <h3>Pixel x ${x}, y ${y}</h3>
    <table>
      <tbody>${found.values.map((value, i) => html`<${Row} key=${i} ...${value} />`)}</tbody>
    </table>
  </section>`;
}

function Row({ name, type, value, slang, python, bad }) {
  return html`
    <tr class=${bad ? "bad" : ""}>
      <th class="name" scope="row">${name} <span class="type">${type}</span></th>
      <td class=${short(value).length < 24 ? "number one" : "number"}><${Value} value=${value} /></td>
    </tr>
    ${(slang || python) && html`<tr class=${bad ? "bad where" : "where"}><td colSpan="2">
      ${slang && html`<code title="Slang">${slang}</code>`}
      ${python && html`<code title="Python" class="python">${python}</code>`}
    </td></tr>`}`;
}

/** Numbers as the server writes them; what is not finite is marked. */
function Value({ value }) {
  const parts = short(value).replace(/\s+,/g, ",").split(/([-+]?\b(?:nan|inf)\b)/i);
  return parts.map((part, i) => (i % 2 ? html`<b key=${i} class="bad">${part}</b>` : part));
}

/** The pixels around the chosen one, large. */
export function Magnifier({ source, at: [y, x] }) {
  const ref = useRef(null);
  const side = 2 * AROUND + 1;
  useEffect(() => {
    const image = new Image();
    image.onload = () => {
      const pen = ref.current?.getContext("2d");
      if (!pen) return;
      pen.imageSmoothingEnabled = false;
      pen.clearRect(0, 0, side, side);
      pen.drawImage(image, AROUND - x, AROUND - y);
    };
    image.src = source;
  }, [source, y, x]);
  return html`<canvas class="magnifier" ref=${ref} width=${side} height=${side} role="img" aria-label="The pixels around, enlarged" />`;
}
