// The right region: the PDF that was opened, and the map of the papers, each in a tab.

import { announce, byId, hasPages, make, placeOf } from "./elements.js";
import { getJson } from "./server.js";

const TABS = ["pdf", "map"];

export class Reader {
  /** `calls`: `onMark(id)`, `onAsk`, `onSimilar`, `onCite` (each: text, place), `onPlace({md5, page})`. */
  constructor(calls) {
    this.calls = calls;
    this.pdf = null;
    this.map = null;
    this.title = "";
    for (const name of TABS) byId(`tab-${name}`).addEventListener("click", () => this.show(name));
    byId("reader").querySelector("[role=tablist]").addEventListener("keydown", (event) => this.otherTab(event));
    byId("close-reader").addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !byId("reader").hidden;
  }

  /** Shows the paper at a page with its marks, the one with the id `focus` in view. */
  async openPaper({ md5, file, title, page = 1, marks = [], focus = null }) {
    this.open("pdf");
    this.title = title;
    byId("reader-title").textContent = title;
    if (!hasPages(file)) {
      await this.showParagraph(md5, file, page);
      return;
    }
    try {
      // One view, also where a second page is wanted before the first view is there.
      this.pdf ??= import("./pdf_view.js").then(({ PdfView }) => new PdfView(byId("pdf"), { ...this.calls, announce }));
      await (await this.pdf).show({ md5, title, page, marks, focus });
    } catch (error) {
      console.warn(error);
      const link = make("a", { href: `/api/v1/papers/${md5}/file#page=${page}`, target: "_blank", rel: "noopener" }, "Open the file");
      byId("pdf").replaceChildren(make("p", { class: "empty" }, "The PDF cannot be shown here. ", link, "."));
      this.pdf = null;
    }
  }

  /** A paragraph of a file that has no pages, and so no picture of one. */
  async showParagraph(md5, file, page) {
    this.pdf?.then((view) => view.close(), () => {});
    this.pdf = null;
    const link = make("a", { href: `/api/v1/papers/${md5}/file` }, "Download it");
    const found = await getJson(`/papers/${md5}/pages/${page}`).catch(() => ({ text: "" }));
    byId("pdf").replaceChildren(
      make("p", { class: "empty" }, `${file} has no pages to show. `, link, "."),
      make("p", { class: "small dim" }, placeOf({ file, page })), make("blockquote", {}, found.text));
  }

  async openMap() {
    this.open("map");
    byId("reader-title").textContent = "";
    try {
      this.map ??= import("./map_view.js").then(({ MapView }) => new MapView(byId("map"), { onPlace: this.calls.onPlace, announce }));
      await (await this.map).show();
    } catch (error) {
      console.warn(error);
      byId("map").replaceChildren(make("p", { class: "empty" }, "The map cannot be shown."));
      this.map = null;
    }
  }

  /** A tab, filled where it is empty. */
  show(name) {
    if (name === "map") this.openMap();
    else {
      this.open("pdf");
      byId("reader-title").textContent = this.title;
    }
  }

  open(name) {
    const reader = byId("reader");
    reader.hidden = false;
    document.body.dataset.reader = "open";
    this.calls.onRegion("reader");
    for (const each of TABS) {
      const tab = byId(`tab-${each}`);
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      byId(each).hidden = each !== name;
    }
    if (!this.pdf && name === "pdf") {
      byId("pdf").replaceChildren(make("p", { class: "empty" }, "Click a paper, or the page behind a sentence, to read it here."));
    }
  }

  close() {
    if (!this.isOpen) return;
    byId("reader").hidden = true;
    document.body.dataset.reader = "closed";
    this.pdf?.then((view) => view.close(), () => {});
    this.calls.onRegion("chat");
  }

  otherTab(event) {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const other = TABS.find((name) => byId(`tab-${name}`).getAttribute("aria-selected") !== "true");
    this.show(other);
    byId(`tab-${other}`).focus();
  }
}
