// Requests to the server: JSON, files, and the events of an answer. Every failure is a `Problem` with what to do.

const API = "/api/v1";

/** A failure with `message`, `fix` (what to do, may be empty) and `status` (0: the server was not reached). */
export class Problem extends Error {
  constructor(message, fix = "", status = 0) {
    super(message);
    this.fix = fix;
    this.status = status;
  }
}

/** The address of a path of the API. */
export const urlOf = (path) => `${API}${path}`;

/** Called where the server wants a sign-in; set by the page. */
export const onSignIn = { call: () => {} };

async function request(path, { method = "GET", body, signal } = {}) {
  const isForm = body instanceof FormData;
  const headers = body && !isForm ? { "Content-Type": "application/json" } : {};
  let response;
  try {
    response = await fetch(`${API}${path}`, {
      method, headers, signal, body: body && !isForm ? JSON.stringify(body) : body, credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer.", "Start it again: python query.py serve");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response) {
  let told = {};
  try {
    told = await response.json();
  } catch { /* no JSON: the status has to do */ }
  if (response.status === 401) onSignIn.call(told);
  return new Problem(told.detail || `The server answered ${response.status}.`, told.fix || "", response.status);
}

/** The JSON at a path of the API. */
export async function getJson(path, options) {
  return (await request(path, options)).json();
}

/** Sends a body (an object, or a form) and gives the JSON of the reply, or null for an empty one. */
export async function sendJson(method, path, body) {
  const text = await (await request(path, { method, body })).text();
  return text ? JSON.parse(text) : null;
}

/** The text at a path of the API. */
export async function getText(path) {
  return (await request(path)).text();
}

/** Asks, and calls `onEvent(name, data)` for each event until the answer is whole; `signal` ends it. */
export async function streamAnswer(body, onEvent, signal) {
  const response = await request("/ask/events", { method: "POST", body, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser(onEvent);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.take(value);
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server stopped in the middle of the answer.", "Start it again, and ask once more.");
  }
}

/** Reads server-sent events out of pieces of text that end anywhere. */
export class EventParser {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
    this.name = "message";
    this.data = [];
  }

  take(text) {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") {
      if (this.data.length) this.onEvent(this.name, JSON.parse(this.data.join("\n")));
      this.name = "message";
      this.data = [];
    } else if (line.startsWith("event:")) this.name = line.slice(6).trim();
    else if (line.startsWith("data:")) this.data.push(line.slice(5).replace(/^ /, ""));
  }
}
