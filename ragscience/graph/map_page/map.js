"use strict";
/* Draws the data of this file on a canvas. Texts of papers are only ever set as text, never as markup. */
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const canvas = byId("canvas"), pen = canvas.getContext("2d"), tip = byId("tip"), panel = byId("panel");
  // Okabe and Ito's colours, which the colour-blind tell apart; each type has a shape of its own as well.
  const LOOKS = {
    PAPER: ["page", "#0072b2", "#4ba3db"], CONCEPT: ["circle", "#0072b2", "#4ba3db"],
    METHOD: ["square", "#e69f00", "#e69f00"], ALGORITHM: ["triangle", "#009e73", "#2bc49a"],
    DATASET: ["diamond", "#b6568c", "#d98cb8"], METRIC: ["hexagon", "#d55e00", "#f0763a"],
    PERSON: ["star", "#3a8fc4", "#8fd0f5"], ORGANISATION: ["pentagon", "#8c6d1f", "#f0e442"],
    TASK: ["wedge", "#5d6470", "#b9c0cb"],
  };
  const CORNERS = { triangle: [3, 0, 1.25], diamond: [4, 0, 1.2], hexagon: [6, 0, 1.05], pentagon: [5, 0, 1.1], wedge: [3, Math.PI, 1.25] };
  const LABELS = 150, WEAK = "CO_OCCURS", SIMILAR = "SIMILAR_TO";

  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const readable = (kind) => kind.toLowerCase().replaceAll("_", " ");
  const views = data.views.map((raw) => {
    const nodes = raw.nodes.map((n, at) => ({
      at, label: n[0], kind: raw.kinds[n[1]], x: n[2], y: n[3], r: n[4], degree: n[5], names: n[6], fact: n[7],
      files: n[8], quotes: n[9], more: n[10], edges: [], key: fold([n[0], ...n[6]].join("\n")),
    }));
    const edges = raw.edges.map((e) => ({ a: nodes[e[0]], b: nodes[e[1]], kind: raw.relations[e[2]], weight: e[3], quotes: e[4] }));
    for (const edge of edges) { edge.a.edges.push(edge); edge.b.edges.push(edge); }
    const order = [...nodes].sort((one, two) => two.degree - one.degree || one.at - two.at);
    return { name: raw.name, kinds: raw.kinds, relations: raw.relations, leftOut: raw.leftOut, nodes, edges, order,
      hidden: new Set(), camera: null, chosen: null };
  });
  let view = views.find((one) => one.nodes.length) || views[0];
  let hovered = null, width = 0, height = 0, waiting = false;

  /* Small things */
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const button = (text, act) => {
    const element = make("button", text);
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  };
  const many = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
  const dark = () => document.documentElement.dataset.theme === "dark";
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paint = (kind) => (LOOKS[kind] || ["circle", "#777777", "#aaaaaa"])[dark() ? 2 : 1];
  const shown = (node) => !view.hidden.has(node.kind);
  const visible = (edge) => shown(edge.a) && shown(edge.b) && !view.hidden.has(edge.kind);
  const other = (edge, node) => (edge.a === node ? edge.b : edge.a);

  /* Camera: the point of the drawing in the middle of the canvas, and how many pixels a unit has */
  const onScreen = (node) => [(node.x - view.camera.x) * view.camera.k + width / 2, (node.y - view.camera.y) * view.camera.k + height / 2];
  const fit = () => {
    const nodes = view.nodes.filter(shown);
    if (!nodes.length || !width) { view.camera = { x: 0, y: 0, k: 1 }; return draw(); }
    // A few far ones may stay outside of a large drawing, so that the rest can be seen.
    const span = (axis) => {
      const values = nodes.map((node) => node[axis]).sort((one, two) => one - two);
      const cut = Math.floor(values.length * 0.005);
      return [values[cut], values[values.length - 1 - cut]];
    };
    const [left, right] = span("x"), [top, bottom] = span("y");
    const roomX = Math.max(80, width - 2 * Math.min(110, width / 6)), roomY = Math.max(80, height - 110);
    const k = Math.min(roomX / Math.max(right - left, 40), roomY / Math.max(bottom - top, 40), 3);
    view.camera = { x: (left + right) / 2, y: (top + bottom) / 2, k };
    return draw();
  };
  const zoom = (factor, x = width / 2, y = height / 2) => {
    const { k } = view.camera, next = Math.min(12, Math.max(0.02, k * factor));
    view.camera.x += (x - width / 2) * (1 / k - 1 / next);
    view.camera.y += (y - height / 2) * (1 / k - 1 / next);
    view.camera.k = next;
    draw();
  };

  /* Drawing */
  const outline = (to, kind, x, y, r) => {
    const shape = (LOOKS[kind] || ["circle"])[0];
    to.beginPath();
    if (shape === "square") to.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76);
    else if (shape === "page") to.rect(x - r * 0.8, y - r, r * 1.6, r * 2);
    else if (shape === "circle") to.arc(x, y, r, 0, 7);
    else {
      const [corners, turn, size] = CORNERS[shape] || [10, 0, 1.3];
      for (let i = 0; i < corners; i += 1) {
        const angle = turn - Math.PI / 2 + (i * 2 * Math.PI) / corners, reach = r * size * (shape === "star" && i % 2 ? 0.5 : 1);
        to.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
      }
      to.closePath();
    }
  };
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawNow(); });
  };
  const drawNow = () => {
    if (!width || !view.camera) return;
    const scale = window.devicePixelRatio || 1, { k } = view.camera;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const active = (hovered && hovered.node) || view.chosen;
    const near = new Set(active ? [active, ...active.edges.filter(visible).map((edge) => other(edge, active))] : []);
    drawEdges(active, k);
    const edge = colour("--back");
    const places = new Map();
    for (let i = view.order.length - 1; i >= 0; i -= 1) {
      const node = view.order[i];
      if (!shown(node)) continue;
      const [x, y] = onScreen(node), r = Math.max(2.2, node.r * k);
      if (x < -r - 60 || y < -r - 30 || x > width + r + 60 || y > height + r + 30) continue;
      places.set(node, [x, y, r]);
      pen.globalAlpha = active && !near.has(node) ? 0.22 : 1;
      outline(pen, node.kind, x, y, r);
      pen.fillStyle = paint(node.kind);
      pen.fill();
      pen.lineWidth = node === view.chosen ? 3 : 1;
      pen.strokeStyle = node === view.chosen ? colour("--ink") : edge;
      pen.stroke();
    }
    pen.globalAlpha = 1;
    drawLabels(active, near, places, k);
  };
  const drawEdges = (active, k) => {
    const line = colour("--edge"), crowd = Math.min(1, Math.sqrt(400 / Math.max(400, view.edges.length)));
    const lines = [[], []];
    for (const edge of view.edges) if (visible(edge) && edge.a !== active && edge.b !== active) lines[edge.kind === WEAK ? 0 : 1].push(edge);
    for (const [strong, edges] of lines.entries()) {
      pen.globalAlpha = (active ? 0.35 : 1) * (strong ? 0.25 + 0.45 * crowd : 0.12 + 0.28 * crowd);
      pen.strokeStyle = line;
      pen.lineWidth = strong ? 1.2 : 0.8;
      pen.beginPath();
      for (const edge of edges) { pen.moveTo(...onScreen(edge.a)); pen.lineTo(...onScreen(edge.b)); }
      pen.stroke();
    }
    const special = active ? active.edges.filter(visible) : [];
    if (hovered && hovered.edge) special.push(hovered.edge);
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = colour("--accent");
    for (const edge of special) {
      const [x1, y1] = onScreen(edge.a), [x2, y2] = onScreen(edge.b);
      pen.lineWidth = edge.kind === WEAK ? 1 : 1.8;
      pen.setLineDash(edge.kind === WEAK ? [4, 4] : []);
      pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
      pen.setLineDash([]);
      if (edge.kind === WEAK || edge.kind === SIMILAR) continue;
      const angle = Math.atan2(y2 - y1, x2 - x1), back = Math.max(2.2, edge.b.r * k) + 2;
      const x = x2 - back * Math.cos(angle), y = y2 - back * Math.sin(angle);
      pen.beginPath(); pen.moveTo(x, y);
      for (const side of [-0.42, 0.42]) pen.lineTo(x - 9 * Math.cos(angle + side), y - 9 * Math.sin(angle + side));
      pen.closePath(); pen.fill();
    }
  };
  const wrapped = (text) => {
    if (text.length <= 28) return [text];
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines[lines.length - 1];
      if (!last || last.length + word.length < 28) lines[lines.length - 1] = last ? `${last} ${word}` : word;
      else lines.push(word);
    }
    const cut = lines.slice(0, 2).map((one) => (one.length > 34 ? `${one.slice(0, 33)}…` : one));
    if (lines.length > 2) cut[1] = `${cut[1].slice(0, 32)}…`;
    return cut;
  };
  const drawLabels = (active, near, places, k) => {
    const ink = colour("--ink"), halo = colour("--back"), taken = [];
    const first = active ? [active, ...[...near].filter((node) => node !== active).sort((one, two) => two.degree - one.degree)] : [];
    let left = LABELS;
    pen.textAlign = "center"; pen.textBaseline = "top"; pen.lineJoin = "round";
    const place = (node, strong) => {
      const spot = places.get(node);
      if (!spot || left <= 0) return;
      const [x, y, r] = spot, size = strong ? 13 : Math.round(Math.min(14, Math.max(11, 9 + node.r * k * 0.25)));
      pen.font = `${strong ? "600 " : ""}${size}px system-ui, "Noto Sans", "DejaVu Sans", sans-serif`;
      node.lines ||= wrapped(node.label);
      const wide = Math.max(...node.lines.map((line) => pen.measureText(line).width)) / 2 + 3, high = node.lines.length * (size + 2);
      const top = y + r * 1.25 + 2, box = [x - wide, top - 1, x + wide, top + high];
      if (box[0] < 0 || box[2] > width || box[3] > height) { if (node !== active) return; }
      if (node !== active && taken.some((one) => box[0] < one[2] && one[0] < box[2] && box[1] < one[3] && one[1] < box[3])) return;
      taken.push(box);
      left -= 1;
      pen.lineWidth = 3.5; pen.strokeStyle = halo; pen.fillStyle = ink;
      for (const [at, line] of node.lines.entries()) {
        pen.strokeText(line, x, top + at * (size + 2));
        pen.fillText(line, x, top + at * (size + 2));
      }
    };
    for (const node of first) place(node, node === active);
    if (active) return;
    for (const [at, node] of view.order.entries()) if (at < 60 || node.r * k > 4.5) place(node, false);
  };

  /* What is under a point of the canvas */
  const under = (x, y) => {
    let best = null, least = Infinity;
    for (const node of view.nodes) {
      if (!shown(node)) continue;
      const [nx, ny] = onScreen(node), gap = Math.hypot(nx - x, ny - y) - Math.max(2.2, node.r * view.camera.k);
      if (gap < 4 && gap < least) [best, least] = [{ node }, gap];
    }
    if (best) return best;
    least = 5;
    const chosen = view.chosen;
    for (const edge of chosen ? chosen.edges : view.edges) {
      if (!visible(edge)) continue;
      const [ax, ay] = onScreen(edge.a), [bx, by] = onScreen(edge.b), dx = bx - ax, dy = by - ay;
      const along = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
      const gap = Math.hypot(ax + along * dx - x, ay + along * dy - y);
      if (gap < least) [best, least] = [{ edge }, gap];
    }
    return best;
  };

  /* Texts */
  const marked = (parent, text, names) => {
    const words = names.map((name) => name.trim().split(/[\s\u2010-\u2015-]+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[\\s\\u2010-\\u2015-]+"))
      .filter(Boolean).sort((one, two) => two.length - one.length);
    const parts = words.length ? text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu")) : [text];
    for (const [at, part] of parts.entries()) if (part) parent.append(at % 2 ? make("mark", part) : part);
  };
  const quote = ([file, page, text], names, tag = "blockquote") => {
    const element = make(tag);
    marked(element, text, names);
    element.append(make("cite", `${data.files[file]}, p.${page}`));
    return element;
  };
  const saying = (edge) => (edge.kind === SIMILAR ? `similar (${edge.weight.toFixed(2)})` : readable(edge.kind));
  const called = (node) => (node.kind === "PAPER" ? [] : [node.label, ...node.names]);
  const showTip = (x, y) => {
    tip.replaceChildren();
    tip.hidden = !hovered;
    if (!hovered) return;
    const { node, edge } = hovered;
    if (node) {
      tip.append(make("b", node.label), make("p", `${readable(node.kind)}, ${many(node.degree, "relation")}; ${node.fact}`, "dim"));
      if (node.quotes.length) tip.append(quote(node.quotes[0], called(node), "p"));
    } else {
      tip.append(make("b", edge.kind === SIMILAR ? `${edge.a.label} and ${edge.b.label}` : `${edge.a.label} ${saying(edge)} ${edge.b.label}`));
      if (edge.kind === SIMILAR) tip.append(make("p", `Cosine ${edge.weight.toFixed(2)}; the two passages nearest to each other:`, "dim"));
      for (const one of edge.quotes) tip.append(quote(one, [...called(edge.a), ...called(edge.b)], "p"));
    }
    const right = x + 16 + tip.offsetWidth > width, low = y + 16 + tip.offsetHeight > height;
    tip.style.left = `${Math.max(4, right ? x - tip.offsetWidth - 12 : x + 16)}px`;
    tip.style.top = `${Math.max(4, low ? y - tip.offsetHeight - 12 : y + 16)}px`;
  };
  const papersView = views.find((one) => one.kinds.includes("PAPER"));
  const paperOf = (file) => papersView && papersView.nodes.find((node) => node.files.includes(file));
  const showPanel = (node) => {
    panel.replaceChildren();
    panel.hidden = !node;
    if (!node) return;
    const close = button("×", () => choose(null));
    close.className = "close";
    close.setAttribute("aria-label", "Close");
    panel.append(close, make("h2", node.label), make("p", `${readable(node.kind)}, ${many(node.degree, "relation")}; ${node.fact}`, "dim"));
    if (node.names.length) panel.append(make("p", `also: ${node.names.join(", ")}`));
    if (node.kind === "PAPER") panel.append(make("p", data.files[node.files[0]], "dim"));
    passages(node);
    relations(node);
    if (node.kind === "PAPER") inPaper(node);
    else inPapers(node);
    panel.scrollTop = 0;
  };
  const passages = (node) => {
    panel.append(make("h3", node.kind === "PAPER" ? "How it begins" : `Passages: ${node.quotes.length + node.more}`));
    for (const one of node.quotes) panel.append(quote(one, called(node)));
    if (node.more) panel.append(make("p", `and ${many(node.more, "more passage")}`, "dim"));
  };
  const relations = (node) => {
    const edges = node.edges.filter((edge) => !view.hidden.has(edge.kind));
    if (!edges.length) return;
    panel.append(make("h3", node.kind === "PAPER" ? "Similar papers" : `Relations drawn: ${edges.length} of ${node.degree}`));
    edges.sort((one, two) => (one.kind === WEAK) - (two.kind === WEAK) || two.weight - one.weight);
    for (const edge of edges) {
      const details = make("details"), summary = make("summary"), end = other(edge, node);
      const arrow = edge.kind === SIMILAR || edge.kind === WEAK ? "" : edge.a === node ? " →" : " ←";
      summary.append(`${saying(edge)}${arrow} `, make("b", end.label));
      details.append(summary, ...edge.quotes.map((one) => quote(one, [...called(edge.a), ...called(edge.b)])));
      const go = button("Go there", () => choose(end));
      details.append(go);
      panel.append(details);
    }
  };
  const list = (title, nodes) => {
    if (!nodes.length) return;
    const items = make("ul");
    for (const node of nodes) {
      const item = make("li");
      item.append(button(node.label, () => { const to = views.find((one) => one.nodes.includes(node)); show(to); choose(node); }));
      items.append(item);
    }
    panel.append(make("h3", title), items);
  };
  const inPaper = (paper) => {
    const found = views.filter((one) => one !== papersView).flatMap((one) => one.order.filter((node) => node.files.includes(paper.files[0])));
    list("Entities in it", found.slice(0, 20));
  };
  const inPapers = (node) => list(`Papers: ${node.files.length}`, node.files.slice(0, 30).map(paperOf).filter(Boolean));

  /* Choosing and searching */
  const choose = (node, centred = true) => {
    view.chosen = node;
    hovered = null;
    tip.hidden = true;
    if (node) { view.hidden.delete(node.kind); legend(); }
    showPanel(node);
    resize();
    if (node && centred) view.camera = { x: node.x, y: node.y, k: Math.max(view.camera.k, Math.min(2, 14 / node.r)) };
    draw();
  };
  const found = (text) => {
    const wanted = fold(text.trim());
    if (!wanted) return [];
    const all = [view, ...views.filter((one) => one !== view)].flatMap((one) => one.order.filter((node) => node.key.includes(wanted)).map((node) => ({ node, one })));
    const rank = ({ node }) => (node.key.split("\n").includes(wanted) ? 0 : node.key.startsWith(wanted) ? 1 : 2);
    return all.sort((one, two) => rank(one) - rank(two)).slice(0, 14);
  };
  const search = byId("search"), results = byId("results");
  const take = ({ node, one }) => { results.hidden = true; show(one); choose(node); canvas.focus(); };
  const look = () => {
    const hits = found(search.value);
    results.replaceChildren(...hits.map((hit) => {
      const item = make("li"), entry = button("", () => take(hit));
      entry.append(make("span", hit.node.label), make("small", readable(hit.node.kind)));
      item.append(entry);
      return item;
    }));
    if (!hits.length && search.value.trim()) results.append(make("li", "Nothing of that name is drawn.", "dim"));
    results.hidden = !search.value.trim();
  };
  search.addEventListener("input", look);
  search.addEventListener("focus", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { const [hit] = found(search.value); if (hit) take(hit); }
    if (event.key === "ArrowDown") { const entry = results.querySelector("button"); if (entry) { entry.focus(); event.preventDefault(); } }
  });
  results.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const entries = [...results.querySelectorAll("button")], next = entries[entries.indexOf(document.activeElement) + step];
    (next || search).focus();
  });
  document.addEventListener("pointerdown", (event) => { if (!byId("finder").contains(event.target)) results.hidden = true; });

  /* Views and their legend */
  const legend = () => {
    const types = [...view.kinds, ...(view.relations.includes(WEAK) ? [WEAK] : [])];
    byId("legend").replaceChildren(...types.map((kind) => {
      const entry = button("", () => { if (!view.hidden.delete(kind)) view.hidden.add(kind); legend(); draw(); });
      entry.setAttribute("aria-pressed", String(!view.hidden.has(kind)));
      const sign = make("canvas"), ink = sign.getContext("2d");
      sign.width = sign.height = 32;
      sign.style.width = sign.style.height = "16px";
      ink.scale(2, 2);
      if (kind === WEAK) { ink.strokeStyle = colour("--edge"); ink.setLineDash([3, 2]); ink.beginPath(); ink.moveTo(0, 8); ink.lineTo(16, 8); ink.stroke(); }
      else { outline(ink, kind, 8, 8, 5.5); ink.fillStyle = paint(kind); ink.fill(); }
      const count = kind === WEAK ? view.edges.filter((edge) => edge.kind === WEAK).length : view.nodes.filter((node) => node.kind === kind).length;
      entry.append(sign, `${readable(kind)} `, make("span", count.toLocaleString("en"), "dim"));
      return entry;
    }));
  };
  const tabs = () => byId("tabs").replaceChildren(...views.map((one) => {
    const tab = button(`${one.name} (${one.nodes.length.toLocaleString("en")})`, () => show(one));
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-selected", String(one === view));
    return tab;
  }));
  const show = (one) => {
    const focused = byId("tabs").contains(document.activeElement);
    view = one;
    hovered = null;
    tip.hidden = true;
    tabs();
    if (focused) byId("tabs").querySelector("[aria-selected=true]").focus();
    legend();
    byId("told").textContent = `${many(view.nodes.length, "node")}, ${many(view.edges.length, "edge")}. ${view.leftOut}`;
    byId("empty").hidden = view.nodes.length > 0;
    byId("empty").textContent = papersView === view ? "The library has no papers." : "The library has no graph yet: python ingest.py graph makes one.";
    showPanel(view.chosen);
    resize();
    if (!view.camera) fit();
    draw();
  };
  const resize = () => {
    const stage = byId("stage").getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    const before = width;
    [width, height] = [stage.width, stage.height];
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    if (!before && width) fit();
  };

  /* Pointer and keys */
  const held = new Map();
  let moved = 0;
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, at(event));
    if (held.size === 1) moved = 0;
    canvas.classList.add("held");
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event), last = held.get(event.pointerId);
    if (!last) {
      const before = hovered;
      hovered = under(x, y);
      if ((before && (before.node || before.edge)) !== (hovered && (hovered.node || hovered.edge))) draw();
      canvas.classList.toggle("over", Boolean(hovered && hovered.node));
      showTip(x, y);
      return;
    }
    if (held.size === 2) {
      const [[, rest]] = [...held].filter(([id]) => id !== event.pointerId);
      const spread = Math.hypot(last[0] - rest[0], last[1] - rest[1]) || 1;
      zoom(Math.hypot(x - rest[0], y - rest[1]) / spread, (x + rest[0]) / 2, (y + rest[1]) / 2);
    } else {
      view.camera.x -= (x - last[0]) / view.camera.k;
      view.camera.y -= (y - last[1]) / view.camera.k;
    }
    moved += Math.hypot(x - last[0], y - last[1]);
    held.set(event.pointerId, [x, y]);
    draw();
  });
  const release = (event) => {
    const was = held.delete(event.pointerId);
    if (!held.size) canvas.classList.remove("held");
    if (!was || event.type !== "pointerup" || moved > 5) return;
    const hit = under(...at(event));
    if (hit && hit.node) choose(hit.node, false);
    else if (!hit) choose(null);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (hovered) { hovered = null; tip.hidden = true; draw(); } });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event)); }, { passive: false });
  const step = (dx, dy) => {
    const from = view.chosen;
    if (!from) return choose(view.order.find(shown) || null);
    let best = null, least = Infinity;
    for (const node of view.nodes) {
      if (node === from || !shown(node)) continue;
      const x = node.x - from.x, y = node.y - from.y, along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along > 0 && along >= across && along + 2 * across < least) [best, least] = [node, along + 2 * across];
    }
    return best && choose(best);
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (STEPS[event.key]) step(...STEPS[event.key]);
    else if (event.key === "Enter") { if (view.chosen) panel.focus(); else choose(view.order.find(shown) || null); }
    else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); search.select(); }
    if (event.key === "Escape") {
      if (!results.hidden) results.hidden = true;
      else { choose(null); canvas.focus(); }
    }
  });
  byId("closer").addEventListener("click", () => zoom(1.4));
  byId("farther").addEventListener("click", () => zoom(1 / 1.4));
  byId("fit").addEventListener("click", fit);
  byId("save").addEventListener("click", () => {
    const copy = make("canvas"), ink = copy.getContext("2d"), link = make("a");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    ink.fillStyle = colour("--back");
    ink.fillRect(0, 0, copy.width, copy.height);
    ink.drawImage(canvas, 0, 0);
    link.href = copy.toDataURL("image/png");
    link.download = `map-${view.name.toLowerCase()}.png`;
    link.click();
  });
  const theme = (name) => { document.documentElement.dataset.theme = name; legend(); draw(); };
  byId("theme").addEventListener("click", () => theme(dark() ? "light" : "dark"));
  new ResizeObserver(() => { resize(); draw(); }).observe(byId("stage"));
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  show(view);
})();
