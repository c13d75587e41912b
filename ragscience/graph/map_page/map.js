"use strict";
/* Draws the data of this file on a canvas. Texts of papers are only ever set as text, never as markup. */
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const canvas = byId("canvas"), pen = canvas.getContext("2d"), tip = byId("tip"), panel = byId("panel");
  const PAPER = "PAPER", WEAK = "CO_OCCURS", SIMILAR = "SIMILAR_TO", STATED = "STATED", CITES = "CITES", NAMED = "NAMED_IN";
  // Okabe and Ito's colours, which the colour-blind tell apart, dark enough on a light ground; each type has a shape as well.
  const LOOKS = {
    PAPER: ["page", "#0b62a8", "#6cb6f5"], CONCEPT: ["circle", "#0072b2", "#4ba3db"],
    METHOD: ["square", "#b87700", "#e69f00"], ALGORITHM: ["triangle", "#008a64", "#2bc49a"],
    DATASET: ["diamond", "#b6568c", "#d98cb8"], METRIC: ["hexagon", "#d55e00", "#f0763a"],
    PERSON: ["star", "#3a7ea8", "#8fd0f5"], ORGANISATION: ["pentagon", "#8c6d1f", "#f0e442"],
    TASK: ["wedge", "#5d6470", "#b9c0cb"],
  };
  const CORNERS = { triangle: [3, 0, 1.25], diamond: [4, 0, 1.2], hexagon: [6, 0, 1.05], pentagon: [5, 0, 1.1], wedge: [3, Math.PI, 1.25] };
  const LINES = { [SIMILAR]: "similar papers", [CITES]: "citation", [STATED]: "stated relation", [WEAK]: "co-occurrence (same sentence)" };
  const CROWD = 60, FEW = 32, MOST_LABELS = 150, LEAST_RADIUS = 3;
  const FONT = 'system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';

  /* The data: papers, entities, relations, and "named in", which each entity has with its papers */
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[\s\u2010-\u2015-]+/g, " ").trim().toLowerCase();
  const readable = (kind) => kind.toLowerCase().replaceAll("_", " ");
  const nodes = data.nodes.map((n, at) => ({ ...n, at, r: n.radius, quotes: n.evidence, edges: [], keys: [n.label, ...n.names].map(fold) }));
  const allKinds = [...new Set(nodes.map((node) => node.kind))].sort();
  const papers = nodes.filter((node) => node.kind === PAPER), entities = nodes.filter((node) => node.kind !== PAPER);
  for (const paper of papers) paper.keys.push(fold(paper.files[0]));
  const edges = data.edges.map((e) => ({ a: nodes[e.source], b: nodes[e.target], kind: e.kind, weight: e.weight, quotes: e.evidence }));
  const paperOf = new Map(papers.map((paper) => [paper.files[0], paper]));
  for (const node of entities) {
    for (const file of node.files) {
      const paper = paperOf.get(file), quotes = node.quotes.filter((one) => one.file === file);
      if (paper) edges.push({ a: node, b: paper, kind: NAMED, weight: 1, quotes });
    }
  }
  for (const edge of edges) {
    edge.line = [SIMILAR, CITES, WEAK, NAMED].includes(edge.kind) ? edge.kind : STATED;
    edge.a.edges.push(edge);
    edge.b.edges.push(edge);
  }
  const order = [...papers, ...[...entities].sort((one, two) => two.degree - one.degree || one.at - two.at)];
  const countOf = (line) => edges.filter((edge) => edge.line === line).length;
  const counts = { [SIMILAR]: countOf(SIMILAR), [CITES]: countOf(CITES), [STATED]: countOf(STATED), [WEAK]: countOf(WEAK) };
  const views = [{ name: "Papers", nodes: papers, lines: [SIMILAR, CITES] }, { name: "Entities", nodes, lines: [STATED, WEAK] }];
  const hidden = new Set([WEAK]);
  let view = views[0], chosen = null, before = null, camera = null, overview = 1;
  let hovered = null, width = 0, height = 0, waiting = false, turned = false;

  /* Small things */
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const button = (text, act, name) => {
    const element = make("button", text, name);
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  };
  const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
  const dark = () => document.documentElement.dataset.theme === "dark";
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paint = (kind) => (LOOKS[kind] || ["circle", "#707070", "#aaaaaa"])[dark() ? 2 : 1];
  const shown = (node) => !hidden.has(node.kind) && (node.kind === PAPER || view !== views[0]);
  // What an entity is named in is drawn only for the chosen one.
  const joined = (edge) => shown(edge.a) && shown(edge.b) && (edge.line === NAMED || (view.lines.includes(edge.line) && !hidden.has(edge.line)));
  const other = (edge, node) => (edge.a === node ? edge.b : edge.a);
  const neighbours = (node) => new Set(node.edges.filter(joined).map((edge) => other(edge, node)));

  /* Camera: the point of the drawing in the middle of the canvas, and how many pixels a unit has */
  const onScreen = (node) => [(node.x - camera.x) * camera.k + width / 2, (node.y - camera.y) * camera.k + height / 2];
  // Where lines end: a paper's box may be moved aside.
  const signAt = (node) => (node.kind === PAPER && node.box ? [(node.box[0] + node.box[2]) / 2, (node.box[1] + node.box[3]) / 2] : onScreen(node));
  const around = (some, most) => {
    const [xs, ys] = ["x", "y"].map((axis) => some.map((node) => node[axis]));
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const roomX = Math.max(60, width - 2 * Math.min(70, width / 8)), roomY = Math.max(60, height - Math.min(70, height / 4));
    const k = Math.min(roomX / Math.max(right - left, 40), roomY / Math.max(bottom - top, 40), most);
    return { x: (left + right) / 2, y: (top + bottom) / 2, k };
  };
  const fit = () => {
    const some = nodes.filter(shown);
    camera = some.length && width ? around(some, 2) : { x: 0, y: 0, k: 1 };
    overview = camera.k;
    draw();
  };
  const zoom = (factor, x = width / 2, y = height / 2) => {
    const { k } = camera, next = Math.min(12, Math.max(0.02, k * factor));
    camera = { x: camera.x + (x - width / 2) * (1 / k - 1 / next), y: camera.y + (y - height / 2) * (1 / k - 1 / next), k: next };
    draw();
  };

  /* Drawing */
  const outline = (to, kind, x, y, r) => {
    const shape = (LOOKS[kind] || ["circle"])[0];
    to.beginPath();
    if (shape === "square") to.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76);
    else if (shape === "page") to.rect(x - r * 1.2, y - r * 0.8, r * 2.4, r * 1.6);
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
  const radius = (node) => Math.max(LEAST_RADIUS, node.r * Math.min(camera.k, 1.6));
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawNow(); });
  };
  const drawNow = () => {
    if (!width || !camera) return;
    const scale = window.devicePixelRatio || 1;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const active = (hovered && hovered.node) || chosen, near = active ? neighbours(active).add(active) : null;
    const taken = [], close = (node) => !near || near.has(node), plates = papers.filter((paper) => shown(paper) && inSight(paper));
    for (const node of nodes) node.box = null;
    const first = plates.filter((paper) => paper === active), others = plates.filter((paper) => paper !== active);
    for (const paper of [...first, ...others.filter(close), ...others.filter((one) => !close(one))]) placePaper(paper, paper === active, taken, plates.length > CROWD);
    drawEdges(active);
    // From the back to the front: what is far from the chosen one is pale.
    for (const front of near ? [false, true] : [true]) {
      pen.globalAlpha = front ? 1 : 0.3;
      for (let i = order.length - 1; i >= 0; i -= 1) if (order[i].kind !== PAPER && shown(order[i]) && close(order[i]) === front) drawEntity(order[i]);
      pen.globalAlpha = front ? 1 : 0.5;
      for (const paper of [...plates.filter(({ box }) => !box), ...plates.filter(({ box }) => box)]) if (close(paper) === front) drawPaper(paper, paper === active);
    }
    pen.globalAlpha = 1;
    drawLabels(active, near, taken);
    // What can be seen now, for programs that look at the page.
    const told = (node) => ({ label: node.label, kind: node.kind, at: signAt(node), box: node.box });
    canvas.drawn = { scale: camera.k, overview, camera, chosen: chosen && chosen.label, lines: view.lines.filter((line) => !hidden.has(line)),
      labels: nodes.filter((node) => node.box).map(told), near: near ? [...near].map(told) : [] };
  };
  const thickness = (edge) => 0.6 + 3.5 * Math.max(0, edge.weight - 0.3);
  const drawEntity = (node) => {
    const [x, y] = onScreen(node), r = radius(node);
    if (x < -r || y < -r || x > width + r || y > height + r) return;
    outline(pen, node.kind, x, y, r);
    pen.fillStyle = paint(node.kind);
    pen.fill();
    pen.lineWidth = node === chosen ? 3 : 1;
    pen.strokeStyle = colour(node === chosen ? "--ink" : "--back");
    pen.stroke();
  };
  const drawEdges = (active) => {
    const crowd = Math.min(1, Math.sqrt(400 / Math.max(400, view.lines.includes(WEAK) && !hidden.has(WEAK) ? edges.length : 0)));
    pen.strokeStyle = colour("--edge");
    for (const line of [WEAK, SIMILAR, CITES, STATED]) {
      pen.globalAlpha = (active ? 0.3 : 1) * (line === WEAK ? 0.15 + 0.3 * crowd : line === STATED ? 0.25 + 0.5 * Math.min(1, Math.sqrt(150 / counts[STATED])) : 0.75);
      for (const edge of edges) {
        if (edge.line !== line || edge.a === active || edge.b === active || !joined(edge)) continue;
        pen.lineWidth = line === SIMILAR ? thickness(edge) : line === WEAK ? 0.8 : 1.3;
        pen.beginPath(); pen.moveTo(...signAt(edge.a)); pen.lineTo(...signAt(edge.b)); pen.stroke();
      }
    }
    const special = active ? active.edges.filter(joined) : [];
    if (hovered && hovered.edge) special.push(hovered.edge);
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = colour("--accent");
    for (const edge of special) {
      const [x1, y1] = signAt(edge.a), [x2, y2] = signAt(edge.b), strong = [STATED, CITES, SIMILAR].includes(edge.line);
      pen.lineWidth = edge.line === SIMILAR ? 1 + thickness(edge) : strong ? 2 : 1;
      pen.globalAlpha = edge.line === NAMED ? 0.6 : 1;
      pen.setLineDash(edge.line === WEAK ? [4, 4] : edge.line === NAMED ? [1, 3] : []);
      pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
      pen.setLineDash([]);
      if (![STATED, CITES].includes(edge.line)) continue;
      const angle = Math.atan2(y2 - y1, x2 - x1), back = radius(edge.b) + 2;
      const x = x2 - back * Math.cos(angle), y = y2 - back * Math.sin(angle);
      pen.beginPath(); pen.moveTo(x, y);
      for (const side of [-0.42, 0.42]) pen.lineTo(x - 9 * Math.cos(angle + side), y - 9 * Math.sin(angle + side));
      pen.closePath(); pen.fill();
    }
    pen.globalAlpha = 1;
  };

  /* Labels */
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);
  const wrapped = (text, most) => {
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines.length - 1;
      if (!lines[last] || lines[last].length + word.length < most) lines[last] = lines[last] ? `${lines[last]} ${word}` : word;
      else lines.push(word);
    }
    if (lines.length > 2) lines[1] = `${lines[1].replace(/[\s:,;.–—-]+$/u, "")}…`;
    return lines.slice(0, 2).map((line) => cut(line, most + 1));
  };
  /* From the whole title to a few letters. "Adam: A Method for …" is known as Adam. */
  const shorter = (title) => {
    const [name] = title.split(/[:–—] /), known = name.length < title.length && name.length <= 24 ? name.trim() : title;
    return [wrapped(title, 28), wrapped(known, 20), [cut(known, 18)], [cut(known, 12)], [cut(known, 8)]];
  };
  const free = (box, taken) => box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height
    && !taken.some((one) => box[0] < one[2] && one[0] < box[2] && box[1] < one[3] && one[1] < box[3]);
  const plateFont = (strong) => `${strong ? "600 " : ""}${width < 520 ? 11 : 12.5}px ${FONT}`;
  const inSight = (node) => { const [x, y] = onScreen(node); return x > -20 && y > -20 && x < width + 20 && y < height + 20; };
  const placePaper = (paper, strong, taken, crowded) => {
    const [x, y] = onScreen(paper), row = width < 520 ? 13.5 : 15;
    pen.font = plateFont(strong);
    paper.texts ||= shorter(paper.label);
    // Between entities, and on a small screen, there is room for short ones only.
    for (const text of strong ? paper.texts : paper.texts.slice(crowded ? 3 : (view !== views[0]) + (width < 520))) {
      const wide = Math.max(...text.map((line) => pen.measureText(line).width)) / 2 + 6, high = (text.length * row) / 2 + 4;
      const inside = Math.min(Math.max(x, wide + 1), width - wide - 1), within = Math.min(Math.max(y, high + 1), height - high - 1);
      const moves = [[0, 0]];
      if (!crowded) moves.push([0, 0.6], [0, -0.6], [0.4, 0], [-0.4, 0]);
      if (!crowded && text.length === 1) for (const step of [1, 1.6, 2.4, 3.2, 4.2, 5.4]) moves.push([0, step], [0, -step], [0.6, step], [-0.6, step], [0.6, -step], [-0.6, -step], [step * 0.6, 0], [-step * 0.6, 0]);
      for (const [dx, dy] of moves) {
        const [px, py] = [inside + dx * wide, within + dy * (2 * high + 1)], box = [px - wide, py - high, px + wide, py + high];
        if (!strong && !free(box, taken)) continue;
        [paper.box, paper.lines] = [box, text];
        taken.push([box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2]);
        return;
      }
    }
  };
  const drawPaper = (paper, strong) => {
    const [x, y] = onScreen(paper);
    pen.strokeStyle = paint(PAPER);
    pen.fillStyle = colour("--card");
    pen.lineWidth = 1;
    if (!paper.box) { outline(pen, PAPER, x, y, 5); pen.fill(); pen.stroke(); return; }
    const [left, top, right, bottom] = paper.box, middle = (left + right) / 2, row = (bottom - top - 8) / paper.lines.length;
    pen.lineWidth = paper === chosen ? 3 : 1.5;
    pen.beginPath(); pen.rect(left, top, right - left, bottom - top);
    pen.fill(); pen.stroke();
    pen.fillStyle = colour("--ink");
    pen.font = plateFont(strong);
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (const [at, line] of paper.lines.entries()) pen.fillText(line, middle, top + 4.5 + (at + 0.5) * row);
  };
  const drawLabels = (active, near, taken) => {
    const ink = colour("--ink"), halo = colour("--back");
    const some = (near ? [active, ...order.filter((node) => near.has(node) && node !== active)] : order).filter((node) => node.kind !== PAPER && shown(node));
    // Few at first, the larger ones; more, the nearer one looks.
    const few = near ? MOST_LABELS : Math.min(MOST_LABELS, (FEW * (width * height) / 1e6) * Math.max(1, (camera.k / overview) ** 3));
    let left = few;
    // A label may cover a smaller one's sign, but no larger one's.
    const signs = [], covers = (box) => signs.some(([x, y, r]) => box[0] < x + r && x - r < box[2] && box[1] < y + r && y - r < box[3]);
    pen.textAlign = "center"; pen.textBaseline = "top"; pen.lineJoin = "round";
    for (const node of some) {
      if (left <= 0) return;
      const [x, y] = onScreen(node), r = radius(node), strong = node === active, size = strong ? 14 : 12;
      if (x < 0 || y < 0 || x > width || y > height) continue;
      pen.font = `${strong ? "600 " : ""}${size}px ${FONT}`;
      node.lines ||= wrapped(node.label, 26);
      const wide = Math.max(...node.lines.map((line) => pen.measureText(line).width)) / 2 + 3, high = node.lines.length * (size + 2);
      const spots = [[0, r * 1.25 + 2], [0, -r * 1.25 - high - 2], [wide + r + 2, -high / 2], [-wide - r - 2, -high / 2]];
      const boxes = spots.map(([dx, dy]) => [x + dx - wide, y + dy, x + dx + wide, y + dy + high]);
      const box = boxes.find((one) => free(one, taken) && !covers(one)) || (strong && boxes[0]);
      signs.push([x, y, r]);
      if (!box) continue;
      taken.push(box);
      left -= 1;
      node.box = box;
      pen.lineWidth = 3.5; pen.strokeStyle = halo; pen.fillStyle = ink;
      for (const [at, line] of node.lines.entries()) {
        pen.strokeText(line, (box[0] + box[2]) / 2, box[1] + at * (size + 2));
        pen.fillText(line, (box[0] + box[2]) / 2, box[1] + at * (size + 2));
      }
    }
  };

  /* What is under a point of the canvas */
  const under = (x, y) => {
    const plate = papers.find(({ box }) => box && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
    if (plate) return { node: plate };
    let best = null, least = 4;
    for (const node of nodes) {
      if (!shown(node)) continue;
      const [nx, ny] = onScreen(node), gap = Math.hypot(nx - x, ny - y) - radius(node);
      if (gap < least) [best, least] = [{ node }, gap];
    }
    if (best) return best;
    least = 5;
    for (const edge of chosen ? chosen.edges : edges) {
      if (!joined(edge) || edge.line === NAMED) continue;
      const [ax, ay] = signAt(edge.a), [bx, by] = signAt(edge.b), dx = bx - ax, dy = by - ay;
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
  const pageLink = ({ file, page }) => {
    const href = data.links[file] || "", link = make(href ? "a" : "span", `(${file}, ${/\.(docx|epub|html?|md|txt|tex)$/i.test(file) ? "¶" : "p."}${page})`);
    // A PDF, or the place in the page of a server, which shows this one in a frame.
    const [mark, target] = href.startsWith("/#") ? ["&", "_parent"] : ["#", "_blank"];
    if (href) Object.assign(link, { href: `${href}${mark}page=${page}`, target, rel: "noopener noreferrer" });
    return link;
  };
  const quote = (one, names, tag = "blockquote") => {
    const element = make(tag), cite = make("cite");
    marked(element, one.text, names);
    cite.append(pageLink(one));
    element.append(" ", cite);
    return element;
  };
  const called = (node) => (node.kind === PAPER ? [] : [node.label, ...node.names]);
  const about = (node) => `${node.kind === PAPER ? "" : `${readable(node.kind)}, `}${node.fact}`;
  const triple = (edge) => {
    if (edge.line === SIMILAR) return `${edge.a.label} and ${edge.b.label} are similar (cosine ${edge.weight.toFixed(2)})`;
    return edge.line === WEAK ? `${edge.a.label} and ${edge.b.label} are named in the same sentence` : `${edge.a.label} ${readable(edge.kind)} ${edge.b.label}`;
  };
  const showTip = (x, y) => {
    tip.replaceChildren();
    tip.hidden = !hovered;
    if (!hovered) return;
    const { node, edge } = hovered, quotes = node ? node.quotes.slice(0, 1) : edge.quotes;
    tip.append(make("b", node ? node.label : triple(edge)));
    if (node) tip.append(make("p", about(node), "dim"));
    for (const one of quotes) tip.append(quote(one, node ? called(node) : [...called(edge.a), ...called(edge.b)], "p"));
    const right = x + 16 + tip.offsetWidth > width, low = y + 16 + tip.offsetHeight > height;
    tip.style.left = `${Math.max(4, right ? x - tip.offsetWidth - 12 : x + 16)}px`;
    tip.style.top = `${Math.max(4, low ? y - tip.offsetHeight - 12 : y + 16)}px`;
  };
  const showPanel = () => {
    const node = chosen;
    panel.replaceChildren();
    panel.hidden = !node;
    if (!node) return;
    const close = button("×", () => choose(null), "close");
    close.setAttribute("aria-label", "Close");
    panel.append(close, make("h2", node.label), make("p", about(node), "dim"));
    if (node.names.length) panel.append(make("p", `also: ${node.names.join(", ")}`));
    if (node.kind === PAPER) { const start = make("p"); start.append(pageLink({ page: 1, file: node.files[0] })); panel.append(start); }
    const of = (line) => node.edges.filter((edge) => edge.line === line).sort((one, two) => two.weight - one.weight);
    if (node.kind === PAPER) {
      items(`Similar papers: ${of(SIMILAR).length}`, of(SIMILAR), node);
      items(`Citations: ${of(CITES).length}`, of(CITES), node);
      items(`Entities named in it: ${of(NAMED).length}`, of(NAMED), node);
    } else {
      items(`Relations: ${of(STATED).length}`, of(STATED), node);
      together(of(WEAK), node);
      items(`Papers: ${of(NAMED).length}`, of(NAMED), node);
    }
    if (node.quotes.length) panel.append(make("h3", `Passages: ${node.quotes.length + node.more}`));
    for (const one of node.quotes) panel.append(quote(one, called(node)));
    if (node.more) panel.append(make("p", `and ${many(node.more, "more passage")}`, "dim"));
    panel.scrollTop = 0;
  };
  const together = (weak, node) => {
    if (!hidden.has(WEAK)) return items(`Co-occurrence (same sentence): ${weak.length}`, weak, node);
    if (weak.length) panel.append(button(`Show ${many(weak.length, "co-occurrence")} (same sentence)`, () => { hidden.delete(WEAK); legend(); showPanel(); bring(); }));
    return null;
  };
  const items = (title, some, node) => {
    if (!some.length) return;
    const list = make("ul");
    for (const edge of some.slice(0, 60)) {
      const item = make("li"), end = other(edge, node), go = button(end.label, () => choose(end), "go"), pages = make("span", undefined, "pages");
      if (edge.line === SIMILAR) item.append(go, ` (cosine ${edge.weight.toFixed(2)})`);
      else if (![STATED, CITES].includes(edge.line)) item.append(go);
      else if (edge.a === node) item.append(`${readable(edge.kind)} `, go);
      else item.append(go, ` ${readable(edge.kind)} ${node.label}`);
      if (edge.line !== SIMILAR) {
        const seen = new Map(edge.quotes.map((one) => [`${one.file}#${one.page}`, one]));
        for (const one of seen.values()) pages.append(" ", pageLink(one));
      }
      item.append(pages);
      if ([STATED, CITES].includes(edge.line)) {
        const details = make("details");
        details.append(make("summary", "quote"), ...edge.quotes.map((one) => quote(one, [...called(edge.a), ...called(edge.b)])));
        item.append(details);
      }
      list.append(item);
    }
    panel.append(make("h3", title), list);
    if (some.length > 60) panel.append(make("p", `and ${some.length - 60} more`, "dim"));
  };

  /* Choosing: the neighbours are brought into sight; a second click or Escape goes back */
  const bring = () => { camera = around([chosen, ...neighbours(chosen)], 2 * overview); draw(); };
  const choose = (node) => {
    if (node && node === chosen) return;
    if (node && !chosen) before = { camera, view };
    chosen = node;
    hovered = null;
    tip.hidden = true;
    if (node && node.kind !== PAPER && view === views[0]) show(views[1]);
    if (node && hidden.delete(node.kind)) legend();
    showPanel();
    resize();
    if (node) bring();
    else if (before && before.view === view) camera = before.camera;
    draw();
  };

  /* Searching */
  const found = (text) => {
    const wanted = fold(text);
    if (!wanted) return [];
    const rank = (node) => (node.keys.includes(wanted) ? 0 : node.keys.some((key) => key.startsWith(wanted)) ? 1 : 2);
    const squeezed = wanted.replaceAll(" ", "");
    const hits = order.filter((node) => node.keys.some((key) => key.includes(wanted) || key.replaceAll(" ", "").includes(squeezed)));
    return hits.sort((one, two) => rank(one) - rank(two)).slice(0, 14);
  };
  /* Optimal string alignment: how many letters to add, drop, change or swap */
  const distance = (one, two) => {
    let [last, row] = [[], [...Array(two.length + 1).keys()]];
    for (let i = 1; i <= one.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= two.length; j += 1) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === two[j - 1] ? 0 : 1));
        if (i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1]) next[j] = Math.min(next[j], last[j - 2] + 1);
      }
      [last, row] = [row, next];
    }
    return row[two.length];
  };
  const nearest = (text) => {
    const wanted = fold(text).slice(0, 60), most = Math.max(1, Math.floor(wanted.length / 3));
    const words = (key) => [key, ...(key.includes(" ") ? key.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 3) : [])];
    const gap = (node) => Math.min(...node.keys.flatMap(words).filter((word) => Math.abs(word.length - wanted.length) <= most).map((word) => distance(wanted, word)));
    return order.map((node) => [gap(node), node]).filter(([far]) => far <= most).sort((one, two) => one[0] - two[0]).slice(0, 5).map(([, node]) => node);
  };
  const search = byId("search"), results = byId("results");
  const take = (node) => { results.hidden = true; choose(node); canvas.focus(); };
  const look = () => {
    const hits = found(search.value), near = hits.length ? [] : nearest(search.value);
    const lines = [...hits, ...near].map((node) => {
      const entry = button("", () => take(node));
      entry.append(make("span", node.label), make("small", readable(node.kind)));
      return entry;
    });
    if (!hits.length) lines.unshift(make("p", `No paper or entity “${search.value.trim()}”.${near.length ? " Did you mean:" : ""}`));
    results.replaceChildren(...lines);
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
  byId("finder").addEventListener("focusout", (event) => { if (!byId("finder").contains(event.relatedTarget)) results.hidden = true; });

  /* Views and their legend */
  const sign = (kind) => {
    const element = make("canvas"), ink = element.getContext("2d");
    [element.width, element.height] = [40, 32];
    [element.style.width, element.style.height] = ["20px", "16px"];
    ink.scale(2, 2);
    if (!LINES[kind]) { outline(ink, kind, 10, 8, 5.5); ink.fillStyle = ink.strokeStyle = paint(kind); if (kind !== PAPER) ink.fill(); ink.lineWidth = 1.5; ink.stroke(); return element; }
    ink.strokeStyle = ink.fillStyle = colour("--edge");
    ink.lineWidth = kind === WEAK ? 1 : 2;
    ink.setLineDash(kind === WEAK ? [3, 2] : []);
    ink.beginPath(); ink.moveTo(0, 8); ink.lineTo(20, 8); ink.stroke();
    if ([STATED, CITES].includes(kind)) { ink.beginPath(); ink.moveTo(20, 8); ink.lineTo(12, 4); ink.lineTo(12, 12); ink.fill(); }
    return element;
  };
  const legend = () => {
    const kinds = allKinds.filter((kind) => view !== views[0] || kind === PAPER).sort((one, two) => (two === PAPER) - (one === PAPER));
    const all = [...kinds.slice(0, 1), ...view.lines.filter((line) => counts[line]), ...kinds.slice(1)];
    byId("legend").replaceChildren(...all.map((kind) => {
      const entry = make("label"), box = make("input"), count = counts[kind] ?? nodes.filter((node) => node.kind === kind).length;
      box.type = "checkbox";
      box.checked = !hidden.has(kind);
      box.addEventListener("change", () => {
        if (!hidden.delete(kind)) hidden.add(kind);
        if (chosen && hidden.has(chosen.kind)) choose(null); else showPanel();
        draw();
      });
      entry.append(box, sign(kind), LINES[kind] || readable(kind), make("span", count.toLocaleString("en"), "dim"));
      return entry;
    }));
  };
  const tabs = () => byId("tabs").replaceChildren(...views.map((one) => {
    const count = one === views[0] ? papers.length : entities.length;
    const tab = button(`${one.name} (${count.toLocaleString("en")})`, () => { choose(null); show(one); });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-selected", String(one === view));
    return tab;
  }));
  const show = (one) => {
    const focused = byId("tabs").contains(document.activeElement);
    view = one;
    tabs();
    if (focused) byId("tabs").querySelector("[aria-selected=true]").focus();
    legend();
    byId("told").textContent = `${many(papers.length, "paper")}, ${many(entities.length, "entity", "entities")}, ${many(counts[STATED], "stated relation")}. ${data.left_out}`;
    byId("empty").hidden = papers.length > 0 && (view === views[0] || entities.length > 0);
    byId("empty").textContent = papers.length ? "No entities yet. Run: python ingest.py graph" : "No papers yet. Put PDFs into papers/, then run: python ingest.py";
    resize();
    fit();
  };
  const resize = () => {
    const stage = byId("stage").getBoundingClientRect(), scale = window.devicePixelRatio || 1, was = width;
    if (!stage.width) return; // in a frame that is hidden: shown again, it is as it was
    [width, height] = [stage.width, stage.height];
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    // The drawing is wider than high; where the window is not, it is turned.
    if (turned !== innerHeight > innerWidth) {
      turned = !turned;
      for (const node of nodes) [node.x, node.y] = [node.y, node.x];
      if (camera) fit();
    }
    if (!was && width) fit();
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
      const was = hovered;
      hovered = under(x, y);
      if ((was && (was.node || was.edge)) !== (hovered && (hovered.node || hovered.edge))) draw();
      canvas.classList.toggle("over", Boolean(hovered && hovered.node));
      showTip(x, y);
      return;
    }
    if (held.size === 2) {
      const [[, rest]] = [...held].filter(([id]) => id !== event.pointerId);
      const spread = Math.hypot(last[0] - rest[0], last[1] - rest[1]) || 1;
      zoom(Math.hypot(x - rest[0], y - rest[1]) / spread, (x + rest[0]) / 2, (y + rest[1]) / 2);
    } else camera = { ...camera, x: camera.x - (x - last[0]) / camera.k, y: camera.y - (y - last[1]) / camera.k };
    moved += Math.hypot(x - last[0], y - last[1]);
    held.set(event.pointerId, [x, y]);
    draw();
  });
  const release = (event) => {
    const was = held.delete(event.pointerId);
    if (!held.size) canvas.classList.remove("held");
    if (!was || event.type !== "pointerup" || moved > 5) return;
    const hit = under(...at(event));
    if (hit && hit.node) choose(hit.node === chosen ? null : hit.node);
    else if (!hit) choose(null);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (hovered) { hovered = null; tip.hidden = true; draw(); } });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...at(event)); }, { passive: false });
  const step = (dx, dy) => {
    if (!chosen) return choose(order.find(shown) || null);
    let best = null, least = Infinity;
    for (const node of nodes) {
      if (node === chosen || !shown(node)) continue;
      const x = node.x - chosen.x, y = node.y - chosen.y, along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along > 0 && along >= across && along + 2 * across < least) [best, least] = [node, along + 2 * across];
    }
    return best && choose(best);
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (STEPS[event.key]) step(...STEPS[event.key]);
    else if (event.key === "Enter") { if (chosen) panel.focus(); else choose(order.find(shown) || null); }
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
  new MutationObserver(() => { legend(); draw(); }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  byId("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; });
  new ResizeObserver(() => { resize(); draw(); }).observe(byId("stage"));
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  show(view);
})();
