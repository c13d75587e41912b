// Keys for the whole page. Those of one letter are left alone while somebody writes.

import { byId } from "./elements.js";

/** `calls` by the key: `"/"`, `"?"`, `"]"`, `"["`, `f`, `n`, `m`, `o`, and `escape()`. */
export function listenToKeys(calls) {
  const same = { j: "]", k: "[" };
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      calls.escape(event);
      return;
    }
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
    const call = calls[same[event.key] ?? event.key];
    if (!call) return;
    event.preventDefault();
    call();
  });
}

/** The question's box: Enter asks, and it grows with its lines. */
export function listenToQuestion(onAsk) {
  const box = byId("question");
  const grow = () => {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * 0.35)}px`;
  };
  box.addEventListener("input", grow);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onAsk();
  });
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    onAsk();
  });
  return grow;
}
