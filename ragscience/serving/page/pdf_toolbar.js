// The parts that the view of a PDF is made of.

export function buildParts() {
  const toolbar = make("div", "pdf-toolbar", { role: "toolbar", "aria-label": "PDF" });
  const pageBox = make("input", "pdf-page-box", { type: "number", min: "1", value: "1", "aria-label": "page" });
  const pageCount = make("span", "pdf-page-count");
  const smaller = button("−", "smaller (-)");
  const scale = make("span", "pdf-scale", { "aria-label": "zoom" });
  const larger = button("+", "larger (+)");
  const fit = button("↔", "as wide as the window (0)");
  const previousMark = button("↑", "previous quote (p)");
  const markCount = make("span", "pdf-mark-count", { role: "status" });
  const nextMark = button("↓", "next quote (n)");
  const find = button("Find", "find in this paper (Ctrl+F)");
  toolbar.append(
    group(pageBox, pageCount),
    group(smaller, scale, larger, fit),
    group(previousMark, markCount, nextMark),
    find,
  );
  const status = make("p", "pdf-status", { role: "status" });
  status.hidden = true;
  const scroller = make("div", "pdf-scroller", { tabindex: "0", role: "region", "aria-label": "pages" });
  const parts = { toolbar, pageBox, pageCount, smaller, scale, larger, fit };
  const bars = { findBar: buildFindBar(), selection: buildSelectionBar() };
  return { ...parts, previousMark, markCount, nextMark, find, status, scroller, ...bars };
}

function buildFindBar() {
  const element = make("form", "pdf-find", { role: "search", "aria-label": "find in this paper" });
  const box = make("input", "pdf-find-box", { type: "search", "aria-label": "words to find", maxlength: "200" });
  const previous = button("↑", "previous match (Shift+Enter)");
  const next = button("↓", "next match (Enter)");
  const count = make("span", "pdf-find-count", { role: "status" });
  const close = button("×", "close (Escape)");
  element.append(box, previous, next, count, close);
  element.hidden = true;
  return { element, box, previous, next, count, close };
}

function buildSelectionBar() {
  const element = make("div", "pdf-selection", { role: "toolbar", "aria-label": "selected text" });
  element.hidden = true;
  return element;
}

/** A button whose hint is also its name for screen readers. */
export function button(text, hint) {
  const made = make("button", "pdf-button", { type: "button", title: hint, "aria-label": hint });
  made.textContent = text;
  return made;
}

function group(...parts) {
  const made = make("span", "pdf-group");
  made.append(...parts);
  return made;
}

function make(tag, className, attributes = {}) {
  const made = document.createElement(tag);
  made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
