// The tree as a picture: the root on the left, a row for each leaf or closed node.

const MOST_BOXES = 1500; // that a browser draws and moves without delay
const FIRST_LEAVES = 40; // rows of the picture when the page opens
const [ROW, HIGH, PAD, GAP] = [56, 44, 10, 28];

const tree = { open: new Set(), lit: new Set(), focus: 0, scale: 1, size: [1, 1], boxes: [] };
const pen = document.createElement("canvas").getContext("2d");

function written(text, bold) {
  pen.font = `${bold ? "600 " : ""}13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif`;
  return pen.measureText(text).width + 2;
}

function shortened(text, most) {
  const letters = Array.from(text);
  return letters.length <= most ? text : letters.slice(0, most - 1).join("").trimEnd() + "…";
}

function isSplit(position) {
  return page.nodes[position].children.length > 0;
}

// ------------------------------------------------------------------ what is open

// Opens level by level, as far as so many leaves and closed nodes go.
function openUpTo(most) {
  tree.open.clear();
  let ends = 1;
  let level = [0];
  while (level.length) {
    const next = [];
    for (const position of level) {
      const below = page.nodes[position].children;
      if (!below.length) continue;
      if (ends - 1 + below.length > most) return false;
      ends += below.length - 1;
      tree.open.add(position);
      next.push(...below);
    }
    level = next;
  }
  return true;
}

function ancestors(position) {
  const found = [];
  for (let at = page.nodes[position].parent; at >= 0; at = page.nodes[at].parent) found.push(at);
  return found;
}

function lightPath(position) {
  tree.lit = new Set([position, ...ancestors(position)]);
}

// ------------------------------------------------------------------ layout

function texts(position) {
  const node = page.nodes[position];
  const rule = page.rules[node.rule];
  if (rule) {
    return { head: rule.said, foot: `${rule.id} · ${support(rule)}` };
  }
  if (!isSplit(position)) return { head: "never reached", foot: "its tests contradict each other" };
  const closed = !tree.open.has(position);
  const foot = closed ? `${quantity(node.leaves, "more rule")} · ${rowsOf(node.rows)}` : purity(node);
  return { head: page.features[node.feature].shown, foot };
}

function support(figures) {
  if (!classifies) return figures.deviation === null ? rowsOf(figures.rows) : `${rowsOf(figures.rows)}, sd ${rounded(figures.deviation)}`;
  return figures.rows ? `${percent(figures.right, figures.rows)} of ${rowsOf(figures.rows)}` : `no ${page.unit_of_rows}`;
}

function purity(node) {
  if (!classifies) return node.mean === null ? rowsOf(node.rows) : `${rowsOf(node.rows)}, mean ${rounded(node.mean)}`;
  const most = Math.max(...node.answers);
  if (!node.rows) return `no ${page.unit_of_rows}`;
  return `${rowsOf(node.rows)}, ${percent(most, node.rows)} ${shortened(page.labels[node.answers.indexOf(most)], 16)}`;
}

function laidOut() {
  const boxes = new Map();
  const order = [];
  const stack = [0];
  while (stack.length) {
    const position = stack.pop();
    const node = page.nodes[position];
    const depth = node.parent < 0 ? 0 : boxes.get(node.parent).depth + 1;
    const said = texts(position);
    const box = { position, depth, head: shortened(said.head, 34), foot: said.foot, full: said.head, test: shortened(node.test, 40) };
    box.width = Math.max(written(box.head, true), written(box.foot, false), 90) + 2 * PAD;
    boxes.set(position, box);
    order.push(box);
    if (tree.open.has(position)) stack.push(...[...node.children].reverse());
  }
  let row = 0;
  for (const box of order) if (!tree.open.has(box.position)) box.row = row++;
  for (const box of [...order].reverse()) {
    if (tree.open.has(box.position)) {
      const children = page.nodes[box.position].children;
      box.row = (boxes.get(children[0]).row + boxes.get(children.at(-1)).row) / 2;
    }
  }
  const [wide, tests] = [[], []];
  for (const box of order) {
    wide[box.depth] = Math.max(wide[box.depth] ?? 0, box.width);
    tests[box.depth] = Math.max(tests[box.depth] ?? 0, written(box.test, false));
  }
  const [lefts, bends] = [[PAD], [PAD]];
  for (let depth = 1; depth < wide.length; depth++) {
    bends.push(lefts[depth - 1] + wide[depth - 1] + 1.4 * GAP);
    lefts.push(bends[depth] + tests[depth] + GAP);
  }
  for (const box of order) {
    box.x = lefts[box.depth];
    box.y = PAD + box.row * ROW;
    box.bend = bends[box.depth];
  }
  tree.size = [lefts.at(-1) + wide.at(-1) + PAD, row * ROW + PAD];
  return { boxes, order };
}

