// Tables written in Markdown, as tables.

import { button, make, raised } from "./elements.js";

const RULE = /^\|?[\s:|-]+\|?$/;

/** The cells of a line of a Markdown table. */
function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
}

/** Whether a text is a table: a line of cells, a rule, and more lines. */
export function isTable(text) {
  const lines = text.trim().split("\n");
  return lines.length >= 2 && lines[0].includes("|") && RULE.test(lines[1].trim()) && lines[1].includes("-");
}

const SHOWN = 10;

/** The table, in a box that scrolls sideways where it is wide, with its first rows; rows that are the answer are marked. */
export function drawTable(text, caption = "", { line = "", key = "" } = {}) {
  const [head, , ...lines] = text.trim().split("\n");
  const rows = lines.filter((line) => line.trim()).map(cells);
  const names = cells(head);
  const asked = new Set(line.split(" · ").map((part) => {
    const named = rows.filter((row) => row[0] && part.startsWith(row[0]));
    return named.find((row) => row.includes(key)) ?? named[0];
  }));
  const width = Math.max(names.length, ...rows.map((row) => row.length));
  const padded = (row) => [...row, ...Array(width - row.length).fill("")];
  const isNumber = (text) => /^[-+−~]?[\d.,]+(?:\s*[%±·×^+−-]\s*[\d.,^]+)*\s*%?$/.test(text);
  const areNumbers = names.map((_, at) => rows.every((row) => !row[at] || isNumber(row[at])));
  const table = make("table", {},
    make("thead", {}, make("tr", {}, padded(names).map((name, at) => make("th", { scope: "col", class: at && areNumbers[at] ? "number" : null }, raised(name))))),
    make("tbody", {}, rows.map((row) => make("tr", { class: asked.has(row) ? "sought" : null }, padded(row).map((cell, at) => (
      at === 0 ? make("th", { scope: "row" }, raised(cell)) : make("td", { class: areNumbers[at] ? "number" : null }, raised(cell))))))));
  const box = make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption || "Table" }, table);
  const more = rows.length > SHOWN ? unfolding(table, rows.length) : null;
  return caption || more ? make("div", {}, caption ? make("p", { class: "lead" }, caption) : null, box, more) : box;
}

/** Hides the rows behind the first ones; a button that shows them, and hides them again. */
function unfolding(table, count) {
  const later = [...table.tBodies[0].rows].slice(SHOWN).filter((row) => row.className !== "sought");
  const fold = (isFolded) => {
    for (const row of later) row.hidden = isFolded;
    more.textContent = isFolded ? `Show all ${count} rows` : `Show the first ${SHOWN} rows`;
    more.setAttribute("aria-expanded", String(!isFolded));
  };
  const more = button("", () => fold(!later[0].hidden), { class: "plain unfold-rows" });
  fold(true);
  return more;
}
