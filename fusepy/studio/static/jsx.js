// React 18 has scripts of everything but its jsx-runtime, which the library of the canvas asks for
"use strict";
(() => {
  const jsx = (type, props, key) => React.createElement(type, key === undefined ? props : { ...props, key });
  globalThis.jsxRuntime = { jsx, jsxs: jsx, Fragment: React.Fragment };
})();
