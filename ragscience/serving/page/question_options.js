// What goes with a question: filters and options, set in a panel, seen as chips above the question.

import { byId, make } from "./elements.js";
import { getJson } from "./server.js";

const KINDS = ["text", "abstract", "table", "caption", "equation", "footnote", "reference", "figure", "all"];
const NONE = { profile: "", top_k: "", agent: false, corrective: false, strict: false, years: "", authors: "", sections: "", collections: "", tags: "", kinds: [] };
const SWITCHES = {
  agent: ["Agent", "Splits the question, searches in several steps, and checks its own draft"],
  corrective: ["Search again if doubtful", "Judges the passages first, and searches once more where they are weak"],
  strict: ["Strict", "Refuses rather than answers with sentences that no page supports"],
};

export class QuestionOptions {
  /** `papers` has the chosen papers. */
  constructor(papers) {
    this.papers = papers;
    this.values = structuredClone(NONE);
    this.profiles = [];
    byId("show-options").addEventListener("click", () => this.toggle());
  }

  async load() {
    this.profiles = (await getJson("/profiles")).profiles;
    this.draw();
    if (this.isOpen) this.#focus();
  }

  get isOpen() {
    return !byId("options").hidden;
  }

  toggle(isOpen = !this.isOpen) {
    byId("options").hidden = !isOpen;
    byId("show-options").setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.#focus();
  }

  /** Nothing has the focus before the fields are there; `load` comes back to it. */
  #focus() {
    byId("options").querySelector("select, input")?.focus();
  }

  /** The fields of a request, without what is not set. */
  body() {
    const { profile, top_k: topK, agent, corrective, strict } = this.values;
    return {
      ...(profile ? { profile } : {}), ...(topK ? { top_k: Number(topK) } : {}),
      ...(agent ? { agent } : {}), ...(corrective ? { corrective } : {}), ...(strict ? { strict } : {}),
      part: this.part(),
    };
  }

  part() {
    const { years, kinds } = this.values;
    const chosen = this.papers.chosenPapers;
    const papers = chosen.length < this.papers.all.length ? chosen.map((paper) => paper.md5) : [];
    return {
      ...(papers.length ? { papers } : {}), ...(years.trim() ? { years: years.trim() } : {}),
      ...(kinds.length ? { kinds } : {}),
      ...Object.fromEntries(["authors", "sections", "collections", "tags"].map((name) => [name, listOf(this.values[name])]).filter(([, list]) => list.length)),
    };
  }

  set(name, value) {
    this.values[name] = value;
    this.drawChips();
  }

  draw() {
    const { values } = this;
    const field = (label, input, help) => make("label", { title: help }, make("span", {}, label), input);
    const text = (name, label, placeholder, help) => field(label, make("input", {
      type: "text", placeholder, name, value: values[name], maxlength: "300", oninput: (event) => this.set(name, event.target.value),
    }), help);
    byId("options").replaceChildren(
      make("div", { class: "fields" },
        field("Profile", make("select", { name: "profile", onchange: (event) => this.set("profile", event.target.value) },
          make("option", { value: "" }, `as set (${this.profiles.find((each) => each.chosen)?.name ?? "default"})`),
          this.profiles.map((each) => make("option", { value: each.name, selected: each.name === values.profile, title: each.about }, each.name))), "How passages are found"),
        field("Passages", make("input", {
          type: "number", name: "top_k", min: "1", max: "200", placeholder: "auto", value: values.top_k, oninput: (event) => this.set("top_k", event.target.value),
        }), "How many passages the answer is made of"),
        text("years", "Years", "2015-2020", "2017, 2015-2020, 2015- or -2020"),
        text("authors", "Authors", "vaswani, devlin", "Parts of names, with commas between them"),
        text("sections", "Sections", "method, results", "Parts of headings, with commas between them"),
        text("collections", "Collections", "reading, 2024", "Parts of the names of collections, with commas between them"),
        text("tags", "Tags", "to read", "Tags, with commas between them")),
      make("fieldset", {}, make("legend", {}, "Kinds of passages"), KINDS.map((kind) => make("label", { class: "tick" }, make("input", {
        type: "checkbox", value: kind, checked: values.kinds.includes(kind),
        onchange: (event) => this.set("kinds", KINDS.filter((each) => (each === kind ? event.target.checked : this.values.kinds.includes(each)))),
      }), kind))),
      make("fieldset", {}, make("legend", {}, "How to answer"), Object.entries(SWITCHES).map(([name, [label, help]]) => make("label", { class: "tick", title: help },
        make("input", { type: "checkbox", name, checked: values[name], onchange: (event) => this.set(name, event.target.checked) }), label))),
      make("p", { class: "dim small" }, "Tick papers in the library to ask only those."));
    this.drawChips();
  }

  drawChips() {
    const { values } = this;
    const clear = (name) => () => {
      this.values[name] = structuredClone(NONE[name]);
      this.draw();
    };
    const chips = this.papers.chosenPapers.map((paper) => chip(shortTitle(paper), () => this.papers.choose(paper.md5, false), paper.title));
    for (const name of ["years", "authors", "sections", "collections", "tags"]) if (values[name].trim()) chips.push(chip(`${name}: ${values[name].trim()}`, clear(name)));
    if (values.kinds.length) chips.push(chip(`kinds: ${values.kinds.join(", ")}`, clear("kinds")));
    if (values.profile) chips.push(chip(`profile: ${values.profile}`, clear("profile")));
    if (values.top_k) chips.push(chip(`${values.top_k} passages`, clear("top_k")));
    for (const name of Object.keys(SWITCHES)) if (values[name]) chips.push(chip(SWITCHES[name][0].toLowerCase(), clear(name)));
    byId("chips").replaceChildren(...chips);
    byId("chips").hidden = !chips.length;
  }
}

function chip(text, onRemove, title = text) {
  return make("li", { class: "chip", title }, make("span", {}, text), make("button", { type: "button", class: "plain", "aria-label": `Without ${text}`, onclick: onRemove }, "✕"));
}

function shortTitle({ title, file }) {
  const text = title || file;
  return text.length > 42 ? `${text.slice(0, 40)}…` : text;
}

function listOf(text) {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}
