// Dialogs: a question with two answers, a text to copy, the keys, the sign-in.

import { button, byId, make } from "./elements.js";
import { getJson, sendJson } from "./server.js";

/** Asks; gives whether the answer was yes. */
export function confirmed(title, lines, yes) {
  const dialog = byId("confirm");
  return new Promise((resolve) => {
    const close = (value) => () => dialog.close(value);
    const no = button("Cancel", close("no"));
    dialog.replaceChildren(make("h2", { id: "confirm-title" }, title), ...lines.map((line) => make("p", {}, line)),
      make("div", { class: "row" }, no, button(yes, close("yes"), { class: "danger" })));
    dialog.returnValue = "no";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
    no.focus();
  });
}

/** Shows texts, each with a button that copies it. */
export function showTexts(title, texts) {
  const dialog = byId("confirm");
  dialog.replaceChildren(make("h2", { id: "confirm-title" }, title),
    ...texts.flatMap((text) => [make("pre", {}, text), button("Copy", async (event) => {
      const where = event.currentTarget;
      await navigator.clipboard.writeText(text).catch(() => {});
      where.textContent = "Copied";
    })]),
    make("div", { class: "row" }, button("Close", () => dialog.close())));
  dialog.showModal();
}

const KEYS = [
  ["/", "Go to the question"],
  ["Enter", "Ask"],
  ["Shift + Enter", "A new line in the question"],
  ["Esc", "Stop the answer; close what is open"],
  ["]  or  j", "Next citation, with its page"],
  ["[  or  k", "The citation before"],
  ["f", "Find a paper"],
  ["n", "New conversation"],
  ["m", "Map of the papers"],
  ["o", "Filters and options"],
  ["?", "This list"],
];

export function showKeys() {
  const dialog = byId("keys");
  dialog.replaceChildren(make("h2", { id: "keys-title" }, "Keys"),
    make("dl", {}, KEYS.map(([key, text]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, text)])),
    make("div", { class: "row" }, button("Close", () => dialog.close())));
  dialog.showModal();
}

/** The form for a token; `onDone()` once it is accepted. */
export function showSignIn(onDone) {
  const dialog = byId("sign-in");
  if (dialog.open) return;
  const told = make("p", { class: "problem", role: "alert", hidden: true });
  const token = make("input", { type: "password", id: "token", autocomplete: "current-password", required: true, maxlength: "500" });
  const form = make("form", {}, make("h2", { id: "sign-in-title" }, "Sign in"),
    make("p", {}, "This library asks who you are. The person who runs it gives you a token."),
    make("label", { for: "token" }, "Token"), token, told,
    make("div", { class: "row" }, make("button", { type: "submit", class: "main" }, "Sign in")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await sendJson("POST", "/session", { token: token.value.trim() });
      dialog.close();
      onDone();
    } catch (error) {
      told.textContent = `${error.message} ${error.fix ?? ""}`;
      told.hidden = false;
      token.select();
    }
  });
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.replaceChildren(form);
  dialog.showModal();
}

/** Who is signed in: `{name, role, sign_in}`; the name is shown with a way out where this server asks for a token. */
export async function showPerson() {
  const session = await getJson("/session");
  document.body.dataset.role = session.role ?? "";
  byId("person").textContent = session.name ?? "";
  byId("sign-out").hidden = !session.sign_in || session.name === null;
  byId("sign-out").onclick = async () => {
    await sendJson("DELETE", "/session");
    location.reload();
  };
  return session;
}
