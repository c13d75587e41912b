// The quotes of an answer as marks on the pages of its papers: each with an id, and the number and colour of its source.

const COLOURS = 8;

/** The marks of one answer, by its citations. */
export class CitedQuotes {
  /** `answer` as the API gives it; `papers` finds a paper by its path or file. */
  constructor(answer, papers) {
    this.answer = answer;
    this.papers = papers;
    this.marks = new Map();
    this.boxes = new Map();
    this.sources = new Map();
    for (const citation of answer.citations) {
      this.boxes.set(keyOf(citation), citation.boxes);
      this.numberOf(citation);
    }
  }

  /** The number of a citation's source, from 1: pages are numbered as the answer cites them, as in the terminal. */
  numberOf({ file, page }) {
    const key = `${page} ${file}`;
    if (!this.sources.has(key)) this.sources.set(key, this.sources.size + 1);
    return this.sources.get(key);
  }

  /**
   * The mark of a citation: `{id, md5, title, page, boxes, colour, label, number}`; `number` is its source's, `md5` is
   * empty for a paper that is gone. `like` is a mark that it is a part of where both are on one page.
   */
  of(citation, like = null) {
    const key = keyOf(citation);
    if (!this.marks.has(key)) this.marks.set(key, this.made(citation, key, like));
    return this.marks.get(key);
  }

  made(citation, key, like) {
    const paper = this.papers.of(citation);
    const md5 = citation.md5 || paper?.md5 || "";
    const boxes = citation.boxes?.length ? citation.boxes : this.boxes.get(key) ?? [];
    if (like && like.md5 === md5 && like.page === citation.page) {
      like.boxes = [...like.boxes, ...boxes];
      return like;
    }
    const number = this.numberOf(citation);
    const quote = citation.quote.replace(/\s+/g, " ").trim();
    return {
      id: `${this.answer.answer_id}-${this.marks.size}`, md5, title: paper?.title || citation.file, page: citation.page, boxes,
      colour: (number - 1) % COLOURS, label: quote.slice(0, 160), number,
    };
  }

  /** All marks on one paper, in their order. */
  on(md5) {
    return [...new Set(this.marks.values())].filter((mark) => mark.md5 === md5);
  }
}

function keyOf({ file, page, start, end, quote }) {
  return JSON.stringify([file, page, start, end, end ? "" : quote]);
}
