// What can be done with text that is selected on a page: a small toolbar at the selection.

import { button } from "./elements.js";

const MOST_CHARACTERS = 2000;

export class SelectionBar {
  #scroller;
  #element;
  #events;
  #text = "";
  #page = 0;
  #later = 0;

  /** `events`: onAsk, onSimilar and onCite(text, page), announce(text). */
  constructor(scroller, element, events) {
    this.#scroller = scroller;
    this.#element = element;
    this.#events = events;
    element.append(
      this.#action("Ask about this", "onAsk"),
      this.#action("Find passages like this", "onSimilar"),
      this.#action("Cite", "onCite"),
    );
    document.addEventListener("selectionchange", this.#changed);
    scroller.addEventListener("scroll", () => this.#place(), { passive: true });
    scroller.addEventListener("keydown", (event) => this.#pressed(event));
    element.addEventListener("keydown", (event) => this.#pressedInBar(event));
  }

  #changed = () => {
    clearTimeout(this.#later);
    if (this.#element.isConnected) this.#later = setTimeout(() => this.#update(), 150);
    else document.removeEventListener("selectionchange", this.#changed);
  };

  hide() {
    this.#element.hidden = true;
    this.#text = "";
  }

  #action(label, name) {
    const act = () => {
      const [text, page] = [this.#text, this.#page];
      document.getSelection().removeAllRanges();
      this.hide();
      this.#scroller.focus({ preventScroll: true });
      this.#events[name](text, page);
    };
    return button(label, act, { class: "pdf-button", onpointerdown: (event) => event.preventDefault() }); // the selection stays
  }

  #update() {
    const selection = document.getSelection();
    const begin = selection.rangeCount ? selection.getRangeAt(0).startContainer : null;
    const page = (begin?.nodeType === Node.TEXT_NODE ? begin.parentElement : begin)?.closest?.(".pdf-page");
    const text = readable(selection.toString());
    if (!page || !text || !this.#scroller.contains(page)) {
      if (!this.#element.contains(document.activeElement)) this.hide();
      return;
    }
    const isNew = this.#element.hidden;
    this.#text = text.slice(0, MOST_CHARACTERS);
    this.#page = Number(page.dataset.page);
    this.#element.hidden = false;
    this.#place();
    if (isNew) this.#events.announce("Text is selected. Tab goes to what can be done with it.");
  }

  /** Under the selection; in a narrow window the style sheet puts the bar at the bottom. */
  #place() {
    if (this.#element.hidden) return;
    const selection = document.getSelection();
    if (!selection.rangeCount) return;
    const selected = selection.getRangeAt(0).getBoundingClientRect();
    const area = this.#element.offsetParent?.getBoundingClientRect();
    if (!area) return;
    const { offsetWidth, offsetHeight } = this.#element;
    const left = Math.max(4, Math.min(selected.left - area.left, area.width - offsetWidth - 4));
    const top = Math.max(4, Math.min(selected.bottom - area.top + 6, area.height - offsetHeight - 4));
    this.#element.style.setProperty("--bar-left", `${left}px`);
    this.#element.style.setProperty("--bar-top", `${top}px`);
  }

  #pressed(event) {
    if (event.key === "Tab" && !event.shiftKey && !this.#element.hidden) {
      event.preventDefault();
      this.#element.querySelector("button").focus();
    } else if (event.key === "Escape" && !this.#element.hidden) {
      document.getSelection().removeAllRanges();
      this.hide();
    } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#selectPage();
    }
  }

  /** All of the page in the middle of the window, for who has no pointer. */
  #selectPage() {
    const area = this.#scroller.getBoundingClientRect();
    const middle = area.top + area.height / 2;
    for (const layer of this.#scroller.querySelectorAll(".textLayer")) {
      const { top, bottom } = layer.getBoundingClientRect();
      if (top <= middle && bottom >= middle) document.getSelection().selectAllChildren(layer);
    }
  }

  #pressedInBar(event) {
    const buttons = [...this.#element.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      event.preventDefault();
      buttons[(at + by + buttons.length) % buttons.length].focus();
    } else if (event.key === "Escape") {
      document.getSelection().removeAllRanges();
      this.hide();
      this.#scroller.focus({ preventScroll: true });
    }
  }
}

/** Selected lines as running text: a word divided at the end of a line is joined. */
export function readable(text) {
  return text
    .replace(/(\p{L})[-\u00ad]\s*\n\s*(\p{Ll})/gu, "$1$2")
    .replace(/\s+/g, " ")
    .trim();
}
