// The parts that the view of a PDF is made of.

import { button as plainButton, make } from "./elements.js";

export function buildParts() {
  const toolbar = make("div", { class: "pdf-toolbar", role: "toolbar", "aria-label": "PDF" });
  const pageBox = make("input", { class: "pdf-page-box", type: "number", min: "1", value: "1", "aria-label": "page" });
  const pageCount = make("span", { class: "pdf-page-count" });
  const smaller = button("−", "smaller (-)");
  const scale = make("span", { class: "pdf-scale", "aria-label": "zoom" });
  const larger = button("+", "larger (+)");
  const fit = button("↔", "as wide as the window (0)");
  const previousMark = button("↑", "previous quote (p)");
  const markCount = make("span", { class: "pdf-mark-count", role: "status" });
  const nextMark = button("↓", "next quote (n)");
  const find = button("Find", "find in this paper (Ctrl+F)");
  toolbar.append(
    group(pageBox, pageCount),
    group(smaller, scale, larger, fit),
    group(previousMark, markCount, nextMark),
    find,
  );
  const status = make("p", { class: "pdf-status", role: "status", hidden: true });
  const scroller = make("div", { class: "pdf-scroller", tabindex: "0", role: "region", "aria-label": "pages" });
  const parts = { toolbar, pageBox, pageCount, smaller, scale, larger, fit };
  const bars = { findBar: buildFindBar(), selection: make("div", { class: "pdf-selection", role: "toolbar", "aria-label": "selected text", hidden: true }) };
  return { ...parts, previousMark, markCount, nextMark, find, status, scroller, ...bars };
}

function buildFindBar() {
  const element = make("form", { class: "pdf-find", role: "search", "aria-label": "find in this paper", hidden: true });
  const box = make("input", { class: "pdf-find-box", type: "search", "aria-label": "words to find", maxlength: "200" });
  const previous = button("↑", "previous match (Shift+Enter)");
  const next = button("↓", "next match (Enter)");
  const count = make("span", { class: "pdf-find-count", role: "status" });
  const close = button("×", "close (Escape)");
  element.append(box, previous, next, count, close);
  return { element, box, previous, next, count, close };
}

/** A button whose hint is also its name for screen readers. */
function button(text, hint) {
  return plainButton(text, null, { title: hint, class: "pdf-button" });
}

function group(...parts) {
  return make("span", { class: "pdf-group" }, parts);
}
