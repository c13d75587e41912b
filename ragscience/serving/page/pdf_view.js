// The PDF of a paper, with the quotes marked: toolbar, pages, find, selection.

import { GlobalWorkerOptions, PasswordException, getDocument } from "./vendor/pdfjs/pdf.min.mjs";
import { drawMarks, idsOf, markAt, marksOn, numbersOf } from "./marks.js";
import { PdfFind } from "./pdf_find.js";
import { PdfPages } from "./pdf_pages.js";
import { buildParts } from "./pdf_toolbar.js";
import { SelectionBar } from "./selection.js";

const VENDOR = new URL("./vendor/pdfjs/", import.meta.url).href;
const MD5 = /^[0-9a-f]{32}$/;
const STEP = 1.2;
const NOT_SURE = "The quote's place on this page is not sure.";

GlobalWorkerOptions.workerSrc = `${VENDOR}pdf.worker.min.mjs`;

export class PdfView {
  #element;
  #events;
  #parts;
  #find;
  #selection;
  #loading = null;
  #pages = null;
  #md5 = "";
  #marks = [];
  #focus = null;
  #turn = 0;
  #isStepping = false; // whether the button of the mark in focus takes the keyboard once it is drawn
  #styled;

  /** Fill `section`. `events`: onMark(id), onAsk, onSimilar and onCite(text, {md5, page}), announce(text). */
  constructor(section, events = {}) {
    this.#element = document.createElement("div");
    this.#element.className = "pdf-view";
    this.#element.setAttribute("role", "region");
    this.#events = events;
    this.#parts = buildParts();
    this.#find = new PdfFind(this.#parts.findBar);
    this.#selection = new SelectionBar(this.#parts.scroller, this.#parts.selection, {
      onAsk: (text, page) => this.#events.onAsk?.(text, { md5: this.#md5, page }),
      onSimilar: (text, page) => this.#events.onSimilar?.(text, { md5: this.#md5, page }),
      onCite: (text, page) => this.#events.onCite?.(text, { md5: this.#md5, page }),
      announce: (text) => this.#events.announce?.(text),
    });
    const { toolbar, findBar, status, scroller, selection } = this.#parts;
    this.#element.append(toolbar, findBar.element, status, scroller, selection);
    section.replaceChildren(this.#element);
    this.#styled = styled();
    this.#listen();
    this.#enable(false);
  }

  /** Open a paper at the mark `focus`, else at `page`; one that is open already stays. */
  async show({ md5, title = "", page = 1, marks = [], focus = null }) {
    const turn = (this.#turn += 1);
    this.#element.setAttribute("aria-label", title ? `PDF: ${title}` : "PDF");
    if (md5 !== this.#md5 || !this.#pages) {
      this.#closeFile();
      this.#md5 = md5;
      if (!(await this.#open(md5, page, turn))) return;
    }
    this.#marks = marks;
    this.#focus = focus;
    this.#redrawMarks();
    await this.#goToFocus(page);
  }

  /** Other marks on the paper that is open. */
  setMarks(marks, focus = null) {
    this.#marks = marks;
    this.#focus = focus;
    this.#redrawMarks();
    return focus === null ? Promise.resolve() : this.#goToFocus(this.#pages?.current ?? 1);
  }

  /** Close the paper; the view can show another one. */
  close() {
    this.#turn += 1;
    this.#closeFile();
    this.#tell("");
  }

  #closeFile() {
    this.#find.close();
    this.#selection.hide();
    this.#pages?.close();
    this.#pages = null;
    this.#loading?.destroy();
    this.#loading = null;
    this.#md5 = "";
    this.#enable(false);
  }

  async #open(md5, page, turn) {
    if (!MD5.test(md5)) throw new TypeError(`not the MD5 of a file: ${md5}`);
    this.#tell("Opening the PDF …");
    const url = `/api/v1/papers/${md5}/file`;
    const loading = getDocument({
      url,
      cMapUrl: `${VENDOR}cmaps/`,
      standardFontDataUrl: `${VENDOR}standard_fonts/`,
      wasmUrl: `${VENDOR}wasm/`,
      useWasm: false, // WebAssembly would need 'wasm-unsafe-eval' in the page's policy
      isEvalSupported: false,
      enableXfa: false,
      disableAutoFetch: true,
      disableStream: true,
      rangeChunkSize: 1 << 18,
      maxImageSize: 1 << 26,
      verbosity: 0,
    });
    this.#loading = loading;
    try {
      const [pdf] = await Promise.all([loading.promise, this.#styled]);
      const pages = new PdfPages(pdf, this.#parts.scroller, {
        onPage: (number) => this.#showPage(number),
        onScale: (scale) => this.#showScale(scale),
        onDrawn: (frame) => this.#drawMarksOn(frame),
        onText: (frame) => this.#find.highlight(frame),
      });
      await pages.open(Math.min(Math.max(page, 1), pdf.numPages));
      if (turn !== this.#turn) {
        pages.close();
        return false;
      }
      this.#pages = pages;
      this.#find.open(pdf, pages);
      this.#parts.pageCount.textContent = `of ${pdf.numPages}`;
      this.#parts.pageBox.max = String(pdf.numPages);
      this.#enable(true);
      this.#tell("");
      return true;
    } catch (error) {
      if (turn === this.#turn) {
        const told = await failureOf(error, url);
        if (turn === this.#turn) this.#tell(told, true);
      }
      return false;
    }
  }

  #tell(text, isFailure = false) {
    const { status } = this.#parts;
    status.textContent = text;
    status.classList.toggle("pdf-failure", isFailure);
    status.hidden = !text;
  }

  #enable(isOpen) {
    for (const control of this.#parts.toolbar.querySelectorAll("button, input")) control.disabled = !isOpen;
    if (!isOpen) this.#parts.pageCount.textContent = "";
    this.#showMarkCount();
  }

  #showPage(number) {
    if (document.activeElement !== this.#parts.pageBox) this.#parts.pageBox.value = String(number);
  }

  #showScale(scale) {
    this.#parts.scale.textContent = `${Math.round(scale * 100)}%`;
  }

  #showMarkCount() {
    const ids = idsOf(this.#marks);
    const at = ids.indexOf(this.#focus);
    const { markCount, previousMark, nextMark } = this.#parts;
    markCount.textContent = ids.length ? `quote ${at < 0 ? "–" : at + 1} of ${ids.length}` : "";
    for (const part of [markCount, previousMark, nextMark]) part.hidden = ids.length === 0;
  }

  #redrawMarks() {
    for (const frame of this.#pages?.frames ?? []) if (frame.marks) this.#drawMarksOn(frame);
    this.#showMarkCount();
  }

  #drawMarksOn(frame) {
    if (!frame.marks) {
      frame.marks = document.createElement("div");
      frame.marks.className = "pdf-marks";
      frame.element.append(frame.marks);
    }
    const numbers = numbersOf(this.#marks);
    const onMark = (id) => this.#events.onMark?.(id);
    drawMarks(frame.marks, marksOn(this.#marks, frame.number), frame, { numbers, focus: this.#focus, onMark });
    const button = this.#isStepping ? frame.marks.querySelector("button.pdf-focused") : null;
    if (!button) return;
    this.#isStepping = false;
    button.focus({ preventScroll: true });
  }

  /** Go to the mark in focus; to the page where it has none, or where its place is not sure. */
  async #goToFocus(page) {
    const pages = this.#pages;
    if (!pages) return;
    const mark = this.#marks.find((one) => one.id === this.#focus && one.boxes.length > 0);
    const unsure = mark ? null : this.#marks.find((one) => one.id === this.#focus);
    this.#tell(unsure ? NOT_SURE : "");
    if (unsure) this.#events.announce?.(NOT_SURE);
    if (mark) await pages.goTo(mark.page, mark.boxes[0]);
    else await pages.goTo(unsure?.page ?? page);
    if (pages === this.#pages) this.#showPage(pages.current);
  }

  /** The next mark, or the previous one with -1; its button takes the keyboard. */
  async #step(by) {
    const ids = idsOf(this.#marks);
    if (!ids.length || !this.#pages) return;
    const at = ids.indexOf(this.#focus);
    this.#parts.scroller.focus({ preventScroll: true });
    this.#isStepping = true;
    this.#focus = ids[at < 0 ? (by > 0 ? 0 : ids.length - 1) : (at + by + ids.length) % ids.length];
    this.#redrawMarks();
    await this.#goToFocus(this.#pages.current);
    const label = this.#marks.find((mark) => mark.id === this.#focus)?.label ?? "";
    this.#events.announce?.(`quote ${numbersOf(this.#marks).get(this.#focus)}: ${label}`);
  }

  #listen() {
    const { scroller, pageBox, previousMark, nextMark } = this.#parts;
    const { smaller, larger, fit, find } = this.#parts;
    smaller.addEventListener("click", () => this.#pages?.zoom(1 / STEP));
    larger.addEventListener("click", () => this.#pages?.zoom(STEP));
    fit.addEventListener("click", () => this.#pages?.fitWidth());
    find.addEventListener("click", () => this.#find.show());
    previousMark.addEventListener("click", () => this.#step(-1));
    nextMark.addEventListener("click", () => this.#step(1));
    pageBox.addEventListener("change", () => this.#pages?.goTo(Number(pageBox.value) || 1));
    scroller.addEventListener("click", (event) => this.#clicked(event));
    this.#element.addEventListener("keydown", (event) => this.#pressed(event));
    listenForZoom(scroller, (factor, x, y) => this.#pages?.zoom(factor, x, y));
  }

  /** A click on a mark, but not the end of a selection over it. */
  #clicked(event) {
    const layer = event.target.closest(".pdf-page")?.querySelector(".pdf-marks");
    if (!layer || event.target.closest("button") || !document.getSelection().isCollapsed) return;
    const id = markAt(layer, event.clientX, event.clientY);
    if (id !== null) this.#events.onMark?.(id);
  }

  #pressed(event) {
    const isTyping = event.target.closest("input");
    const isFind = (event.ctrlKey || event.metaKey) && event.key === "f";
    if (isFind || (event.key === "/" && !isTyping)) {
      event.preventDefault();
      this.#find.show();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !this.#pages) return;
    const pages = this.#pages;
    const { scroller } = this.#parts;
    const sideways = scroller.scrollWidth > scroller.clientWidth;
    const keys = {
      n: () => this.#step(1),
      p: () => this.#step(-1),
      "+": () => pages.zoom(STEP),
      "=": () => pages.zoom(STEP),
      "-": () => pages.zoom(1 / STEP),
      0: () => pages.fitWidth(),
      Home: () => pages.goTo(1),
      End: () => pages.goTo(pages.count),
      ArrowLeft: sideways ? null : () => pages.goTo(pages.current - 1),
      ArrowRight: sideways ? null : () => pages.goTo(pages.current + 1),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

/** Once the view's own style sheet is there: pages are measured. */
function styled() {
  const href = new URL("./pdf_view.css", import.meta.url).href;
  const there = [...document.styleSheets].some((sheet) => sheet.href === href);
  if (there) return Promise.resolve();
  const link = document.createElement("link");
  Object.assign(link, { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((resolve) => ["load", "error"].forEach((event) => link.addEventListener(event, resolve)));
}

/** What to say of a file that does not open, in one line. */
async function failureOf(error, url) {
  if (error instanceof PasswordException) {
    return "The PDF is encrypted and asks for a password. Save a copy without one, and add that.";
  }
  try {
    const reply = await fetch(url, { headers: { Range: "bytes=0-0" } });
    if (!reply.ok) {
      const { detail, fix } = await reply.json();
      return [detail, fix].filter(Boolean).join(" ");
    }
  } catch {
    return "The server does not answer. Look whether `query.py serve` still runs.";
  }
  return `The PDF is damaged: ${error?.message ?? error} Get the file anew, and add it.`;
}

/** Zoom by Ctrl and wheel, as a trackpad's pinch is told too, and by two fingers. */
function listenForZoom(scroller, zoom) {
  scroller.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 200), event.clientX, event.clientY);
    },
    { passive: false },
  );
  let apart = 0;
  const spread = ([one, other]) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
  scroller.addEventListener("touchstart", (event) => {
    apart = event.touches.length === 2 ? spread(event.touches) : 0;
  });
  scroller.addEventListener(
    "touchmove",
    (event) => {
      if (event.touches.length !== 2 || !apart) return;
      event.preventDefault();
      const [one, other] = event.touches;
      const now = spread(event.touches);
      zoom(now / apart, (one.clientX + other.clientX) / 2, (one.clientY + other.clientY) / 2);
      apart = now;
    },
    { passive: false },
  );
}
