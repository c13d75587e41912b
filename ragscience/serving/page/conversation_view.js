// The middle region: the turns of a conversation, and the one that is being answered.

import { drawAnswer, drawHits, summaryOf } from "./answer_view.js";
import { CitedQuotes } from "./cited_quotes.js";
import { announce, button, byId, make, placeOf, withCode } from "./elements.js";
import { drawFormulas } from "./formulas.js";
import { getJson, Problem, sendJson, streamAnswer } from "./server.js";
import { stepLines } from "./step_lines.js";

export class ConversationView {
  /** `papers` finds papers; `onCite(mark, marks)` opens a page; `onChanged(number)` after each answer. */
  constructor({ papers, onCite, onChanged, onState }) {
    this.calls = { papers, onCite, onChanged, onState };
    this.turns = byId("turns");
    this.told = new Set();
    this.number = null;
    this.running = null;
  }

  get isAsking() {
    return this.running !== null;
  }

  /** A new conversation, without turns. */
  clear() {
    this.stop();
    this.number = null;
    this.turns.replaceChildren();
  }

  /** Shows a kept conversation with all its turns. */
  async open(number) {
    this.clear();
    const { conversation, turns } = await getJson(`/conversations/${number}`);
    this.number = conversation.conversation;
    for (const answer of turns) {
      const turn = this.begin(answer.question);
      this.finish(turn, answer);
    }
    this.turns.lastElementChild?.scrollIntoView({ block: "start" });
  }

  /** Asks; what comes is drawn as it comes. Gives whether an answer came. */
  async ask(body) {
    this.stop();
    const turn = this.begin(body.question);
    const control = new AbortController();
    this.running = control;
    this.calls.onState();
    turn.element.setAttribute("aria-busy", "true");
    this.tell(turn, "Searching …");
    announce("Searching.");
    turn.element.scrollIntoView({ block: "start" });
    try {
      let isDone = false;
      const asked = { ...body, ...(this.number ? { conversation: this.number } : {}) };
      await streamAnswer(asked, (name, data) => { isDone = this.take(turn, name, data) || isDone; }, control.signal);
      if (!isDone) throw new Problem("The answer ended before its end.", "Ask once more.");
      return true;
    } catch (error) {
      this.fail(turn, error, body);
      return false;
    } finally {
      turn.element.removeAttribute("aria-busy");
      if (this.running === control) this.running = null;
      this.calls.onState();
    }
  }

  /** Ends the answer that is coming; the server stops working on it. */
  stop() {
    this.running?.abort();
    this.running = null;
  }

  /** Shows the passages that are like a text. */
  async similar(text, part = {}) {
    const short = text.length > 120 ? `${text.slice(0, 120)} …` : text;
    const turn = this.begin(`Passages like “${short}”`);
    turn.element.scrollIntoView({ block: "start" });
    try {
      const found = await sendJson("POST", "/search", { question: text, top_k: 10, part });
      const quotes = new CitedQuotes({ ...found, answer_id: `search-${this.turns.childElementCount}`, citations: [] }, this.calls.papers);
      const cite = (citation) => this.pageButton(quotes, citation);
      turn.body.replaceChildren(found.hits.length ? drawHits(found.hits, cite) : make("p", {}, "No passages found."));
      announce(`${found.hits.length} passages found.`);
    } catch (error) {
      this.fail(turn, error, null);
    }
  }

  pageButton(quotes, citation) {
    const mark = quotes.of(citation);
    return make("button", { type: "button", class: "cite", disabled: !mark.md5, onclick: () => this.calls.onCite(mark, []) },
      make("span", { class: "file" }, citation.file), `, ${placeOf(citation)}`);
  }

  begin(question) {
    const body = make("div", { class: "body" });
    const element = make("article", { class: "turn", "aria-label": `Question: ${question.slice(0, 120)}` }, make("h2", { class: "asked" }, question), body);
    this.turns.querySelector(".welcome")?.remove();
    this.turns.append(element);
    return { element, body, question, steps: null, draft: null, text: "" };
  }

