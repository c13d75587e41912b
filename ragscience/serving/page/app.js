// Puts the page together: library, chat and reader, the theme, the address, and what goes wrong with the whole of it.

import { Conversations } from "./conversations.js";
import { ConversationView } from "./conversation_view.js";
import { showKeys, showPerson, showSignIn, showTexts } from "./dialogs.js";
import { DraftView } from "./draft.js";
import { announce, button, byId, hasPages, make, withCode } from "./elements.js";
import { listenToKeys, listenToQuestion } from "./keys.js";
import { byLine, Papers } from "./papers.js";
import { QuestionOptions } from "./question_options.js";
import { Reader } from "./reader.js";
import { getJson, getText, onSignIn, Problem } from "./server.js";
import { Uploads } from "./uploads.js";

const papers = new Papers({
  onOpen: (paper) => {
    if (document.body.dataset.library === "over") toggleLibrary();
    reader.openPaper(paper);
  },
  onChosen: () => options.drawChips(),
  onJob: (begin) => uploads.follow(begin, "remove"),
});
const options = new QuestionOptions(papers);
const chat = new ConversationView({
  papers,
  onCite: (mark, marks) => {
    chat.setCurrent(mark.id);
    openMark(mark, marks);
  },
  onChanged: (number) => {
    setNumber(number);
    conversations.load().catch(() => {});
  },
  onState: showState,
});
const draft = new DraftView({ papers, onCite: openMark });
const conversations = new Conversations({
  onOpen: (number) => openConversation(number),
  onDeleted: (number) => { if (number === chat.number) newConversation(); },
  onProblem: notice,
});
const uploads = new Uploads(() => loadPapers());
const reader = new Reader({
  onMark: (id) => {
    showRegion("chat");
    chat.showMark(id);
  },
  onAsk: (text, place) => {
    const paper = papers.byMd5(place.md5);
    if (paper) papers.choose(paper.md5, true);
    writeQuestion(`\n“${text}”`);
  },
  onSimilar: (text) => {
    showRegion("chat");
    chat.similar(text, options.part());
  },
  onCite: citeText,
  onPlace: openPlace,
  onRegion: showRegion,
});
const grow = listenToQuestion(ask);

/** The page of a passage, with all marks on its paper. */
function openMark(mark, marks) {
  reader.openPaper({ md5: mark.md5, file: papers.byMd5(mark.md5)?.file, title: mark.title, page: mark.page, marks, focus: mark.id });
}

/** A place that the map or an address names. */
function openPlace({ md5, page }) {
  const paper = papers.byMd5(md5);
  if (paper) reader.openPaper({ ...paper, page });
}

function showState() {
  byId("send").hidden = chat.isAsking;
  byId("stop").hidden = !chat.isAsking;
}

async function ask(question = byId("question").value.trim(), more = {}) {
  if (!question || chat.isAsking) return;
  writeQuestion("", false);
  options.toggle(false);
  showRegion("chat");
  const isAnswered = await chat.ask({ question, ...options.body(), ...more });
  if (!isAnswered && !byId("question").value) writeQuestion(question, false);
}

function writeQuestion(text, isFocused = true) {
  byId("question").value = text;
  grow();
  if (!isFocused) return;
  showRegion("chat");
  byId("question").focus();
  byId("question").setSelectionRange(0, 0);
}

async function citeText(text, place) {
  const paper = papers.byMd5(place.md5);
  if (!paper) return;
  const bib = await getText(`/bibliography?md5=${place.md5}`).catch(() => "");
  showTexts("Cite", [`“${text}” (${[byLine(paper), hasPages(paper.file) ? `p. ${place.page}` : `¶${place.page}`].filter(Boolean).join(", ")})`, bib.trim()].filter(Boolean));
}