// ------------------------------------------------------------------ drawing

function drawEdge(box, above) {
  const [fromX, fromY, toY] = [above.x + above.width, above.y + HIGH / 2, box.y + HIGH / 2];
  const near = box.bend - 1.2 * GAP;
  const line = `M${fromX} ${fromY} H${near} C${box.bend} ${fromY} ${near} ${toY} ${box.bend} ${toY} H${box.x}`;
  const lit = tree.lit.has(box.position) ? " lit" : "";
  return [
    drawn("path", { class: `edge${lit}`, d: line }),
    drawn("text", { class: "faint", x: box.bend + 4, y: toY - 5 }, drawn("title", null, page.nodes[box.position].exact), box.test),
  ];
}

function drawBox(box) {
  const node = page.nodes[box.position];
  const split = isSplit(box.position);
  const open = tree.open.has(box.position);
  const names = [split ? "split" : "leaf", split && !open ? "closed" : "", tree.lit.has(box.position) ? "lit" : ""];
  const label = [node.test && `${page.features[page.nodes[node.parent].feature].shown} ${node.exact}:`, box.full + ",", box.foot, spread(page.rules[node.rule] ?? node)];
  const figures = page.rules[node.rule] ?? node;
  return drawn("g", {
    role: "treeitem", class: names.filter(Boolean).join(" "), tabindex: box.position === tree.focus ? 0 : -1,
    "data-position": box.position, "aria-level": box.depth + 1, "aria-expanded": split ? String(open) : null,
    "aria-label": label.filter(Boolean).join(" "),
  },
  drawn("title", null, `${box.full}\n${box.foot}\n${spread(figures)}`),
  drawn("rect", { class: "box", x: box.x, y: box.y, width: box.width, height: HIGH, rx: 6 }),
  drawn("text", { class: "head", x: box.x + PAD, y: box.y + 16 }, box.head),
  drawn("text", { class: "faint", x: box.x + PAD, y: box.y + 31 }, box.foot),
  ...bar(figures, box.x + PAD, box.y + HIGH - 8, box.width - 2 * PAD, 5));
}

function drawTree() {
  const { boxes, order } = laidOut();
  tree.boxes = order;
  if (!boxes.has(tree.focus)) tree.focus = 0;
  const root = drawn("svg", { role: "tree", "aria-label": `Decision tree for ${page.target}` });
  for (const box of order) {
    const above = boxes.get(page.nodes[box.position].parent);
    if (above) root.append(...drawEdge(box, above));
  }
  root.append(...order.map(drawBox));
  byId("tree-view").replaceChildren(root);
  byId("tree-view").classList.toggle("large", order.length > 400);
  zoom(tree.scale);
}

function zoom(scale) {
  tree.scale = Math.min(Math.max(scale, 0.2), 3);
  const root = byId("tree-view").firstElementChild;
  const [wide, high] = tree.size;
  root.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  root.setAttribute("width", wide * tree.scale);
  root.setAttribute("height", high * tree.scale);
  byId("tree-zoom").textContent = `${Math.round(100 * tree.scale)} %`;
}

function fit() {
  zoom(Math.min(byId("tree-view").clientWidth / tree.size[0], 1));
}

// ------------------------------------------------------------------ moving about