  /** Draws an event of the answer; gives whether it was the last. */
  take(turn, name, data) {
    if (name === "answer") this.finish(turn, data, true);
    else if (name === "error") throw new Problem(data.detail, data.fix, data.status);
    else if (name === "searching") this.tell(turn, `Searching for “${data.query}” …`);
    else if (name === "thinking") this.tell(turn, `${data.model} is thinking …`);
    else if (name === "step") this.steps(turn).append(...stepLines(data).map((line) => make("li", {}, line)));
    else if (name === "warning") this.warn(turn, data.text);
    else if (name === "token") this.addToken(turn, data.text);
    return name === "answer";
  }

  tell(turn, text) {
    turn.status ??= turn.body.appendChild(make("p", { class: "status dim" }));
    turn.status.textContent = text;
  }

  steps(turn) {
    if (!turn.steps) {
      turn.steps = make("ol", { class: "steps" });
      turn.body.prepend(turn.steps);
    }
    return turn.steps;
  }

  warn(turn, text) {
    if (this.told.has(text)) return;
    turn.body.append(make("p", { class: "warning small" }, withCode(text)));
    announce(text);
  }

  addToken(turn, text) {
    if (!turn.draft) {
      turn.draft = make("p", { class: "draft" });
      turn.body.append(turn.draft);
      this.tell(turn, "Answering; each sentence is checked at the end …");
      announce("Answering.");
    }
    turn.draft.append(text);
  }

  finish(turn, answer, isNew = false) {
    const quotes = new CitedQuotes(answer, this.calls.papers);
    const drawn = drawAnswer(answer, {
      quotes, told: this.told, onCite: (mark) => this.calls.onCite(mark, quotes.on(mark.md5)),
    });
    if (isNew) drawn.classList.add("arrived");
    turn.body.replaceChildren(drawn);
    drawFormulas(drawn).catch(() => {}); // without KaTeX the formulas stay text
    if (!isNew) return;
    announce(summaryOf(answer));
    this.number = answer.conversation ?? this.number;
    this.calls.onChanged(this.number);
  }

  fail(turn, error, body) {
    turn.status?.remove();
    turn.status = null;
    if (error.name === "AbortError") {
      turn.body.append(make("p", { class: "dim" }, "Stopped."));
      announce("Stopped.");
      return;
    }
    if (!(error instanceof Problem)) console.error(error);
    const message = error instanceof Problem ? error.message : "The page made a mistake; the browser's console has it.";
    const again = body ? button("Ask again", () => { turn.element.remove(); this.ask(body); }) : null;
    turn.body.append(make("div", { class: "problem", role: "alert" }, make("p", {}, withCode(message)), error.fix ? make("p", {}, withCode(error.fix)) : null, again));
  }

  /** Scrolls to what a mark on a page belongs to, and lets it be seen. */
  showMark(id) {
    const cited = this.turns.querySelector(`[data-mark="${CSS.escape(id)}"]`);
    if (!cited) return;
    const holder = cited.closest(".sentence, blockquote, figure, li, p") ?? cited;
    holder.scrollIntoView({ block: "center" });
    for (const each of this.turns.querySelectorAll(".found")) each.classList.remove("found");
    holder.classList.add("found");
    cited.focus({ preventScroll: true });
  }

  /** Goes to the next citation (or the one before: -1) and opens its page. */
  step(by) {
    const all = [...this.turns.querySelectorAll(".answer button.cite:not(:disabled)")].filter((each) => each.checkVisibility());
    if (!all.length) return;
    const now = all.indexOf(this.turns.querySelector("button.cite.current"));
    const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : (now + by + all.length) % all.length];
    next.scrollIntoView({ block: "nearest" });
    next.focus({ preventScroll: true });
    next.click();
  }

  /** The citation whose page is open. */
  setCurrent(id) {
    for (const each of this.turns.querySelectorAll("button.cite.current")) each.classList.remove("current");
    this.turns.querySelector(`[data-mark="${CSS.escape(id)}"]`)?.classList.add("current");
  }
}
