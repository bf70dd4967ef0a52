// The review: a verdict on each rule and comments, kept in the browser, saved as text.

const ruleById = new Map(page.rules.map((rule, place) => [rule.id, Object.assign(rule, { place })]));
const review = new Map(); // by the id of the rule; rules that nobody has touched are not in it
const UNTOUCHED = Object.freeze({ state: "open", comment: "" });
const STATES = ["open", "accepted", "rejected"];
const PLACE = `treecompile review ${page.sha256}`;

function verdict(rule) {
  return review.get(rule.id) ?? UNTOUCHED;
}

function judge(rule, changes) {
  const own = { ...verdict(rule), ...changes };
  if (own.state === "open" && !own.comment) review.delete(rule.id);
  else review.set(rule.id, own);
  showVerdict(rule);
}

function tally() {
  const found = { open: 0, accepted: 0, rejected: 0 };
  for (const rule of page.rules) found[verdict(rule).state] += 1;
  const parts = [`${found.accepted} of ${quantity(page.rules.length, "rule")} accepted`];
  if (found.rejected) parts.push(`${found.rejected} rejected`);
  if (found.open) parts.push(`${found.open} open`);
  return parts.join(", ");
}

function reviewChanged() {
  byId("progress").textContent = tally();
  byId("tally").textContent = `${tally()}.`;
  offerAll();
  keep();
}

// ------------------------------------------------------------------ as text

function lineOf(rule) {
  const tests = rule.tests.map((test) => [test.text, ...test.also].join(" or "));
  const said = `${page.target} = ${rule.said}${tests.length ? ` if ${tests.join(" and ")}` : ""}`;
  const { state, comment } = verdict(rule);
  const remark = comment.trim().split(/\r?\n/u).filter(Boolean).map((line) => `  ${line}`);
  return [`- ${rule.id}: ${state}. ${said}`, ...remark].join("\n");
}

function save() {
  const head = `${page.title}\nModel SHA-256: ${page.sha256}\n${tally()}\n`;
  const text = `${head}\n${page.rules.map(lineOf).join("\n")}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href: address, download: "review.txt" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// ------------------------------------------------------------------ in the browser

// A browser may give a local file no storage: then the review lives as long as the page.
function keep() {
  try {
    localStorage.setItem(PLACE, JSON.stringify([...review]));
  } catch {
    byId("kept").hidden = true;
  }
}

function remember() {
  try {
    for (const [id, { state, comment }] of JSON.parse(localStorage.getItem(PLACE)) ?? []) {
      if (ruleById.has(id) && STATES.includes(state)) review.set(id, { state, comment: String(comment) });
    }
  } catch {
    review.clear();
  }
}

function showReview() {
  page.rules.forEach(showVerdict);
  reviewChanged();
  drawRules();
}

function startReview() {
  byId("save").addEventListener("click", save);
  byId("forget").addEventListener("click", () => {
    review.clear();
    showReview();
  });
  remember();
  showReview();
}
