// The quotes of an answer as marks on the pages of its papers: each with an id, and a colour of its own on its paper.

const COLOURS = 8;

/** The marks of one answer, by its citations. */
export class CitedQuotes {
  /** `answer` as the API gives it; `papers` finds a paper by its path or file. */
  constructor(answer, papers) {
    this.answer = answer;
    this.papers = papers;
    this.marks = new Map();
    this.colours = new Map();
    this.boxes = new Map();
    for (const citation of answer.citations) this.boxes.set(keyOf(citation), citation.boxes);
  }

  /** The mark of a citation: `{id, md5, title, page, boxes, colour, label, number}` (on its paper, from 1); `md5` is empty for a paper that is gone. */
  of(citation) {
    const key = keyOf(citation);
    if (!this.marks.has(key)) {
      const paper = this.papers.of(citation);
      const md5 = citation.md5 || paper?.md5 || "";
      const quote = citation.quote.replace(/\s+/g, " ").trim();
      this.marks.set(key, {
        id: `${this.answer.answer_id}-${this.marks.size}`, md5, title: paper?.title || citation.file, page: citation.page,
        boxes: citation.boxes.length ? citation.boxes : this.boxes.get(key) ?? [],
        colour: this.colour(md5 || citation.file, quote), label: quote.slice(0, 160), number: this.on(md5).length + 1,
      });
    }
    return this.marks.get(key);
  }

  /** All marks on one paper. */
  on(md5) {
    return [...this.marks.values()].filter((mark) => mark.md5 === md5);
  }

  colour(paper, quote) {
    const known = this.colours.get(paper) ?? new Map();
    this.colours.set(paper, known);
    if (!known.has(quote)) known.set(quote, known.size % COLOURS);
    return known.get(quote);
  }
}

function keyOf({ file, page, start, end, quote }) {
  return JSON.stringify([file, page, start, end, end ? "" : quote]);
}
