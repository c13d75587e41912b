// A draft that is pasted: each of its sentences that cites a paper with its mark, and the page behind it.

import { announce, button, byId, counted, make, placeOf, withCode } from "./elements.js";
import { sendJson } from "./server.js";

const SIGNS = { held: "✓", partly: "≠", "not held": "✗", unclear: "?" };
const CLASSES = { held: "supported", partly: "unsupported", "not held": "unsupported", unclear: "weak" };
const FORMATS = [["draft.md", "Markdown or text"], ["draft.tex", "LaTeX"]];

export class DraftView {
  /** `papers` finds the paper of a passage; `onCite(mark, marks)` opens its page. */
  constructor({ papers, onCite }) {
    this.papers = papers;
    this.onCite = onCite;
    this.text = make("textarea", { id: "draft-text", rows: "8", maxlength: "1000000", placeholder: "Dropout was introduced in 2014 (Srivastava et al., 2014)." });
    this.format = make("select", { id: "draft-format" }, FORMATS.map(([name, label]) => make("option", { value: name }, label)));
    this.found = make("div", { class: "draft-found" });
    const send = make("button", { type: "submit", class: "main" }, "Check");
    byId("draft").append(make("form", { onsubmit: (event) => { event.preventDefault(); this.check(send); } },
      make("label", { for: "draft-text" }, "A draft that cites papers of the library: by author and year, by key, or by file"), this.text,
      make("div", { class: "row" }, make("label", { for: "draft-format", class: "unseen" }, "Format"), this.format, send,
        button("Close", () => this.toggle(false)))), this.found);
  }

  toggle(isOpen = byId("draft").hidden) {
    byId("draft").hidden = !isOpen;
    byId("open-draft").setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.text.focus();
  }

  async check(send) {
    send.disabled = true;
    this.found.replaceChildren(make("p", { class: "dim" }, "Checking …"));
    try {
      const report = await sendJson("POST", "/check", { text: this.text.value, name: this.format.value });
      const said = Object.entries(report.counts).map(([verdict, many]) => `${many} ${verdict}`).join(", ");
      const line = report.sentences.length ? `${counted(report.sentences.length, "sentence")}: ${said}` : "No sentence cites a paper.";
      this.found.replaceChildren(make("p", { class: "small" }, line),
        ...report.warnings.map((warning) => make("p", { class: "warning small" }, withCode(warning))),
        make("ol", { class: "plain-list" }, report.sentences.map((sentence, at) => this.row(sentence, at))));
      announce(line);
    } catch (error) {
      this.found.replaceChildren(make("p", { class: "problem", role: "alert" }, withCode([error.message, error.fix].filter(Boolean).join(" "))));
    } finally {
      send.disabled = false;
    }
  }

  row({ line, text, verdict, differences, evidence, note, cited }, at) {
    const marks = evidence.map((one, number) => ({
      id: `draft-${at}-${number}`, md5: one.md5, title: this.papers.of(one)?.title || one.file, page: one.page, boxes: one.boxes, colour: number, label: one.quote, number: number + 1,
    }));
    const said = verdict === "not in the library" ? [cited.join("; ")] : [...differences.map(worded), note].filter(Boolean);
    return make("li", { class: `sentence-row ${CLASSES[verdict] ?? ""}` },
      make("p", {}, make("span", { class: "verdict" }, `${SIGNS[verdict] ?? "–"} ${verdict}`), " ", text, make("span", { class: "dim small" }, ` line ${line}`)),
      said.length ? make("p", { class: "small" }, said.join("; ")) : null,
      evidence.map((one, number) => button(`${one.file}, ${placeOf(one)}`, () => this.onCite(marks[number], marks.filter((mark) => mark.md5 === one.md5)), { title: `${one.quote.slice(0, 300)}`, class: "cite" })));
  }
}

function worded({ kind, quoted, printed }) {
  if (quoted && printed) return `${kind}: “${quoted}” is printed “${printed}”`;
  if (quoted) return `${kind}: “${quoted}” is not printed`;
  return printed ? `${kind}: “${printed}” is left out` : kind;
}
