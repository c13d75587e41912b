// The answer of a language model: its paragraphs, lists and tables, each sentence with its verdict, each page a button.

import { make, placeOf } from "./elements.js";
import { drawTable, isTable } from "./tables.js";

export const VERDICTS = {
  supported: { sign: "✓", label: "supported: the cited page says so" },
  weak: { sign: "~", label: "weak: the cited page says only a part of it" },
  unsupported: { sign: "✗", label: "unsupported: no page that was found says so" },
};

/** The answer's text as elements. `cite(citation)` makes the button of a page. */
export function drawProse(answer, cite) {
  const prose = new Prose(answer, cite);
  const blocks = [];
  for (const { start, end, text } of paragraphs(answer.answer)) blocks.push(...prose.block(start, end, text));
  return blocks;
}

/** The parts between empty lines, with where they are. */
function* paragraphs(text) {
  for (const match of text.matchAll(/[^\n]+(?:\n(?!\s*\n)[^\n]+)*/g)) {
    yield { start: match.index, end: match.index + match[0].length, text: match[0] };
  }
}

class Prose {
  constructor(answer, cite) {
    this.text = answer.answer;
    this.cite = cite;
    this.citations = [...answer.citations, ...answer.sentences.map((sentence) => sentence.evidence).filter(Boolean)];
    this.sentences = [];
    let at = 0;
    for (const sentence of answer.sentences) {
      const start = this.text.indexOf(sentence.text, at);
      if (start < 0) continue;
      at = start + sentence.text.length;
      this.sentences.push({ ...sentence, start, end: at });
    }
  }

  /** A paragraph as a table, a list, a heading, or text. */
  *block(start, end, text) {
    if (isTable(text)) {
      yield make("div", {}, drawTable(text), this.tableVerdict(start, end));
      return;
    }
    let list = null;
    let at = start;
    let lines = [];
    const flush = () => {
      if (!lines.length) return null;
      const [first, last] = [lines[0][0], lines[lines.length - 1][1]];
      lines = [];
      return make("p", {}, this.pieces(first, last));
    };
    for (const line of text.split("\n")) {
      const item = /^\s*(?:([-*•])|(\d{1,3})[.)])\s+/.exec(line);
      const heading = /^#{1,6}\s+/.exec(line) ?? (/^\*\*[^*]+\*\*:?$/.test(line.trim()) ? [""] : null);
      const from = at + (item?.[0].length ?? heading?.[0].length ?? 0);
      if (item || heading) {
        const before = flush();
        if (before) yield before;
      }
      if (item) {
        const name = item[1] ? "ul" : "ol";
        if (list?.localName !== name) {
          if (list) yield list;
          list = make(name, { class: "points", start: item[2] ?? null });
        }
        list.append(make("li", {}, this.pieces(from, at + line.length)));
      } else {
        if (list) yield list;
        list = null;
        if (heading) yield make("h3", {}, this.pieces(from, at + line.length));
        else lines.push([from, at + line.length]);
      }
      at += line.length + 1;
    }
    const rest = flush();
    if (rest) yield rest;
    if (list) yield list;
  }

  /** The worst verdict of what a table says; its rows are checked as sentences. */
  tableVerdict(start, end) {
    const verdicts = this.sentences.filter((sentence) => sentence.start < end && sentence.end > start).map((sentence) => sentence.verdict);
    const worst = ["unsupported", "weak", "supported"].find((verdict) => verdicts.includes(verdict));
    return worst ? make("p", { class: worst }, badge(worst)) : null;
  }

  /** What stands between two places: sentences with their verdicts, and what lies between them. */
  pieces(start, end) {
    const pieces = [];
    let at = start;
    for (const sentence of this.sentences) {
      if (sentence.end <= at || sentence.start >= end) continue;
      const [from, to] = [Math.max(at, sentence.start), Math.min(end, sentence.end)];
      pieces.push(...this.inline(this.text.slice(at, from)), this.sentence(sentence, this.text.slice(from, to), sentence.end <= end));
      at = to;
    }
    return [...pieces, ...this.inline(this.text.slice(at, end))];
  }

  sentence(sentence, text, isEnd) {
    const verdict = VERDICTS[sentence.verdict];
    const span = make("span", { class: `sentence ${sentence.verdict}` }, this.inline(text));
    if (verdict && isEnd) {
      span.append(" ", badge(sentence.verdict));
      const { evidence } = sentence;
      const isCited = evidence && text.includes(labelOf(evidence));
      if (evidence && !isCited) span.append(" ", make("span", { class: "nearest" }, "nearest: ", this.cite(evidence)));
    }
    return span;
  }

  /** Text with its page citations as buttons, and bold and code as such. */
  inline(text) {
    const labels = [...new Set(this.citations.map(labelOf))].filter((label) => text.includes(label));
    let parts = [text];
    for (const label of labels) {
      const citation = this.best(label, text);
      parts = parts.flatMap((part) => {
        if (typeof part !== "string") return [part];
        return part.split(label).flatMap((piece, at) => (at ? [this.cite(citation), piece] : [piece]));
      });
    }
    return parts.flatMap((part) => (typeof part === "string" ? styled(part) : [part]));
  }

  /** The citation of that page whose sentence this is. */
  best(label, text) {
    const own = this.sentences.find((sentence) => sentence.evidence && sentence.text.includes(text.trim()) && labelOf(sentence.evidence) === label);
    return own?.evidence ?? this.citations.find((citation) => labelOf(citation) === label);
  }
}

/** A verdict as a sign and a word. */
function badge(verdict) {
  const { sign, label } = VERDICTS[verdict];
  return make("span", { class: "verdict", title: label, role: "img", "aria-label": label }, `${sign} ${verdict}`);
}

function labelOf({ file, page }) {
  return `(${file}, ${placeOf({ file, page })})`;
}

function styled(text) {
  return text.split(/(\*\*[^*\n]{1,300}\*\*|`[^`\n]{1,300}`)/).map((part) => {
    if (/^\*\*[^*]+\*\*$/.test(part)) return make("strong", {}, part.slice(2, -2));
    if (/^`[^`]+`$/.test(part)) return make("code", {}, part.slice(1, -1));
    return part;
  });
}
