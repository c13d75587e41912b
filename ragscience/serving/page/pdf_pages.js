// The pages of an open PDF in a scrolled element: those near the window are drawn, the others are empty frames.

import { AnnotationMode, TextLayer } from "./vendor/pdfjs/pdf.min.mjs";

const LEAST_SCALE = 0.2;
const MOST_SCALE = 8;
const MOST_PIXELS = 1 << 24; // of a canvas: 16 million, 64 MB
const SECONDS_FOR_A_PAGE = 30;
const MARGIN = 12; // around a page, in CSS pixels

export class PdfPages {
  #pdf;
  #scroller;
  #list;
  #events;
  #pages = []; // by index: {element, number, width, height, ...} in points as shown
  #scale = 1;
  #fits = true;
  #wanted = new Set();
  #watcher;
  #resizer;
  #isDrawing = false;
  #later = 0;
  #goal = null; // where to go once the window has a size
  #isClosed = false;

  /** `events`: `onPage(number)`, `onScale(scale)`, and `onDrawn(frame)` once a page's size and text are known. */
  constructor(pdf, scroller, events) {
    this.#pdf = pdf;
    this.#scroller = scroller;
    this.#events = events;
    this.#list = document.createElement("div");
    this.#list.className = "pdf-pages";
  }

  get count() {
    return this.#pages.length;
  }

  get scale() {
    return this.#scale;
  }

  get frames() {
    return this.#pages;
  }

  /** Make the frames: all as large as page `number`, until each is seen. */
  async open(number) {
    const first = await this.#pdf.getPage(number);
    const { width, height } = first.getViewport({ scale: 1 });
    for (let at = 1; at <= this.#pdf.numPages; at += 1) {
      const element = document.createElement("div");
      element.className = "pdf-page";
      element.dataset.page = String(at);
      element.setAttribute("role", "group");
      element.setAttribute("aria-label", `page ${at} of ${this.#pdf.numPages}`);
      const frame = { number: at, element, isSized: false, canvas: null, text: null, marks: null, drawnAt: 0 };
      this.#resize(frame, width, height);
      this.#pages.push(frame);
    }
    if (this.#isClosed) return;
    this.#list.replaceChildren(...this.#pages.map((frame) => frame.element));
    this.#scroller.replaceChildren(this.#list);
    this.fitWidth();
    this.#watcher = new IntersectionObserver((entries) => this.#seen(entries), {
      root: this.#scroller,
      rootMargin: "60% 0px",
    });
    for (const frame of this.#pages) this.#watcher.observe(frame.element);
    this.#resizer = new ResizeObserver(() => this.#resized());
    this.#resizer.observe(this.#scroller);
    this.#scroller.addEventListener("scroll", this.#scrolled, { passive: true });
  }