function focusNode(position) {
  tree.focus = position;
  const view = byId("tree-view");
  for (const item of view.querySelectorAll("[role=treeitem]")) {
    const own = Number(item.dataset.position) === position;
    item.setAttribute("tabindex", own ? 0 : -1);
    if (own) item.focus();
  }
}

function toggle(position) {
  if (!isSplit(position)) return showRule(page.nodes[position].rule);
  if (!tree.open.delete(position)) {
    if (tree.boxes.length + page.nodes[position].children.length > MOST_BOXES) return tooMany();
    tree.open.add(position);
  }
  tree.focus = position;
  drawTree();
  focusNode(position);
}

function tooMany() {
  byId("tree-note").textContent = `The picture holds ${MOST_BOXES.toLocaleString("en")} nodes at a time: close some to open others.`;
}

function onTreeKey(event) {
  const item = event.target.closest("[role=treeitem]");
  if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
  const position = Number(item.dataset.position);
  const place = tree.boxes.findIndex((box) => box.position === position);
  const { parent, children } = page.nodes[position];
  const open = tree.open.has(position);
  const to = (where) => where && focusNode(where.position);
  const moves = {
    ArrowDown: () => to(tree.boxes[place + 1]),
    ArrowUp: () => to(tree.boxes[place - 1]),
    ArrowRight: () => (open ? focusNode(children[0]) : isSplit(position) && toggle(position)),
    ArrowLeft: () => (open ? toggle(position) : parent >= 0 && focusNode(parent)),
    Home: () => to(tree.boxes[0]),
    End: () => to(tree.boxes.at(-1)),
    Enter: () => toggle(position),
    " ": () => toggle(position),
  };
  if (!Object.hasOwn(moves, event.key)) return;
  event.preventDefault();
  moves[event.key]();
}

// Opens the way to a node, lights it, and brings it into view.
function showInTree(position) {
  for (const above of ancestors(position)) tree.open.add(above);
  if (laidOut().order.length > MOST_BOXES) {
    tree.open = new Set(ancestors(position));
  }
  lightPath(position);
  drawTree();
  byId("tree").scrollIntoView();
  focusNode(position);
}

function drawLegend() {
  const legend = byId("legend");
  if (classifies) {
    if (page.labels.length > 12) return;
    legend.replaceChildren(...page.labels.map((label, code) => {
      const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.backgroundColor = colourOf(code);
      return element("li", null, swatch, label);
    }));
    return;
  }
  const scale = element("span", { class: "scale", "aria-hidden": "true" });
  scale.style.backgroundImage = `linear-gradient(to right, ${colourOf(least)}, ${colourOf(greatest)})`;
  legend.replaceChildren(element("li", null, rounded(least), scale, rounded(greatest)));
}

function startTree() {
  if (!isTree) return;
  byId("tree").hidden = false;
  const whole = openUpTo(FIRST_LEAVES);
  byId("tree-note").textContent = page.tree_note + (whole ? "" : " Its upper levels are open; open others as you need them.");
  drawLegend();
  drawTree();
  zoom(Math.min(Math.max(byId("tree-view").clientWidth / tree.size[0], 0.85), 1));
  byId("tree-view").scrollTop = tree.boxes[0].y * tree.scale - byId("tree-view").clientHeight / 2;
  byId("tree-in").addEventListener("click", () => zoom(tree.scale * 1.25));
  byId("tree-out").addEventListener("click", () => zoom(tree.scale / 1.25));
  byId("tree-fit").addEventListener("click", fit);
  byId("tree-expand").addEventListener("click", () => {
    if (!openUpTo(MOST_BOXES / 2)) tooMany();
    drawTree();
  });
  byId("tree-collapse").addEventListener("click", () => {
    tree.open.clear();
    drawTree();
  });
  const view = byId("tree-view");
  view.addEventListener("keydown", onTreeKey);
  view.addEventListener("click", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (item) toggle(Number(item.dataset.position));
  });
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(tree.scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }, { passive: false });
}
