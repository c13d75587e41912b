// Find in the open paper: over the text of its pages, in their order, from the page that is shown.

const HIGHLIGHTS = typeof Highlight === "function" && "highlights" in CSS ? CSS.highlights : null;

export class PdfFind {
  #bar;
  #pdf = null;
  #pages = null;
  #texts = new Map(); // by page: {text, starts}: its items joined, and where each of them begins
  #wanted = "";
  #found = null; // {page, index, count}
  #turn = 0;

  constructor(bar) {
    this.#bar = bar;
    bar.element.addEventListener("submit", (event) => event.preventDefault());
    bar.next.addEventListener("click", () => this.#go(1));
    bar.previous.addEventListener("click", () => this.#go(-1));
    bar.close.addEventListener("click", () => this.hide());
    bar.box.addEventListener("input", () => this.#restart());
    bar.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.hide();
      else if (event.key === "Enter" && event.target === bar.box) this.#go(event.shiftKey ? -1 : 1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  open(pdf, pages) {
    this.#pdf = pdf;
    this.#pages = pages;
  }

  close() {
    this.#turn += 1;
    this.#pdf = null;
    this.#pages = null;
    this.#texts.clear();
    this.#restart();
    this.#bar.element.hidden = true;
  }

  show() {
    if (!this.#pdf) return;
    this.#bar.element.hidden = false;
    this.#bar.box.focus();
    this.#bar.box.select();
  }

  hide() {
    this.#turn += 1;
    this.#wanted = "";
    this.#found = null;
    HIGHLIGHTS?.clear();
    this.#bar.count.textContent = "";
    const hadFocus = this.#bar.element.contains(document.activeElement);
    this.#bar.element.hidden = true;
    if (hadFocus) this.#bar.element.parentElement.querySelector(".pdf-scroller").focus({ preventScroll: true });
  }

  #restart() {
    this.#turn += 1;
    this.#found = null;
    this.#bar.count.textContent = "";
    HIGHLIGHTS?.clear();
  }

  /** The next match, or the previous one with -1; from the page that is shown, round the paper once. */
  async #go(by) {
    const pattern = patternOf(this.#bar.box.value);
    if (!pattern || !this.#pages) return;
    const turn = (this.#turn += 1);
    const { count } = this.#pages;
    const begin = this.#found?.page ?? this.#pages.current;
    this.#wanted = this.#bar.box.value;
    for (let step = 0; step <= count; step += 1) {
      const number = ((begin - 1 + by * step + count * 2) % count) + 1;
      if (step % 20 === 19) this.#bar.count.textContent = `page ${number} …`;
      const matches = matchesIn((await this.#textOf(number)).text, pattern);
      if (turn !== this.#turn) return;
      let index = by > 0 ? 0 : matches.length - 1;
      if (step === 0 && this.#found) index = this.#found.index + by;
      if (index < 0 || index >= matches.length) continue;
      this.#found = { page: number, index };
      this.#bar.count.textContent = `${index + 1} of ${matches.length} on page ${number}`;
      await this.#showMatch(number);
      return;
    }
    this.#found = null;
    this.#bar.count.textContent = "not found";
  }

  async #showMatch(number) {
    const place = await this.#placeOf(number);
    await this.#pages.goTo(number, place);
    HIGHLIGHTS?.clear();
    for (const drawn of this.#pages.frames) if (drawn.text) this.highlight(drawn);
  }

  /** Where the match begins on its page: a box of points as shown. */
  async #placeOf(number) {
    const page = await this.#pdf.getPage(number);
    const { starts, text } = await this.#textOf(number);
    const [start] = matchesIn(text, patternOf(this.#wanted))[this.#found.index];
    const item = (await itemsOf(page))[itemAt(starts, start)];
    const [x, y] = page.getViewport({ scale: 1 }).convertToViewportPoint(item.transform[4], item.transform[5]);
    return [x, y - item.height, x + item.width, y];
  }

  /** Highlight the matches of a page whose text layer is there. */
  async highlight(frame) {
    if (!HIGHLIGHTS || !this.#wanted || !this.#found) return;
    const turn = this.#turn;
    const { text, starts } = await this.#textOf(frame.number);
    if (turn !== this.#turn || !frame.text) return;
    const { textDivs } = frame.text.layer;
    const pattern = patternOf(this.#wanted);
    matchesIn(text, pattern).forEach(([start, end], index) => {
      const isThis = this.#found?.page === frame.number && this.#found.index === index;
      const range = rangeOf(textDivs, starts, start, end);
      if (!range) return;
      const name = isThis ? "pdf-found-here" : "pdf-found";
      if (!HIGHLIGHTS.has(name)) HIGHLIGHTS.set(name, new Highlight());
      HIGHLIGHTS.get(name).add(range);
    });
  }

  async #textOf(number) {
    const known = this.#texts.get(number);
    if (known) return known;
    const page = await this.#pdf.getPage(number);
    const items = await itemsOf(page);
    const made = { text: "", starts: new Int32Array(items.length) };
    const parts = items.map((item) => (item.hasEOL ? `${item.str}\n` : item.str));
    for (let at = 1; at < items.length; at += 1) made.starts[at] = made.starts[at - 1] + parts[at - 1].length;
    made.text = parts.join("");
    page.cleanup();
    this.#texts.set(number, made);
    return made;
  }
}

/** The pieces of a page's text, those that its text layer has an element for. */
async function itemsOf(page) {
  const { items } = await page.getTextContent();
  return items.filter((item) => item.str !== undefined);
}

/** The words with any white space between them, in either case, also divided at the end of a line; null for none. */
function patternOf(wanted) {
  const words = wanted.normalize("NFKC").trim().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const escaped = words.map((word) =>
    [...word].map((letter) => letter.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&")).join("(?:-\\n)?"),
  );
  return new RegExp(escaped.join("\\s+"), "giu");
}

function matchesIn(text, pattern) {
  return [...text.matchAll(pattern)].slice(0, 1000).map((match) => [match.index, match.index + match[0].length]);
}

/** The index of the last item that begins at or before the offset. */
function itemAt(starts, offset) {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function rangeOf(textDivs, starts, start, end) {
  const [first, last] = [itemAt(starts, start), itemAt(starts, end - 1)];
  const [from, to] = [textDivs[first]?.firstChild, textDivs[last]?.firstChild];
  if (!from || !to) return null;
  const range = new Range();
  range.setStart(from, Math.min(start - starts[first], from.length));
  range.setEnd(to, Math.min(end - starts[last], to.length));
  return range;
}
