// A row to try: a form with an input for each feature, and what the model says.
//
// A place is what a feature has: {number}, {code} of a category, {other: true} for a
// category that was never seen, or {missing: true}.

const inputs = new Map(); // by the index of the feature
const [MISSING, OTHER] = ["missing", "other"]; // values of a select; categories are numbers

function labelOf(feature, input) {
  return element("label", null, feature.shown, input);
}

function numberInput(feature) {
  const known = feature.low !== null && feature.high !== null;
  const hint = known ? `in training ${rounded(feature.low)} to ${rounded(feature.high)}` : null;
  return element("input", { type: "number", step: "any", placeholder: "missing", title: hint });
}

function categoryInput(feature) {
  const known = feature.values.map((_, code) => option(code, feature.texts[code]));
  const unseen = feature.unseen === null ? null : option(OTHER, "something else (unseen)");
  return element("select", null, ...known, unseen, option(MISSING, "missing"));
}

function placeFrom(index) {
  const [feature, input] = [page.features[index], inputs.get(index)];
  if (!input) return { missing: true };
  if (feature.kind === "number") return input.value === "" ? { missing: true } : { number: Number(input.value) };
  if (input.value === MISSING) return { missing: true };
  return input.value === OTHER ? { other: true } : { code: Number(input.value) };
}

function put(index, place) {
  const [feature, input] = [page.features[index], inputs.get(index)];
  if (feature.kind === "number") input.value = place.missing ? "" : String(place.number);
  else if (place.missing) input.value = MISSING;
  else input.value = place.other ? OTHER : String(place.code);
}

function said(feature, place) {
  if (place.missing) return "missing";
  if (place.other) return "something else (unseen)";
  return feature.kind === "number" ? String(place.number) : feature.texts[place.code];
}

function valueAt(feature, place) {
  if (place.missing) return null;
  if (place.other) return feature.unseen;
  return feature.kind === "number" ? place.number : feature.values[place.code];
}

function rowAt(places) {
  const row = Object.create(null); // a column may be called __proto__
  page.features.forEach((feature, index) => {
    if (feature.used) row[feature.name] = valueAt(feature, places[index]);
  });
  return row;
}

// ------------------------------------------------------------------ what the model says

function answerText(answer) {
  if (!classifies) return String(answer);
  return page.labels[labelValues.indexOf(answer)];
}

function odds(row) {
  if (!classifies) return null;
  const shares = [...decision.predictProba(row).values()];
  const lines = shares.flatMap((part, code) => {
    const picture = drawn("svg", { class: "shares", viewBox: "0 0 200 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    picture.append(drawn("rect", { class: "share", x: 0, y: 0, width: 200 * part, height: 10, fill: colourOf(code) }),
      drawn("rect", { class: "frame", x: 0, y: 0, width: 200, height: 10 }));
    return part > 0 || shares.length <= 8
      ? [element("span", null, page.labels[code]), picture, element("span", null, `${(100 * part).toFixed(1)} %`)] : [];
  });
  return element("div", { class: "odds", role: "group", "aria-label": "Share of each answer" }, ...lines);
}

// The tests that lead to the answer, each with the value of the row.
function pathOf(rule, places) {
  if (rule.node >= 0) {
    const way = [rule.node, ...ancestors(rule.node)].reverse().slice(1);
    return way.map((position) => {
      const node = page.nodes[position];
      const index = page.nodes[node.parent].feature;
      return `${page.features[index].shown} ${node.exact} — here ${said(page.features[index], places[index])}`;
    });
  }
  const tests = rule.tests.map((test) => {
    const also = test.also.map((what) => ` or ${what}`).join("");
    return `${test.text}${also} — here ${said(page.features[test.feature], places[test.feature])}`;
  });
  const before = rule.place ? [`${rule.place === 1 ? "the rule" : `the ${rule.place} rules`} before it ${rule.place === 1 ? "does" : "do"} not hold`] : [];
  return [...before, ...tests];
}

function decidedBy(rule) {
  const link = element("button", { type: "button", class: "link", "data-rule": rule.place }, rule.id);
  const why = rule.rows ? ` (${support(rule)})` : ` (${rule.empty})`;
  return [element("p", null, "Decided by ", link, why)];
}

function showRow() {
  const result = byId("result");
  const wrong = [...inputs.values()].filter((input) => input.validity.badInput || !Number.isFinite(Number(input.value || 0)) && input.type === "number");
  for (const input of inputs.values()) input.setAttribute("aria-invalid", String(wrong.includes(input)));
  if (wrong.length) {
    result.replaceChildren(element("p", { class: "wrong" }, "This is not a number: enter one, or leave the field empty if it is missing."));
    return;
  }
  const places = page.features.map((_, index) => placeFrom(index));
  const row = rowAt(places);
  const answer = decision.predict(row);
  const rule = ruleById.get(decision.decide(row));
  const path = pathOf(rule, places);
  if (rule.node >= 0) {
    lightPath(rule.node);
    drawTree();
  }
  result.replaceChildren(
    element("p", { class: "answer", id: "answer" }, `${page.target} = ${answerText(answer)}`),
    ...decidedBy(rule), ...[odds(row)].filter(Boolean),
    ...(path.length ? [element("h3", null, "Path"), element("ol", { class: "path" }, ...path.map((step) => element("li", null, step)))] : []));
}

function startTrying() {
  const form = byId("row");
  page.features.forEach((feature, index) => {
    if (!feature.used) return;
    const input = feature.kind === "number" ? numberInput(feature) : categoryInput(feature);
    input.id = `value-${index}`;
    inputs.set(index, input);
    form.append(labelOf(feature, input));
    put(index, page.example[index]);
  });
  if (!inputs.size) form.append(element("p", null, "The model reads no feature: its answer is always the same."));
  for (const event of ["input", "change"]) form.addEventListener(event, showRow);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("result").addEventListener("click", (event) => {
    const link = event.target.closest("[data-rule]");
    if (link) showRule(Number(link.dataset.rule));
  });
  showRow();
}
