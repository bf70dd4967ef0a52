"use strict";
// The review page: filters, the path of a leaf, a row to try, verdicts.
// Text reaches the page only as text nodes and attributes.
{
const page = JSON.parse(document.getElementById("data").textContent);
const items = [...document.querySelectorAll("#list > .rule")]; // of the rules, in order
const byId = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// ------------------------------------------------------------------ the decision
// A row has a number, the place of a category, "unseen", or null for each column.

function holds([feature, op, value, missing], row) {
  const own = row[feature];
  if (own === null) return missing;
  if (op === "in") return value.includes(own);
  if (op === "not in") return !value.includes(own);
  if (own === "unseen") return missing; // of ordered categories
  return op === "<=" ? own <= Number(value) : own > Number(value);
}

// The rule that decides, and in a tree the nodes on the way to it.
function decide(row) {
  if (!page.nodes.length) {
    return { rule: page.rules.findIndex((tests) => tests.every((test) => holds(test, row))), way: [] };
  }
  const way = [0];
  while (page.nodes[way.at(-1)].children) {
    way.push(page.nodes[way.at(-1)].children.find((child) => holds(page.nodes[child].test, row)));
  }
  return { rule: page.nodes[way.at(-1)].rule, way };
}

// ------------------------------------------------------------------ rules

function conditionsOf(item) {
  return [...item.querySelectorAll("li")].map((test) => test.textContent);
}

function sentence(item) {
  const tests = conditionsOf(item);
  return `${item.dataset.answer}${tests.length ? ` if ${tests.join(" and ")}` : ""}`;
}

const contents = items.map((item) => [item.querySelector("h3"), item.querySelector("ul")]
  .map((part) => part.textContent.toLowerCase()).join(" "));

function filterRules() {
  const wanted = Object.fromEntries(new FormData(byId("filters")));
  const words = wanted.words.toLowerCase().split(/\s+/u);
  let count = 0;
  items.forEach((item, place) => {
    const fits = words.every((word) => contents[place].includes(word))
      && (!wanted.answer || item.dataset.answer === wanted.answer)
      && Number(item.dataset.rows) >= (Number(wanted.rows) || 0)
      && (!wanted.verdict || verdictOn(item).state === wanted.verdict);
    item.hidden = !fits;
    count += fits;
  });
  const sorted = [...items];
  if (wanted.sort === "rows") sorted.sort((one, other) => other.dataset.rows - one.dataset.rows);
  if (wanted.sort === "share") sorted.sort((one, other) => one.dataset.share - other.dataset.share);
  if (sorted.some((item, place) => byId("list").children[place] !== item)) byId("list").append(...sorted);
  byId("shown").textContent = `${count} of ${items.length} rules`;
}

// A link that brings a rule into view, whatever the filters are.
function linkTo(rule) {
  const item = items[rule];
  const link = element("a", { href: `#${item.id}` }, item.dataset.id);
  link.addEventListener("click", () => {
    if (item.hidden) byId("filters").reset();
    item.hidden = false;
    item.focus();
  });
  return link;
}

function startRules() {
  const filters = byId("filters");
  for (const event of ["input", "change"]) filters.addEventListener(event, filterRules);
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(filterRules)); // its fields are reset later
  window.addEventListener("beforeprint", () => {
    filters.reset();
    filterRules();
  });
}

// ------------------------------------------------------------------ the tree

const shapes = [...document.querySelectorAll(".view [data-node]")];
const leaves = shapes.filter((shape) => shape.classList.contains("leaf"));

function light(position) {
  const way = new Set();
  for (let at = position; at !== undefined; at = page.nodes[at].above) way.add(String(at));
  for (const shape of shapes) shape.classList.toggle("lit", way.has(shape.dataset.node));
}

function choose(leaf) {
  const position = Number(leaf.dataset.node);
  const { rule } = page.nodes[position];
  for (const other of leaves) other.setAttribute("tabindex", other === leaf ? 0 : -1);
  light(position);
  byId("chosen").replaceChildren(...rule === null ? ["No row can reach this leaf."] : [linkTo(rule), `: ${sentence(items[rule])}`]);
}

function onTreeKey(event) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const place = leaves.indexOf(event.target.closest(".leaf"));
  if (event.key === "Enter") byId("chosen").querySelector("a")?.click();
  if (place < 0 || !(event.key in steps)) return;
  event.preventDefault();
  leaves[Math.min(Math.max(place + steps[event.key], 0), leaves.length - 1)].focus();
}

function startTree() {
  const view = document.querySelector(".view");
  if (!view) return;
  view.firstElementChild.setAttribute("role", "group");
  view.firstElementChild.setAttribute("aria-label", "The leaves of the tree");
  leaves.forEach((leaf, place) => {
    leaf.setAttribute("tabindex", place ? -1 : 0);
    leaf.setAttribute("role", "button");
    leaf.addEventListener("focus", () => choose(leaf));
  });
  view.addEventListener("click", (event) => event.target.closest(".leaf")?.focus());
  view.addEventListener("keydown", onTreeKey);
}