  close() {
    this.#isClosed = true;
    this.#watcher?.disconnect();
    this.#resizer?.disconnect();
    this.#scroller.removeEventListener("scroll", this.#scrolled);
    clearTimeout(this.#later);
    for (const frame of this.#pages) this.#release(frame);
    this.#list.remove();
  }

  /** The number of the page that takes most of the window's upper half. */
  get current() {
    const line = this.#scroller.scrollTop + this.#scroller.clientHeight / 3;
    let [low, high] = [0, this.#pages.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#pages[middle].element.offsetTop <= line) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  /** Scroll to a page, or to a box of it ([left, top, right, bottom] in points); later where nothing is shown yet. */
  async goTo(number, box = null) {
    const frame = this.#pages[Math.min(Math.max(number, 1), this.count) - 1];
    if (!frame) return;
    this.#goal = null;
    await this.#size(frame);
    if (this.#isClosed) return;
    if (!this.#scroller.clientHeight) {
      this.#goal = [number, box];
      return;
    }
    const { element } = frame;
    if (!box) {
      this.#scroller.scrollTop = element.offsetTop - MARGIN;
      return;
    }
    const [left, top, right] = box.map((length) => length * this.#scale);
    const { clientWidth, clientHeight, scrollLeft } = this.#scroller;
    this.#scroller.scrollTop = element.offsetTop + top - clientHeight / 3;
    const [from, to] = [element.offsetLeft + left, element.offsetLeft + right];
    if (from < scrollLeft || to > scrollLeft + clientWidth) {
      this.#scroller.scrollLeft = Math.max(0, Math.min(from - MARGIN, (from + to - clientWidth) / 2));
    }
  }

  /** As wide as the window, and again whenever its width changes. */
  fitWidth() {
    this.#fits = true;
    const frame = this.#pages[this.current - 1];
    const room = this.#scroller.clientWidth - 2 * MARGIN;
    if (frame && room > 0) this.#setScale(room / frame.width);
  }

  /** Enlarge by a factor, about a point of the window or its middle. */
  zoom(factor, x = null, y = null) {
    this.#fits = false;
    this.#setScale(this.#scale * factor, x, y);
  }

  #resized() {
    if (!this.#scroller.clientHeight) return;
    if (this.#fits) this.fitWidth();
    else this.#drawLater();
    if (this.#goal) this.goTo(...this.#goal);
  }

  #setScale(scale, x = null, y = null) {
    const clamped = Math.min(Math.max(scale, LEAST_SCALE), MOST_SCALE);
    const area = this.#scroller.getBoundingClientRect();
    const [atX, atY] = [x ?? area.left + area.width / 2, y ?? area.top];
    const frame = this.#pages[this.current - 1];
    const before = frame.element.getBoundingClientRect();
    const [shareX, shareY] = [(atX - before.left) / before.width, (atY - before.top) / before.height];
    this.#scale = clamped;
    this.#list.style.setProperty("--pdf-scale", String(clamped));
    const after = frame.element.getBoundingClientRect();
    if (before.width && after.width) {
      this.#scroller.scrollTop += after.top + shareY * after.height - atY;
      this.#scroller.scrollLeft += after.left + shareX * after.width - atX;
    }
    this.#events.onScale(clamped);
    this.#drawLater();
  }

  #resize(frame, width, height) {
    if (frame.width === width && frame.height === height) return;
    Object.assign(frame, { width, height });
    frame.element.style.setProperty("--pdf-width", String(width));
    frame.element.style.setProperty("--pdf-height", String(height));
  }

  /** The page's own size, where it was only assumed. */
  async #size(frame) {
    const page = await this.#pdf.getPage(frame.number);
    if (!frame.isSized) {
      const { width, height } = page.getViewport({ scale: 1 });
      frame.isSized = true;
      frame.element.style.setProperty("--user-unit", String(page.userUnit));
      this.#resize(frame, width, height);
    }
    return page;
  }

  #scrolled = () => this.#events.onPage(this.current);

  #seen(entries) {
    for (const { target, isIntersecting } of entries) {
      const frame = this.#pages[Number(target.dataset.page) - 1];
      if (isIntersecting) this.#wanted.add(frame);
      else if (this.#wanted.delete(frame)) this.#release(frame);
    }
    this.#draw();
  }

  #drawLater() {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#draw(), 120);
  }

  /** Draw what is wanted and not drawn at this size, one page at a time, the nearest to the current one first. */
  async #draw() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    try {
      for (;;) {
        const size = this.#scale * devicePixelRatio;
        const open = [...this.#wanted].filter((frame) => frame.drawnAt !== size);
        if (this.#isClosed || open.length === 0) return;
        const now = this.current;
        open.sort((one, other) => Math.abs(one.number - now) - Math.abs(other.number - now));
        await this.#drawOne(open[0], size);
      }
    } finally {
      this.#isDrawing = false;
    }
  }

  async #drawOne(frame, size) {
    frame.drawnAt = size;
    try {
      const page = await this.#size(frame);
      if (!this.#wanted.has(frame)) return;
      frame.element.classList.add("pdf-drawing");
      if (!frame.marks) this.#events.onDrawn(frame);
      await this.#drawCanvas(frame, page);
      if (this.#wanted.has(frame) && !frame.text) await this.#drawText(frame, page);
    } catch (error) {
      if (!this.#isClosed && this.#wanted.has(frame)) this.#fail(frame, error);
    } finally {
      frame.element.classList.remove("pdf-drawing");
    }
  }

  async #drawCanvas(frame, page) {
    const [width, height] = [Math.floor(frame.width * this.#scale), Math.floor(frame.height * this.#scale)];
    const finer = Math.min(devicePixelRatio, Math.sqrt(MOST_PIXELS / Math.max(1, width * height)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.floor(width * finer));
    canvas.height = Math.max(1, Math.floor(height * finer));
    canvas.setAttribute("aria-hidden", "true");
    const viewport = page.getViewport({ scale: canvas.width / frame.width });
    frame.task = page.render({ canvas, viewport, annotationMode: AnnotationMode.ENABLE });
    const clock = setTimeout(() => frame.task.cancel(), SECONDS_FOR_A_PAGE * 1000);
    try {
      await frame.task.promise;
    } finally {
      clearTimeout(clock);
      frame.task = null;
    }
    if (!this.#wanted.has(frame)) {
      canvas.width = 0;
      return;
    }
    frame.element.querySelector(".pdf-page-failure")?.remove();
    if (frame.canvas) {
      frame.canvas.replaceWith(canvas);
      frame.canvas.width = 0;
    } else {
      frame.element.prepend(canvas);
    }
    frame.canvas = canvas;
  }

  async #drawText(frame, page) {
    const container = document.createElement("div");
    container.className = "textLayer";
    const layer = new TextLayer({
      textContentSource: page.streamTextContent({ includeMarkedContent: false }),
      container,
      viewport: page.getViewport({ scale: 1 }),
    });
    frame.text = { container, layer };
    await layer.render();
    const end = document.createElement("div");
    end.className = "endOfContent";
    container.append(end);
    if (frame.text?.layer === layer) frame.element.append(container);
    this.#events.onText?.(frame);
  }

  #fail(frame, error) {
    const line = document.createElement("p");
    line.className = "pdf-page-failure";
    const isLate = error?.name === "RenderingCancelledException";
    line.textContent = isLate
      ? `Page ${frame.number} could not be drawn within ${SECONDS_FOR_A_PAGE} seconds.`
      : `Page ${frame.number} could not be drawn: ${error?.message ?? error}`;
    frame.element.querySelector(".pdf-page-failure")?.remove();
    frame.element.append(line);
  }

  #release(frame) {
    frame.task?.cancel();
    frame.text?.layer.cancel();
    if (frame.canvas) frame.canvas.width = 0;
    if (frame.element.contains(document.activeElement)) this.#scroller.focus({ preventScroll: true });
    frame.element.replaceChildren();
    Object.assign(frame, { canvas: null, text: null, marks: null, drawnAt: 0 });
    if (frame.isSized && !this.#isClosed) this.#pdf.getPage(frame.number).then((page) => page.cleanup(), () => {});
  }
}
