"use strict";
const kernels = document.querySelectorAll("details.kernel");
const setAll = (open) => kernels.forEach((kernel) => { kernel.open = open; });
document.getElementById("open-all").addEventListener("click", () => setAll(true));
document.getElementById("close-all").addEventListener("click", () => setAll(false));

// a box of the overview leads to its kernel, which may be folded
const reveal = () => {
  const kernel = location.hash && document.getElementById(location.hash.slice(1));
  if (kernel && kernel.matches("details.kernel")) {
    kernel.open = true;
    kernel.scrollIntoView();
    kernel.querySelector("summary").focus({ preventScroll: true });
  }
};
addEventListener("hashchange", reveal);
document.querySelectorAll('svg a[href^="#kernel-"]').forEach((link) => {
  link.addEventListener("click", () => { if (link.getAttribute("href") === location.hash) reveal(); });
});
reveal();

document.querySelectorAll(".copy").forEach((button) => {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    const selection = getSelection();
    selection.selectAllChildren(code);
    let copied = false;
    try {
      await navigator.clipboard.writeText(code.textContent);
      copied = true;
    } catch {
      copied = document.execCommand("copy"); // where the page may not use the clipboard by itself
    }
    button.textContent = copied ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
});