/** On a narrow screen one region is seen at a time. */
function showRegion(name) {
  document.body.dataset.region = name;
  for (const each of document.querySelectorAll("nav.bottom button")) {
    if (each.dataset.to === name) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

async function openConversation(number) {
  try {
    setNumber(number);
    await chat.open(number);
    showRegion("chat");
  } catch (error) {
    newConversation();
    notice(error);
  }
}

function newConversation() {
  chat.clear();
  setNumber(null);
  welcome();
  showRegion("chat");
  byId("question").focus();
}

/** The conversation's number is in the address, so that a reload and the back button find it again. */
function setNumber(number) {
  conversations.setCurrent(number);
  const hash = number ? `#conversation=${number}` : "";
  if (location.hash !== hash) history.pushState(null, "", hash || location.pathname);
}

function numberInAddress() {
  return Number(/^#conversation=(\d{1,15})$/.exec(location.hash)?.[1] ?? 0) || null;
}

/** A link of the map that is opened in a tab of its own leads to a page of a paper. */
function placeInAddress() {
  const found = /^#paper=([0-9a-f]{32})&page=(\d{1,6})$/.exec(location.hash);
  return found && { md5: found[1], page: Number(found[2]) };
}

function welcome() {
  byId("turns").querySelector(".welcome")?.remove();
  if (byId("turns").childElementCount) return;
  const [newest] = papers.all.toSorted((one, other) => (other.metadata.year ?? 0) - (one.metadata.year ?? 0));
  const starters = [["Which papers do I have?"], ["What is my library about?"],
    [`Summarize “${newest?.title || newest?.file}”`, { part: { papers: [newest?.md5] } }]];
  const inner = papers.all.length
    ? [make("h2", {}, "Ask your papers"),
      make("p", { class: "dim" }, "Every sentence of an answer comes with the page behind it. Click the page to read it there."),
      make("div", { class: "examples" }, starters.map(([text, more]) => button(text, () => ask(text, more))))]
    : [make("h2", {}, "No papers yet"),
      make("p", {}, "Drop PDFs or other papers anywhere on this page, or choose them. They stay on this machine."),
      button("Add PDFs", () => byId("files").click(), { class: "main" })];
  byId("turns").append(make("div", { class: "welcome" }, inner));
}

/** What is wrong with the whole page, with a way to try again. */
function notice(error) {
  const isProblem = error instanceof Problem;
  if (!isProblem) console.error(error);
  if (error.status === 401) return;
  byId("notice").replaceChildren(make("strong", {}, isProblem ? withCode(error.message) : "The page could not be loaded."),
    make("span", {}, withCode(error.fix ?? "")), button("Try again", () => load()),
    button("✕", () => { byId("notice").hidden = true; }, { title: "Hide this", class: "plain" }));
  byId("notice").hidden = false;
}

function signIn() {
  showSignIn(load);
}

async function loadPapers() {
  try {
    await papers.load();
    if (byId("turns").querySelector(".welcome")) welcome();
  } catch (error) {
    notice(error);
  }
}

async function load() {
  byId("notice").hidden = true;
  try {
    const person = await showPerson();
    if (person.sign_in && person.name === null) {
      signIn();
      return;
    }
    await papers.load();
    await Promise.all([options.load(), conversations.load(), uploads.resume()]);
    const number = numberInAddress();
    if (number) await openConversation(number);
    else welcome();
    const place = placeInAddress();
    if (place) openPlace(place);
  } catch (error) {
    notice(error);
  }
}

function switchTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = isDark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("theme", theme);
  } catch { /* storage is switched off: it holds until the page is left */ }
  announce(`The theme is ${theme}.`);
}

/** Hides the library, or shows it: over the chat where there is no room beside it. */
function toggleLibrary() {
  const isSeen = byId("library").checkVisibility();
  document.body.dataset.library = isSeen ? "closed" : "open";
  if (!isSeen && !byId("library").checkVisibility()) document.body.dataset.library = "over";
  byId("show-library").setAttribute("aria-expanded", String(!isSeen));
}

function escape() {
  if (chat.isAsking) {
    chat.stop();
    showState();
  } else if (options.isOpen) {
    options.toggle(false);
    byId("question").focus();
  } else if (reader.isOpen) {
    reader.close();
    byId("question").focus();
  } else document.activeElement.blur();
}

for (const each of document.querySelectorAll("nav.bottom button")) {
  each.addEventListener("click", () => {
    if (each.dataset.to === "reader" && !reader.isOpen) reader.open("pdf");
    showRegion(each.dataset.to);
  });
}
byId("open-map").addEventListener("click", () => reader.openMap());
byId("open-draft").addEventListener("click", () => draft.toggle());
byId("switch-theme").addEventListener("click", switchTheme);
byId("show-library").addEventListener("click", toggleLibrary);
byId("show-keys").addEventListener("click", showKeys);
byId("new-conversation").addEventListener("click", newConversation);
byId("stop").addEventListener("click", escape);
addEventListener("popstate", () => {
  const place = placeInAddress();
  if (place) {
    openPlace(place);
    return;
  }
  const number = numberInAddress();
  if (number !== chat.number) number ? openConversation(number) : newConversation();
});
listenToKeys({
  "/": () => { showRegion("chat"); byId("question").focus(); },
  "?": showKeys,
  "]": () => chat.step(1),
  "[": () => chat.step(-1),
  f: () => { showRegion("library"); byId("find-paper").focus(); },
  n: newConversation,
  m: () => reader.openMap(),
  o: () => options.toggle(),
  escape,
});
onSignIn.call = signIn;
showState();
load();
