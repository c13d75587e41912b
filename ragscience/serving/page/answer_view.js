// A checked answer: its blocks or sentences, what supports them, what is missing, and how it was found.

import { drawProse, VERDICTS } from "./answer_prose.js";
import { button, counted, hasPages, make, placeOf, raised, withCode } from "./elements.js";
import { getJson, urlOf } from "./server.js";
import { stepLines } from "./step_lines.js";
import { drawTable, isTable } from "./tables.js";

const CONFIDENCE = { high: "high", medium: "medium (read the pages)", low: "low (these passages may not answer it)" };
const MOST_NEAR = 3;
const [SCALE, AROUND] = [1.3, 4]; // pixels a point, and points around what is cut out

/** The answer as an element. `quotes` are its marks; `onCite(mark)` opens a page; `told` warnings are not shown again. */
export function drawAnswer(answer, { quotes, onCite, told }) {
  const cite = (citation, like) => citeButton(quotes.of(citation, like), citation, onCite);
  const body = make("div", { class: "answer" });
  if (isRewritten(answer)) {
    const how = answer.searched.includes(".pdf · ") ? "about" : "understood as";
    body.append(make("p", { class: "dim small" }, `${how}: ${answer.searched}`));
  }
  const isWorded = answer.mode === "llm" && !answer.refused;
  if (answer.blocks.length && !isWorded) body.append(...drawAll(answer.blocks, quotes, cite));
  else if (answer.refused) body.append(make("p", { class: "refusal" }, answer.answer));
  else body.append(...drawProse(answer, cite));
  if (answer.blocks.length && isWorded) {
    body.append(make("p", { class: "dim small" }, "In the papers:"), ...drawAll(answer.blocks, quotes, cite));
  }
  body.append(...footer(answer, cite, told));
  return body;
}

/** One line of what came of it, for screen readers. */
export function summaryOf(answer) {
  if (answer.refused) return answer.answer;
  const claims = claimsOf(answer);
  if (claims.length && answer.citations.length) return `The answer is here: ${heldLine(claims)}.`;
  return `The answer is here, with ${counted(answer.citations.length, "citation")}.`;
}

function isRewritten(answer) {
  const plain = (text) => text.split(/\s+/).join(" ").replace(/[ ?.!]+$/, "");
  return Boolean(answer.searched) && plain(answer.searched) !== plain(answer.question);
}

function citeButton(mark, citation, onCite) {
  const title = mark.md5 ? `Open ${citation.file} at ${hasPages(citation.file) ? "page " : "¶"}${citation.page}` : `${citation.file} is not in the library any more`;
  return make("button", {
    type: "button", class: `cite pdf-colour-${mark.colour}`, title, disabled: !mark.md5, dataset: { mark: mark.id },
    onclick: () => onCite(mark),
  }, make("span", { class: "number", "aria-hidden": "true" }, String(mark.number)), make("span", { class: "file" }, citation.cited_as || citation.file), `, ${placeOf(citation)}`);
}

function* drawAll(blocks, quotes, cite) {
  const until = blocks.findIndex((block) => !block.line || block.is_brief);
  const leading = until < 0 ? blocks : blocks.slice(0, until);
  for (const block of leading) yield make("p", { class: "line" }, keyed(block.line, block.key), cites(block, cite));
  const later = blocks.filter((block) => block.is_brief);
  const below = blocks.filter((block) => !block.is_brief);
  yield* drawBlocks(below.filter((block) => block.kind !== "quote" || block.text !== block.line), quotes, cite);
  if (later.length) yield make("details", { class: "more" }, make("summary", {}, counted(later.length, "more quote")), [...drawBlocks(later, quotes, cite)]);
}

/** The text, with the words that were asked for in bold. */
function keyed(text, key) {
  const at = key ? text.indexOf(key) : -1;
  return at < 0 ? [text] : [text.slice(0, at), make("b", {}, key), text.slice(at + key.length)];
}

function* drawBlocks(blocks, quotes, cite) {
  let list = null;
  for (const block of blocks) {
    if (block.kind === "item") {
      if (!list) {
        list = make("ul", { class: "points" });
        yield list;
      }
      list.append(make("li", {}, lead(block), block.text, cites(block, cite)));
      continue;
    }
    list = null;
    yield drawBlock(block, quotes, cite);
  }
}

