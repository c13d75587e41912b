// The map of the papers in a frame: drawn by the server, in the page's theme; a place in a paper is opened in the reader.

import { button, counted, make } from "./elements.js";
import { getJson, sendJson } from "./server.js";

const LOOK_MS = 500;
const PLACE = /^#paper=([0-9a-f]{32})&page=([0-9]{1,6})$/;

document.head.append(make("link", { rel: "stylesheet", href: "/page/map_view.css" }));

export class MapView {
  /** Fills `element`; `onPlace({md5, page})` is called for each place in a paper that is clicked. */
  constructor(element, { onPlace, announce }) {
    this.element = element;
    this.onPlace = onPlace;
    this.announce = announce;
    this.told = make("div", { class: "map-told" });
    this.frame = null;
    this.state = null;
    this.isBuilding = false;
    element.classList.add("map-view");
    const inStep = () => this.keepTheme();
    new MutationObserver(inStep).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", inStep);
  }

  /** Shows the map as the library is now; it is drawn again only where papers or graph have changed. */
  async show() {
    try {
      const graph = await getJson("/graph");
      if (!graph.papers) this.explain("The map shows papers and what they name. There are no papers yet: drop PDFs on the page.");
      else {
        if (!this.isBuilding) this.offerGraph(graph);
        if (!this.frame || this.state !== graph.state) await this.draw(graph);
      }
    } catch (problem) {
      this.fail(problem);
    }
  }

  /** Loads the page of the map behind a message; resolves when it is there. */
  async draw(graph) {
    const waiting = make("p", { class: "map-waiting", role: "status" }, make("span", { class: "map-spinner", "aria-hidden": "true" }),
      "Drawing the map…");
    const frame = make("iframe", { src: "/map", title: "Map of the papers", class: "map-frame" });
    const loaded = new Promise((resolve) => { frame.addEventListener("load", resolve, { once: true }); });
    this.frame = null;
    this.element.replaceChildren(this.told, waiting, frame);
    await loaded;
    if (!frame.contentDocument?.getElementById("canvas")) throw new Error("The map could not be drawn.");
    waiting.remove();
    this.frame = frame;
    this.state = graph.state;
    frame.contentDocument.addEventListener("click", (event) => this.clicked(event));
    // The page around it has the switch.
    frame.contentDocument.getElementById("theme").hidden = true;
    this.keepTheme();
    const entities = graph.entities ? ` and ${counted(graph.entities, "entity", "entities")}` : "";
    this.announce(`The map shows ${counted(graph.papers, "paper")}${entities}.`);
  }

  /** A link to a place in a paper leads to the reader beside; with Ctrl, Shift or the middle button to a tab of its own. */
  clicked(event) {
    const link = event.target.closest("a[href]");
    const place = link && PLACE.exec(link.hash);
    if (!place || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.onPlace({ md5: place[1], page: Number(place[2]) });
  }

  keepTheme() {
    if (!this.frame?.contentDocument) return;
    const { theme } = document.documentElement.dataset;
    const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.frame.contentDocument.documentElement.dataset.theme = isDark ? "dark" : "light";
  }

  /** The line above the map: that there is no graph yet, or that papers are missing in it, and the button for it. */
  offerGraph(graph) {
    if (graph.built && !graph.papers_unread) {
      this.told.replaceChildren();
      return;
    }
    const text = graph.built
      ? `${counted(graph.papers_unread, "paper is", "papers are")} not in the knowledge graph yet.`
      : "There is no knowledge graph yet: the map shows the papers alone.";
    this.told.replaceChildren(make("span", {}, text), button(graph.built ? "Update the graph" : "Build the graph", () => this.build()));
  }

  /** Builds or updates the graph, with its progress, and draws the map again. */
  async build() {
    const bar = make("progress", { "aria-label": "Passages that are read" }), count = make("span", {}, "Building the knowledge graph…");
    this.told.replaceChildren(count, bar);
    this.isBuilding = true;
    try {
      let job = await sendJson("POST", "/graph", {});
      while (["waiting", "running"].includes(job.state)) {
        await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
        job = await getJson(`/jobs/${job.job_id}`);
        if (job.state === "waiting") count.textContent = "Waiting: papers are being read first.";
        else if (job.total) {
          Object.assign(bar, { max: job.total, value: job.done });
          count.textContent = `Reading passages: ${job.done.toLocaleString("en")} of ${job.total.toLocaleString("en")}`;
        }
      }
      if (job.state === "failed") throw Object.assign(new Error(job.detail), { fix: job.fix });
      this.announce("The knowledge graph is built.");
      this.told.replaceChildren();
    } catch (problem) {
      const words = [problem.message, problem.fix].filter(Boolean).join(" ");
      this.told.replaceChildren(make("span", { role: "alert" }, words), button("Try again", () => this.build()));
      return;
    } finally {
      this.isBuilding = false;
    }
    await this.show();
  }

  explain(text) {
    this.frame = null;
    this.element.replaceChildren(make("p", { class: "empty" }, text));
  }

  fail(problem) {
    this.explain([problem.message, problem.fix].filter(Boolean).join(" "));
    this.element.append(button("Try again", () => this.show()));
    this.announce(problem.message);
  }
}
