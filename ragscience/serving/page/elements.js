// Elements made of names, attributes and text; text is never read as HTML.

/** An element: `make("a", {href, class, onclick}, "text", child, …)`; null children are left out. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "dataset") Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** A button with a text; `title` is its label where the text is a sign. */
export function button(text, onclick, { title, ...more } = {}) {
  return make("button", { type: "button", onclick, title, "aria-label": title, ...more }, text);
}

/** "1 page", "2 pages". */
export function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** A place as it is cited: "p.3"; "¶3" in a file without pages. */
export function placeOf({ file, page }) {
  return `${hasPages(file) ? "p." : "¶"}${page}`;
}

/** Whether the places of a file are pages; else they are paragraphs. */
export function hasPages(file) {
  return !/\.(docx|epub|html?|md|txt|tex)$/i.test(file ?? "");
}

/** Text in which "10^20" is raised as on its page; what is copied still has the sign. */
export function raised(text) {
  return text.split(/(\^(?:\{[^{}]{1,12}\}|[−–+-]?\w{1,6}))/).map((part, at) => (
    at % 2 ? make("sup", {}, make("span", { class: "sign" }, "^"), part.slice(1).replace(/^\{|\}$/g, "")) : part));
}

/** Text with its commands in `…` as code. */
export function withCode(text) {
  return text.split(/`([^`\n]{1,300})`/).map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

/** Whether a text has all words of a search field. */
export function wordsIn(field) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

export const byId = (id) => document.getElementById(id);

/** Says a line to screen readers, once. */
export function announce(text) {
  byId("announced").textContent = "";
  requestAnimationFrame(() => { byId("announced").textContent = text; });
}