function drawBlock(block, quotes, cite) {
  if (block.kind === "heading") return make("h3", {}, block.text, cites(block, cite));
  if (block.kind === "text") return make("div", {}, block.text.split("\n").map((line) => make("p", {}, line)), cites(block, cite));
  const first = block.citations[0];
  const mark = first ? quotes.of(first) : null;
  const attributes = { class: `${block.kind}-block ${mark ? `edge pdf-colour-${mark.colour}` : ""}` };
  if (block.kind === "table") {
    const table = isTable(block.text) ? drawTable(block.text, block.lead, block) : make("p", {}, block.text);
    return make("figure", attributes, table, make("figcaption", {}, cites(block, cite, mark)));
  }
  const behind = cites(block, cite, mark);
  const picture = mark && block.text.includes("[formula, p.") ? printed(mark) : null;
  if (block.kind === "formula") {
    return make("figure", attributes, block.lead ? make("p", { class: "lead" }, block.lead) : null,
      make("div", { class: "formula" }, raised(block.text)), picture, make("figcaption", {}, behind));
  }
  return make("blockquote", attributes, lead(block, "p"), make("p", {}, "“", raised(block.text), "” ", behind), picture);
}

/** The lines of a mark as its page has them, cut from the page's picture: for a formula that could not be read. */
function printed(mark) {
  const frame = make("div", { class: "printed" });
  const draw = async () => {
    const page = `/papers/${mark.md5}/pages/${mark.page}`;
    const { width } = await getJson(`${page}/geometry`);
    const end = (at, of) => of(...mark.boxes.map((box) => box[at]));
    const left = Math.max(0, end(0, Math.min) - AROUND);
    const top = Math.max(0, end(1, Math.min) - AROUND);
    const image = make("img", { src: urlOf(`${page}/image?width=1600`), alt: `As it is printed on page ${mark.page}` });
    Object.assign(frame.style, { width: `${SCALE * (end(2, Math.max) + AROUND - left)}px`, height: `${SCALE * (end(3, Math.max) + AROUND - top)}px` });
    Object.assign(image.style, { width: `${SCALE * width}px`, left: `${-SCALE * left}px`, top: `${-SCALE * top}px` });
    frame.append(image);
  };
  if (!mark.md5 || !mark.boxes.length) return null;
  draw().catch(() => frame.remove()); // without its file the words have to do
  return frame;
}

function lead(block, name = "span") {
  return block.lead ? make(name, { class: "lead" }, block.lead, name === "span" ? ": " : null) : null;
}

/** The pages behind a block, each once. */
function cites(block, cite, like = null) {
  const seen = new Map();
  for (const citation of block.citations) {
    const key = `${citation.file}\n${citation.page}`;
    const button = cite(citation, like); // every quote becomes a mark, also one that has no button of its own
    if (!seen.has(key)) seen.set(key, button);
  }
  return [...seen.values()].flatMap((button) => [" ", button]);
}

function claimsOf(answer) {
  return answer.sentences.filter((sentence) => sentence.verdict in VERDICTS);
}

function heldLine(claims) {
  const held = claims.filter((sentence) => sentence.verdict === "supported").length;
  return `${held} of ${counted(claims.length, "sentence")} supported`;
}

function* footer(answer, cite, told) {
  const claims = answer.refused || !answer.citations.length ? [] : claimsOf(answer);
  if (claims.length) {
    const held = claims.filter((sentence) => sentence.verdict === "supported").length;
    const verdict = held === claims.length ? "supported" : held ? "weak" : "unsupported";
    yield make("p", { class: `held ${verdict}` }, `${VERDICTS[verdict].sign} ${heldLine(claims)}`);
  }
  if (answer.confidence && !answer.refused) {
    yield make("p", { class: `confidence ${answer.confidence}` }, `Confidence: ${CONFIDENCE[answer.confidence]}`);
  }
  for (const line of answer.missing.filter((line) => !answer.answer.includes(line))) {
    yield make("p", { class: "missing" }, make("span", { "aria-hidden": "true" }, "⚠ "), line);
  }
  yield* nearest(answer, cite);
  if (answer.route_note) yield make("p", { class: "dim small" }, answer.route_note);
  if (answer.mode === "llm") { // under quotes they only say how these were found
    yield* answer.warnings.filter((line) => !told.has(line)).map((line) => make("p", { class: "warning small" }, withCode(line)));
    for (const line of answer.warnings) told.add(line);
  }
  yield howFound(answer, cite);
}

