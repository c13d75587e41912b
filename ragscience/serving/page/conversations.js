// The list of conversations on the left.

import { confirmed } from "./dialogs.js";
import { announce, button, byId, counted, make, wordsIn } from "./elements.js";
import { getJson, sendJson } from "./server.js";

const MANY = 6; // from here on they are searched

export class Conversations {
  /** `onOpen(number)` when one is chosen, `onDeleted(number)` when one is gone, `onProblem(error)` where it is not. */
  constructor({ onOpen, onDeleted, onProblem }) {
    this.calls = { onOpen, onDeleted, onProblem };
    this.current = null;
    byId("find-conversation").addEventListener("input", () => this.find());
  }

  async load() {
    const { conversations } = await getJson("/conversations?limit=200");
    const rows = conversations.map((each) => make("li", { class: "conversation" },
      make("button", {
        type: "button", class: "plain title", "aria-current": each.conversation === this.current ? "true" : null,
        dataset: { number: each.conversation }, onclick: () => this.calls.onOpen(each.conversation),
      }, make("span", { class: "name" }, each.name || each.title),
      make("span", { class: "dim small by" }, `${counted(each.turns, "question")} · ${dayOf(each.changed_at)}`)),
      button("✕", () => this.remove(each), { class: "plain delete", title: `Delete the conversation ${each.name || each.title}` })));
    byId("conversations").replaceChildren(...rows);
    byId("find-conversation").hidden = rows.length < MANY;
    this.find();
    if (!rows.length) byId("conversations").append(make("li", { class: "dim small" }, "Each question you ask is kept here."));
  }

  /** Shows the conversations that have the words. */
  find() {
    const isFound = wordsIn(byId("find-conversation"));
    for (const row of byId("conversations").children) row.hidden = !isFound(row.textContent);
  }

  async remove(conversation) {
    const questions = conversation.turns === 1 ? "Its question and its answer are" : `Its ${conversation.turns} questions and their answers are`;
    const isSure = await confirmed("Delete this conversation?", [
      conversation.name || conversation.title, `${questions} deleted; nothing brings them back. The papers stay.`,
    ], "Delete");
    if (!isSure) return;
    try {
      await sendJson("DELETE", `/conversations/${conversation.conversation}`);
      announce("The conversation is deleted.");
      this.calls.onDeleted(conversation.conversation);
      await this.load();
      byId("new-conversation").focus();
    } catch (error) {
      this.calls.onProblem(error);
    }
  }

  setCurrent(number) {
    this.current = number;
    for (const each of byId("conversations").querySelectorAll("button.title")) {
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
