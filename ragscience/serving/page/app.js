// Puts the page together: its regions, the theme, and what belongs to the whole of it.

import { byId } from "./elements.js";
import { Reader } from "./reader.js";
import { getJson } from "./server.js";

const reader = new Reader({
  onMark: () => {},
  onAsk: () => {},
  onSimilar: () => {},
  onCite: () => {},
  onPlace: () => {},
  onRegion: showRegion,
});

/** On a narrow screen one region is seen at a time. */
function showRegion(name) {
  document.body.dataset.region = name;
  for (const each of document.querySelectorAll("nav.bottom button")) {
    if (each.dataset.to === name) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

for (const each of document.querySelectorAll("nav.bottom button")) {
  each.addEventListener("click", () => showRegion(each.dataset.to));
}
byId("open-map").addEventListener("click", () => reader.openMap());
const { papers } = await getJson("/papers");
byId("papers").replaceChildren(...papers.map((paper) => {
  const item = document.createElement("li");
  const open = document.createElement("button");
  open.textContent = paper.title;
  open.addEventListener("click", () => reader.openPaper({ md5: paper.md5, title: paper.title }));
  item.append(open);
  return item;
}));
