// The list of rules: filters, search, order, and the decision about each.

const CHUNK = 200; // rules that are put on the page at once
const list = { shown: page.rules, drawn: 0, items: new Map() };

// ------------------------------------------------------------------ one rule

function testItem(test) {
  const also = test.also.map((what) => element("span", { class: "also" }, `or ${what}`));
  return element("li", null, test.text, ...also);
}

function evidenceOf(rule) {
  const lines = [];
  if (!rule.rows) {
    lines.push(element("p", null, rule.empty));
  } else if (classifies) {
    lines.push(element("p", null, `${amount(rule.right)} of ${rowsOf(rule.rows)} right (${percent(rule.right, rule.rows)})`));
  } else {
    const sd = rule.deviation === null ? "" : `, sd ${rounded(rule.deviation)}`;
    lines.push(element("p", null, `${rowsOf(rule.rows)}${sd}`));
  }
  if (rule.rows) {
    const picture = drawn("svg", { class: "shares", viewBox: "0 0 200 10", preserveAspectRatio: "none", role: "img", "aria-label": spread(rule) });
    picture.append(...bar(rule, 0, 0, 200, 10));
    lines.push(picture, element("p", { class: "small" }, `${percent(rule.rows, page.rows)} of all${classifies ? `; ${spread(rule)}` : ""}`));
  }
  return element("div", { class: "why" }, ...lines);
}

function verdictOf(rule) {
  const button = (action, text, name) =>
    element("button", { type: "button", class: name, "data-action": action, "aria-label": `${text} ${rule.id}` }, text);
  const where = rule.node >= 0 ? button("tree", "In the tree", "link") : null;
  return element("div", { class: "verdict", role: "group", "aria-label": `Verdict on ${rule.id}` },
    button("accepted", "Accept", "yes"), button("rejected", "Reject", "no"), button("comment", "Comment", ""), where);
}

function itemOf(rule) {
  let item = list.items.get(rule.id);
  if (item) return item;
  const tests = rule.tests.length
    ? element("ul", { class: "tests" }, ...rule.tests.map(testItem))
    : element("p", { class: "hint" }, rule.otherwise);
  item = element("li", { class: "rule", id: `rule-${rule.id}`, tabindex: -1, "data-id": rule.id },
    element("div", null,
      element("h3", null, element("span", { class: "id" }, rule.id), `${page.target} = ${rule.said}`), tests),
    evidenceOf(rule), verdictOf(rule), element("p", { class: "said" }));
  list.items.set(rule.id, item);
  showVerdict(rule);
  return item;
}

// ------------------------------------------------------------------ its verdict

function showVerdict(rule) {
  const item = list.items.get(rule.id);
  if (!item) return;
  const own = verdict(rule);
  item.classList.toggle("accepted", own.state === "accepted");
  item.classList.toggle("rejected", own.state === "rejected");
  for (const state of ["accepted", "rejected"]) {
    item.querySelector(`[data-action=${state}]`).setAttribute("aria-pressed", String(own.state === state));
  }
  item.querySelector(".said").textContent = own.comment && `“${own.comment}”`;
  const box = item.querySelector("textarea");
  if (box && box.value !== own.comment) box.value = own.comment;
}

function openComment(rule) {
  const item = itemOf(rule);
  let box = item.querySelector("textarea");
  if (!box) {
    box = element("textarea", { rows: 2, "data-action": "text" });
    box.value = verdict(rule).comment;
    item.append(element("label", { class: "remark screen" }, `Comment on ${rule.id}`, box));
  }
  box.focus();
}

function onRuleClick(event) {
  const button = event.target.closest("button[data-action]");
  if (!button) return;
  const rule = ruleById.get(button.closest("[data-id]").dataset.id);
  const { action } = button.dataset;
  if (action === "tree") showInTree(rule.node);
  else if (action === "comment") openComment(rule);
  else {
    judge(rule, { state: verdict(rule).state === action ? "open" : action });
    reviewChanged();
  }
}

function onRuleInput(event) {
  if (event.target.dataset.action !== "text") return;
  judge(ruleById.get(event.target.closest("[data-id]").dataset.id), { comment: event.target.value });
  reviewChanged();
}

// ------------------------------------------------------------------ filters and order

