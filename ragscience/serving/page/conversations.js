// The list of conversations on the left.

import { byId, counted, make } from "./elements.js";
import { getJson } from "./server.js";

export class Conversations {
  /** `onOpen(number)` when one is chosen. */
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.current = null;
  }

  async load() {
    const { conversations } = await getJson("/conversations?limit=200");
    const rows = conversations.map((each) => make("li", {},
      make("button", {
        type: "button", class: "plain title", "aria-current": each.conversation === this.current ? "true" : null,
        dataset: { number: each.conversation }, onclick: () => this.onOpen(each.conversation),
      }, make("span", { class: "name" }, each.name || each.title),
      make("span", { class: "dim small by" }, `${counted(each.turns, "question")} · ${dayOf(each.changed_at)}`))));
    byId("conversations").replaceChildren(...rows);
    if (!rows.length) byId("conversations").append(make("li", { class: "dim small" }, "Each question you ask is kept here."));
  }

  setCurrent(number) {
    this.current = number;
    for (const each of byId("conversations").querySelectorAll("button")) {
      if (Number(each.dataset.number) === number) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
  }
}

function dayOf(text) {
  const day = new Date(text);
  const isToday = day.toDateString() === new Date().toDateString();
  return isToday ? day.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : day.toLocaleDateString();
}
