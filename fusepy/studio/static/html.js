// elements as templates: html`<b class="x">${text}</b>`
import htm from "./vendor/htm.js";

export const html = htm.bind(React.createElement);
export const { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } = React;