const ORDERS = {
  order: ["the order of the model", () => 0],
  rows: [`${page.unit_of_rows}s, most first`, (a, b) => b.rows - a.rows],
  confidence: ["confidence, lowest first", (a, b) => share(a) - share(b)],
  answer: ["answer", (a, b) => a.answer - b.answer],
  tests: ["number of tests, most first", (a, b) => b.tests.length - a.tests.length],
};

function share(rule) {
  return rule.rows ? rule.right / rule.rows : 0;
}

function folded(text) {
  return text.normalize("NFKC").toLowerCase();
}

function searched(rule) {
  rule.text ??= folded([rule.id, ...rule.tests.map((test) => test.text), page.target, "=", rule.said].join(" "));
  return rule.text;
}

function filterRules() {
  const words = folded(byId("find").value).split(/\s+/u).filter(Boolean);
  const feature = byId("by-feature").value;
  const label = byId("by-label").value;
  const confidence = Number(byId("by-confidence").value) / 100;
  const support = Number(byId("by-support").value);
  const state = byId("by-state").value;
  const found = page.rules.filter((rule) =>
    words.every((word) => searched(rule).includes(word))
    && (feature === "" || rule.tests.some((test) => test.feature === Number(feature)))
    && (label === "" || rule.answer === Number(label))
    && (!confidence || share(rule) >= confidence - 1e-12)
    && (!support || rule.rows >= support)
    && (state === "" || verdict(rule).state === state));
  list.shown = found.sort(ORDERS[byId("sort").value][1]); // stable: equal ones keep their order
  drawRules();
}

function drawRules() {
  list.drawn = 0;
  byId("list").replaceChildren();
  drawMore(CHUNK);
  const [shown, all] = [list.shown.length, page.rules.length];
  byId("shown").textContent = shown === all ? `All ${quantity(all, "rule")}` : `${shown} of ${quantity(all, "rule")}`;
  offerAll();
}

function offerAll() {
  const open = list.shown.filter((rule) => verdict(rule).state === "open").length;
  const accept = byId("accept-shown");
  accept.hidden = !open;
  accept.textContent = `Accept the ${open} open ${open === 1 ? "rule" : "rules"} shown`;
}

function drawMore(count) {
  const next = list.shown.slice(list.drawn, list.drawn + count);
  byId("list").append(...next.map(itemOf));
  list.drawn += next.length;
  const left = list.shown.length - list.drawn;
  byId("more").hidden = !left;
  byId("more").textContent = `Show ${Math.min(left, CHUNK)} more of ${left}`;
}

// Brings a rule into view, whatever the filters are.
function showRule(index) {
  const rule = page.rules[index];
  if (!rule) return;
  if (!list.shown.includes(rule)) {
    byId("filters").reset();
    filterRules();
  }
  const place = list.shown.indexOf(rule);
  if (place >= list.drawn) drawMore(place + 1 - list.drawn);
  for (const other of document.querySelectorAll(".rule.marked")) other.classList.remove("marked");
  const item = itemOf(rule);
  item.classList.add("marked");
  item.focus();
  item.scrollIntoView({ block: "center" });
}

function startRules() {
  const used = page.features.map((feature, index) => [feature, index]).filter(([feature]) => feature.used);
  byId("by-feature").append(option("", "any"), ...used.map(([feature, index]) => option(index, feature.shown)));
  byId("by-label").append(option("", "any"), ...page.labels.map((label, code) => option(code, label)));
  byId("by-state").append(option("", "any"), ...STATES.map((state) => option(state, state)));
  const orders = Object.entries(ORDERS).filter(([name]) => classifies || name !== "confidence");
  byId("sort").append(...orders.map(([name, [text]]) => option(name, text)));
  byId("by-label-box").hidden = byId("by-confidence-box").hidden = !classifies;
  byId("rules-note").textContent = page.rules_note;
  const filters = byId("filters");
  for (const event of ["input", "change"]) filters.addEventListener(event, filterRules);
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(filterRules)); // the fields are reset after this event
  byId("list").addEventListener("click", onRuleClick);
  byId("list").addEventListener("input", onRuleInput);
  byId("more").addEventListener("click", () => {
    const first = list.drawn;
    drawMore(CHUNK);
    byId("list").children[first].focus();
  });
  byId("accept-shown").addEventListener("click", () => {
    for (const rule of list.shown) if (verdict(rule).state === "open") judge(rule, { state: "accepted" });
    reviewChanged();
    drawRules();
  });
  window.addEventListener("beforeprint", () => drawMore(Infinity));
  filterRules();
}