/** Under a refusal what is nearest; under an answer without citations, what the model was given. */
function* nearest(answer, cite) {
  if (answer.citations.length || (!answer.refused && answer.mode !== "llm") || !answer.hits.length) return;
  const near = answer.refused ? answer.hits.filter((hit) => isNear(answer.question, hit.text)).slice(0, MOST_NEAR) : answer.hits;
  if (!near.length) return;
  const title = answer.refused ? "The nearest passages:" : "No citation: nothing could be checked. The passages that the model was given:";
  yield make("p", { class: answer.refused ? "dim small" : "warning small" }, title);
  yield drawHits(near, cite, { isShort: true });
}

/** Whether a passage has two of the question's longer words, or its only one. */
function isNear(question, text) {
  const words = [...new Set(question.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [])];
  const there = text.toLowerCase();
  return words.filter((word) => there.includes(word.slice(0, 6))).length >= Math.min(2, Math.max(words.length, 1));
}

/** Passages with their pages; short: their beginnings alone. */
export function drawHits(hits, cite, { isShort = false } = {}) {
  return make("ol", { class: "hits" }, hits.map((hit) => {
    const page = { file: hit.file, path: hit.path, page: hit.page_start, quote: hit.text, boxes: hit.boxes ?? [], start: 0, end: 0, md5: hit.md5 };
    const text = isShort && hit.text.length > 220 ? `${hit.text.slice(0, 220).replace(/\s+\S*$/, "")} …` : hit.text;
    const shown = isTable(text.slice(text.indexOf("|"))) && !isShort
      ? drawTable(text.slice(text.indexOf("|")), text.slice(0, text.indexOf("|")).trim())
      : make("p", {}, text);
    return make("li", {}, make("p", { class: "small" }, cite(page), hit.section ? make("span", { class: "dim" }, ` ${hit.section}`) : null), shown);
  }));
}

/** What was searched, with which models, in which time; closed until somebody wants it. */
function howFound(answer, cite) {
  const facts = [
    ["profile", answer.profile],
    ["model", answer.models.llm ?? "none: the answer is quotes"],
    ["reranker", answer.models.reranker],
    ["passages", answer.verdict],
    ["time", answer.timings_ms.total_ms ? `${(answer.timings_ms.total_ms / 1000).toFixed(2)} s` : null],
    ["answer", answer.answer_id],
  ].filter(([, value]) => value);
  const details = make("details", { class: "how" }, make("summary", {}, "How it was found"),
    make("p", { class: "small dim" }, facts.map(([name, value]) => `${name}: ${value}`).join("  ·  ")),
    answer.trace.length ? make("ol", { class: "steps" }, answer.trace.flatMap(stepLines).map((line) => make("li", {}, line))) : null,
    answer.warnings.map((line) => make("p", { class: "small" }, withCode(line))));
  if (answer.hits.length) {
    const passages = make("details", { class: "how" }, make("summary", {}, counted(answer.hits.length, "passage")));
    passages.addEventListener("toggle", () => {
      if (passages.open && passages.childElementCount === 1) passages.append(drawHits(answer.hits, cite));
    });
    details.append(passages);
  }
  return make("div", { class: "under" },
    button("Copy", (event) => copy(answer.answer, event.currentTarget), { title: "Copy the answer with its citations" }), details);
}

async function copy(text, where) {
  try {
    await navigator.clipboard.writeText(text);
    where.textContent = "Copied";
  } catch {
    where.textContent = "Not allowed by the browser";
  }
  setTimeout(() => { where.textContent = "Copy"; }, 1500);
}
