// The papers on the left: found by words, chosen for the next question, opened, their headings, removed.

import { announce, button, byId, counted, hasPages, make, placeOf, wordsIn } from "./elements.js";
import { confirmed } from "./dialogs.js";
import { getJson, getText, sendJson } from "./server.js";

const MOST_AUTHORS = 2;

export class Papers {
  /** `onOpen({md5, title, page})`, `onChosen()` when the choice changes, `onJob(job)` for a removal that was begun. */
  constructor({ onOpen, onChosen, onJob }) {
    this.calls = { onOpen, onChosen, onJob };
    this.all = [];
    this.chosen = new Set();
    byId("find-paper").addEventListener("input", () => this.draw());
    byId("download-bib").addEventListener("click", () => this.download());
  }

  async load() {
    this.all = (await getJson("/papers")).papers;
    const known = new Set(this.all.map((paper) => paper.md5));
    this.chosen = new Set([...this.chosen].filter((md5) => known.has(md5)));
    byId("library-size").textContent = this.all.length ? counted(this.all.length, "paper") : "";
    byId("download-bib").disabled = !this.all.length;
    byId("find-paper").hidden = this.all.length < 2;
    this.draw();
    this.calls.onChosen();
  }

  /** The paper of a citation or a passage: by its path, its md5, or its file's name. */
  of({ md5, path, file }) {
    return this.all.find((paper) => (md5 && paper.md5 === md5) || (path && paper.path === path))
      ?? this.all.find((paper) => paper.file === file);
  }

  byMd5(md5) {
    return this.all.find((paper) => paper.md5 === md5);
  }

  /** The chosen papers; none: all are searched. */
  get chosenPapers() {
    return this.all.filter((paper) => this.chosen.has(paper.md5));
  }

  choose(md5, isChosen) {
    if (isChosen) this.chosen.add(md5);
    else this.chosen.delete(md5);
    const box = byId("papers").querySelector(`input[value="${md5}"]`);
    if (box) box.checked = isChosen;
    this.calls.onChosen();
  }

  draw() {
    const isFound = wordsIn(byId("find-paper"));
    const shown = this.all.filter(({ title, file, metadata }) => isFound([title, file, metadata.year, ...metadata.authors].join(" ")));
    byId("papers").replaceChildren(...shown.map((paper) => this.row(paper)));
    if (!shown.length && this.all.length) byId("papers").append(make("li", { class: "dim small" }, "No paper has these words."));
  }

  row(paper) {
    const by = byLine(paper);
    const title = paper.title || paper.file;
    const more = make("div", { class: "more", hidden: true });
    const unfold = button("▸", () => this.unfold(paper, more, unfold), { title: `Headings of ${title}`, class: "plain unfold", "aria-expanded": "false" });
    return make("li", {},
      make("div", { class: "paper" },
        make("input", {
          type: "checkbox", value: paper.md5, checked: this.chosen.has(paper.md5), "aria-label": `Ask only ${title}`,
          title: "Ask only the papers that are ticked", onchange: (event) => this.choose(paper.md5, event.target.checked),
        }),
        make("button", { type: "button", class: "plain title", title: paper.file, onclick: () => this.calls.onOpen({ ...paper, title, page: 1 }) },
          make("span", { class: "name" }, title), by ? make("span", { class: "dim small by" }, by) : null,
          paper.warnings.length ? make("span", { class: "warning small" }, "⚠ a part could not be read") : null),
        unfold),
      more);
  }

  async unfold(paper, more, unfold) {
    more.hidden = !more.hidden;
    unfold.setAttribute("aria-expanded", String(!more.hidden));
    unfold.textContent = more.hidden ? "▸" : "▾";
    if (more.hidden || more.childElementCount) return;
    try {
      const outline = await getJson(`/papers/${paper.md5}/outline`);
      const places = [
        ...outline.outline.map((entry) => ({ ...entry, text: entry.heading })),
        ...[...outline.tables, ...outline.figures].map((entry) => ({ ...entry, text: entry.caption, level: 1 })),
      ];
      more.append(
        make("p", { class: "small dim" }, [counted(paper.pages, hasPages(paper.file) ? "page" : "paragraph"), counted(paper.chunks, "passage"), paper.metadata.venue, paper.file].filter(Boolean).join(" · ")),
        ...paper.warnings.map((line) => make("p", { class: "warning small" }, line)),
        places.length ? make("ol", { class: "outline" }, places.map((place) => make("li", { class: `level-${Math.min(Math.max(place.level, 1), 3)}` },
          make("button", { type: "button", class: "plain", onclick: () => this.calls.onOpen({ ...paper, page: place.page }) },
            make("span", { class: "text" }, place.text), make("span", { class: "dim" }, placeOf({ ...paper, page: place.page })))))) : make("p", { class: "small dim" }, "No headings were found."),
        make("div", { class: "row" },
          button("BibTeX", () => this.download(paper), { title: `Download the BibTeX of ${paper.title}` }),
          button("Remove …", () => this.remove(paper), { class: "danger", title: `Remove ${paper.title}` })));
    } catch (error) {
      more.append(make("p", { class: "problem small" }, error.message, " ", error.fix ?? ""));
    }
  }

  async remove(paper) {
    const isSure = await confirmed("Remove this paper?", [
      paper.title || paper.file,
      "Its passages leave the library. The file itself stays in papers/; it is not read again until you add it.",
    ], "Remove");
    if (isSure) this.calls.onJob(() => sendJson("DELETE", `/papers/${paper.md5}`));
  }

  async download(paper = null) {
    const chosen = paper ? [paper] : this.chosenPapers;
    const query = chosen.map((each) => `md5=${each.md5}`).join("&");
    const text = await getText(`/bibliography${query ? `?${query}` : ""}`);
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    make("a", { href: url, download: paper ? `${paper.file.replace(/\.\w+$/, "")}.bib` : "papers.bib" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    announce("BibTeX downloaded.");
  }
}

/** "Vaswani, Shazeer et al., 2017". */
export function byLine({ metadata }) {
  const names = metadata.authors.slice(0, MOST_AUTHORS).map((name) => name.split(" ").at(-1)).join(", ");
  const all = metadata.authors.length > MOST_AUTHORS ? `${names} et al.` : names;
  return [all, metadata.year].filter(Boolean).join(", ");
}