// ------------------------------------------------------------------ a row to try

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu;
const INFINITE = /^[+-]?inf(?:inity)?$/iu;

// The value of a field of the form; undefined if it is not one.
function valueOf(field) {
  const text = field.value.trim();
  if (!text) return null;
  if (field.tagName === "SELECT") return text === "unseen" ? text : Number(text);
  if (INFINITE.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return NUMBER.test(text) ? Number(text) : undefined;
}

// The tests that the row passes, as text.
function pathOf({ rule, way }) {
  if (way.length) return way.slice(1).map((position) => page.nodes[position].text);
  const before = rule ? [rule === 1 ? "the rule before it does not hold" : `the ${rule} rules before it do not hold`] : [];
  return [...before, ...conditionsOf(items[rule])];
}

function showRow() {
  const row = [];
  let wrong = false;
  for (const field of byId("row").elements) {
    const value = valueOf(field);
    row[field.name] = value;
    field.setAttribute("aria-invalid", value === undefined);
    wrong ||= value === undefined;
  }
  if (wrong) {
    byId("result").replaceChildren(element("p", {}, "This is not a number: enter one, or leave the field empty if it is missing."));
    return;
  }
  const decided = decide(row);
  if (decided.way.length) {
    light(decided.way.at(-1));
    byId("chosen").replaceChildren();
  }
  byId("result").replaceChildren(
    element("p", { class: "answer" }, `${page.target} = ${page.answers[decided.rule]}`),
    element("p", {}, "Decided by ", linkTo(decided.rule), ":"),
    element("ol", {}, ...pathOf(decided).map((text) => element("li", {}, text))));
}

function startTrying() {
  const form = byId("row");
  for (const field of form.elements) field.value = page.row[field.name] ?? "";
  for (const event of ["input", "change"]) form.addEventListener(event, showRow);
  form.addEventListener("submit", (event) => event.preventDefault());
  showRow();
}

// ------------------------------------------------------------------ the review

const PLACE = `treecompile review ${page.model}`;
const review = new Map(); // by the id of the rule; rules that nobody has touched are not in it

function verdictOn(item) {
  return review.get(item.dataset.id) ?? { state: "open", comment: "" };
}

function judge(item, changes) {
  review.set(item.dataset.id, { ...verdictOn(item), ...changes });
  showVerdict(item);
  keep();
}

// A browser may give a local file no storage: then the review lives as long as the page.
function keep() {
  byId("tally").textContent = `${tally()}.`;
  try {
    localStorage.setItem(PLACE, JSON.stringify([...review]));
  } catch {
    byId("kept").hidden = true;
  }
}

function remember() {
  try {
    for (const [id, { state, comment }] of JSON.parse(localStorage.getItem(PLACE)) ?? []) {
      if (["open", "accepted", "rejected"].includes(state)) review.set(id, { state, comment: String(comment) });
    }
  } catch {
    review.clear();
  }
}

function showVerdict(item) {
  const { state, comment } = verdictOn(item);
  for (const button of item.querySelectorAll("button")) button.setAttribute("aria-pressed", button.value === state);
  const field = item.querySelector("textarea");
  if (field.value !== comment) field.value = comment;
}

function tally() {
  const found = { accepted: 0, rejected: 0, open: 0 };
  for (const item of items) found[verdictOn(item).state] += 1;
  return `Of ${items.length} rules, ${found.accepted} accepted, ${found.rejected} rejected, ${found.open} open`;
}

function save() {
  const lines = items.map((item) => {
    const { state, comment } = verdictOn(item);
    const remarks = comment.trim().split(/\r?\n/u).filter(Boolean).map((line) => `\n  ${line}`);
    return `- ${item.dataset.id}: ${state}. ${sentence(item)}${remarks.join("")}\n`;
  });
  const text = `${document.title}\nModel SHA-256: ${page.model}\n${tally()}\n\n${lines.join("")}`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href: address, download: "review.txt" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

function startReview() {
  remember();
  byId("list").addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) judge(button.closest(".rule"), { state: button.ariaPressed === "true" ? "open" : button.value });
  });
  byId("list").addEventListener("input", ({ target }) => judge(target.closest(".rule"), { comment: target.value }));
  byId("save").addEventListener("click", save);
  byId("forget").addEventListener("click", () => {
    review.clear();
    items.forEach(showVerdict);
    keep();
    filterRules();
  });
  items.forEach(showVerdict);
  keep();
}

startReview();
startRules();
filterRules();
startTree();
startTrying();
document.documentElement.dataset.ready = "true";
}
