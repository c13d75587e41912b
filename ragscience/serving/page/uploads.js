// Papers by drop or by the button, and the changes of the library that are on their way.

import { announce, button, byId, counted, hasPages, make, withCode } from "./elements.js";
import { getJson, sendJson } from "./server.js";

const LOOK_MS = 700;
const SHOWN_MS = 10_000; // a change that went well needs no click to go away
const MOST_AT_ONCE = 100 << 20;
const MAGIC_WITHIN = 1024;

export class Uploads {
  /** `onChanged()` after each change of the library. */
  constructor(onChanged) {
    this.onChanged = onChanged;
    this.rows = new Map();
    byId("add-papers").addEventListener("click", () => byId("files").click());
    byId("files").addEventListener("change", () => {
      this.add([...byId("files").files]);
      byId("files").value = "";
    });
    this.takeDrops();
  }

  takeDrops() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    let depth = 0;
    const show = (isShown) => { byId("drop").hidden = !isShown; };
    addEventListener("dragenter", (event) => { if (hasFiles(event)) { depth += 1; show(true); } });
    addEventListener("dragleave", (event) => { if (hasFiles(event)) { depth = Math.max(depth - 1, 0); show(depth > 0); } });
    addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      show(false);
      this.add([...event.dataTransfer.files]);
    });
  }

  /** Sends the files, as many at once as may be; what is no PDF is said at once. */
  async add(files) {
    const refused = [];
    let batch = [];
    let size = 0;
    const send = async () => {
      if (!batch.length) return;
      const form = new FormData();
      for (const file of batch) form.append("files", file, file.name);
      const names = batch.length === 1 ? batch[0].name : counted(batch.length, "file");
      [batch, size] = [[], 0];
      await this.follow(() => sendJson("POST", "/uploads", form), `add ${names}`);
    };
    for (const file of files) {
      if (hasPages(file.name) && !(await isPdf(file))) {
        refused.push({ file: file.name, detail: `${file.name} is not a PDF.`, fix: "Add PDFs." });
        continue;
      }
      if (size + file.size > MOST_AT_ONCE) await send();
      batch.push(file);
      size += file.size;
    }
    if (refused.length) this.draw({ job_id: `refused-${Date.now()}`, what: "add " + (refused.length === 1 ? refused[0].file : counted(refused.length, "file")), state: "failed", files: [], failures: refused, warnings: [], total: refused.length, done: 0 });
    await send();
  }

  /** Begins a change (`begin()` gives the job) and shows how far it is until it is done. */
  async follow(begin, what) {
    const row = make("div", { class: "job" }, make("p", {}, `Sending: ${what} …`));
    byId("jobs").append(row);
    try {
      const job = await begin();
      row.remove();
      await this.watch(job, what);
    } catch (error) {
      row.remove();
      this.draw({ job_id: `problem-${Date.now()}`, what, state: "failed", detail: error.message, fix: error.fix, files: [], failures: [], warnings: [], total: 0, done: 0 });
    }
  }

  /** Changes that were on their way before the page was opened. */
  async resume() {
    const { jobs } = await getJson("/jobs");
    for (const job of jobs) if (isOpen(job)) this.watch(job).catch(() => {});
  }

  async watch(job, what = job.what) {
    const show = () => this.draw({ ...job, what });
    let seen = job.files.length;
    show();
    while (isOpen(job)) {
      await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
      job = await getJson(`/jobs/${job.job_id}`);
      show();
      if (job.files.length > seen) {
        seen = job.files.length;
        this.onChanged();
      }
    }
    this.onChanged();
    announce(`${sentence(what)}: ${wordOf(job)}.`);
    if (job.state === "done" && !job.failures.length && !job.warnings.length) setTimeout(() => this.hide(job.job_id), SHOWN_MS);
  }

  hide(id) {
    this.rows.get(id)?.remove();
    this.rows.delete(id);
  }

  draw(job) {
    const row = this.rows.get(job.job_id) ?? make("div", {});
    row.className = `job ${job.state}`;
    if (!this.rows.has(job.job_id)) byId("jobs").append(row);
    this.rows.set(job.job_id, row);
    const isDone = !isOpen(job);
    row.replaceChildren(
      make("div", { class: "row" }, make("p", { class: "grow" }, `${sentence(job.what)}: ${wordOf(job)}`),
        isDone ? button("✕", () => this.hide(job.job_id), { title: "Hide this", class: "plain" }) : null),
      isDone ? "" : make("progress", { "aria-label": job.what, max: String(Math.max(job.total, 1)), value: job.state === "waiting" || !job.done ? null : String(job.done) }),
      ...job.failures.map((failure) => make("p", { class: "problem small" },
        failure.detail.includes(failure.file) ? null : `${failure.file}: `, withCode([failure.detail, failure.fix].filter(Boolean).join(" ")))),
      job.detail ? make("p", { class: "problem small" }, job.detail, job.fix ? ` ${job.fix}` : "") : "",
      ...[...new Set(job.warnings)].map((line) => make("p", { class: "warning small" }, line)));
  }
}

function isOpen(job) {
  return job.state === "waiting" || job.state === "running";
}

function wordOf(job) {
  if (job.state === "waiting") return "waiting";
  if (job.state === "running") return job.total > 1 ? `${job.done} of ${job.total} read` : "reading";
  if (job.state === "failed") return "failed";
  return job.failures.length ? `done, ${counted(job.failures.length, "file")} could not be read` : "done";
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

async function isPdf(file) {
  if (!/\.pdf$/i.test(file.name)) return false;
  const head = new Uint8Array(await file.slice(0, MAGIC_WITHIN).arrayBuffer().catch(() => new ArrayBuffer(0)));
  return new TextDecoder("latin1").decode(head).includes("%PDF-");
}
