// Elements, figures and colours. Text reaches the page only as text nodes and attributes.

const page = JSON.parse(document.getElementById("data").textContent);
const isTree = page.nodes.length > 0;
const classifies = page.labels.length > 0;
// The generated functions and labels, which the script before this one declares.
const decision = { predict, decide, predictProba: classifies ? predictProba : null };
const labelValues = classifies ? CLASSES : [];
for (const feature of page.features) {
  if (feature.big) feature.values = feature.values.map(BigInt); // beyond 2 to the power of 53
}

function byId(id) {
  return document.getElementById(id);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === "") continue;
    node.append(child);
  }
  return node;
}

function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function option(value, text) {
  return element("option", { value }, text);
}

function table(caption, heads, rows) {
  const numeric = heads.map((head) => head.numeric);
  const head = element("tr", null, ...heads.map((each) =>
    element("th", { scope: "col", class: each.numeric && "n" }, each.text)));
  const lines = rows.map((row) => element("tr", null, ...row.map((cell, place) => {
    if (cell instanceof Element) return cell;
    return element("td", { class: numeric[place] && "n" }, String(cell));
  })));
  const made = element("table", null, caption && element("caption", null, caption),
    element("thead", null, head), element("tbody", null, ...lines));
  return element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption || "Table" }, made);
}

// ------------------------------------------------------------------ figures

function amount(number) {
  return String(Math.round(number * 10) / 10);
}

function percent(part, whole) {
  return whole ? `${(100 * part / whole).toFixed(1)} %` : "";
}

function quantity(number, noun) {
  const text = amount(number);
  return `${text} ${noun}${text === "1" ? "" : "s"}`;
}

function rounded(number) {
  return String(Number(number.toPrecision(6)));
}

function rowsOf(number) {
  return quantity(number, page.unit_of_rows);
}

// ------------------------------------------------------------------ colours

// By Okabe and Ito: told apart with every kind of colour vision. Text says the same.
const colours = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2", "#999999"];
const [palest, darkest] = [[235, 243, 251], [8, 81, 156]];
const numbers = classifies ? [] : page.rules.map((rule) => rule.answer);
const least = numbers.reduce((a, b) => Math.min(a, b), Infinity);
const greatest = numbers.reduce((a, b) => Math.max(a, b), -Infinity);

function colourOf(answer) {
  if (classifies) return colours[answer % colours.length];
  const width = greatest / 2 - least / 2;
  const share = width > 0 ? Math.min(Math.max((answer / 2 - least / 2) / width, 0), 1) : 0.5;
  const parts = palest.map((low, place) => Math.round(low + share * (darkest[place] - low)));
  return `rgb(${parts.join(", ")})`;
}

function bands(figures) {
  if (!classifies) return figures.mean === null ? [] : [[figures.mean, 1]];
  const total = figures.answers.reduce((sum, part) => sum + part, 0);
  const shares = figures.answers.map((part, label) => [label, total ? part / total : 0]);
  return shares.filter(([, share]) => share > 0);
}

// A bar of the answers among the rows: its purity at a glance.
function bar(figures, x, y, width, height) {
  const parts = [];
  let left = x;
  for (const [answer, share] of bands(figures)) {
    const own = { class: "share", x: left, y, width: share * width, height, fill: colourOf(answer) };
    parts.push(drawn("rect", own));
    left += share * width;
  }
  parts.push(drawn("rect", { class: "frame", x, y, width, height }));
  return parts;
}

function spread(figures) {
  if (!classifies) return figures.mean === null ? "" : `mean ${rounded(figures.mean)}`;
  const told = figures.answers.map((part, label) => [label, part]).filter(([, part]) => part > 0);
  return told.map(([label, part]) => `${page.labels[label]}: ${amount(part)}`).join(", ");
}
