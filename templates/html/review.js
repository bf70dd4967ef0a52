// The review: a decision about each rule and about the whole, saved as review.json.

const FORMAT = "treecompile review 1";
const ruleById = new Map(page.rules.map((rule, place) => [rule.id, Object.assign(rule, { place })]));
const review = { reviewer: "", date: "", decision: { state: "open", comment: "" }, rules: new Map() };
const UNTOUCHED = Object.freeze({ state: "open", comment: "", by: "", date: "" });

function verdict(rule) {
  return review.rules.get(rule.id) ?? UNTOUCHED;
}

function today() {
  const now = new Date();
  const [month, day] = [now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${now.getFullYear()}-${month}-${day}`;
}

function decideRule(rule, state, tell = true) {
  const known = state !== "open";
  const comment = verdict(rule).comment;
  if (!known && !comment) review.rules.delete(rule.id);
  else review.rules.set(rule.id, { state, comment, by: known ? review.reviewer : "", date: known ? review.date : "" });
  showVerdict(rule);
  if (tell) reviewChanged();
}

function commentRule(rule, comment) {
  const { changed, ...before } = verdict(rule);
  const own = { ...before, comment };
  if (own.state === "open" && !comment) review.rules.delete(rule.id);
  else review.rules.set(rule.id, own);
  showVerdict(rule);
  reviewChanged();
}

function counts() {
  const found = { open: 0, accepted: 0, rejected: 0 };
  for (const rule of page.rules) found[verdict(rule).state] += 1;
  return found;
}

function reviewChanged() {
  const { open, accepted, rejected } = counts();
  const parts = [`${accepted} of ${quantity(page.rules.length, "rule")} accepted`];
  if (rejected) parts.push(`${rejected} rejected`);
  if (open) parts.push(`${open} open`);
  byId("progress").textContent = parts.join(", ");
  byId("tally").textContent = `${parts.join(", ")}. The model as a whole is ${review.decision.state}.`;
  offerAll();
  keep();
}

function say(text, good) {
  const message = byId("message");
  message.textContent = text;
  message.className = `whole message ${good ? "good" : "bad"}`;
}

// ------------------------------------------------------------------ as a file

function asJson() {
  const rules = {};
  for (const rule of page.rules) {
    const own = review.rules.get(rule.id);
    if (!own || own.changed) continue;
    const signed = own.state !== "open";
    const [by, date] = signed ? [own.by || review.reviewer, own.date || review.date] : ["", ""];
    rules[rule.id] = { seal: rule.seal, state: own.state, comment: own.comment, by, date };
  }
  return {
    format: FORMAT, model: page.sha256, target: page.target_name,
    reviewer: review.reviewer, date: review.date, decision: review.decision, rules,
  };
}

const isText = (value) => typeof value === "string";
const isState = (value) => isText(value) && Object.hasOwn(STATES, value);
const isSeal = (value) => isText(value) && /^[0-9a-f]{16}$/u.test(value);
const isModel = (value) => isText(value) && /^[0-9a-f]{64}$/u.test(value);
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function isDate(value) {
  if (value === "") return true;
  if (!isText(value) || !/^\d{4}-\d{2}-\d{2}$/u.test(value)) return false;
  const day = new Date(`${value}T00:00:00Z`); // 30 February becomes another day, or none
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value);
}

const WHOLE = { format: isText, model: isModel, target: isText, reviewer: isText, date: isDate, decision: isRecord, rules: isRecord };
const DECISION = { state: isState, comment: isText };
const VERDICT = { seal: isSeal, state: isState, comment: isText, by: isText, date: isDate };

// What is wrong with an object that must have these keys, in words; "" if nothing.
function shapeProblem(record, keys, where) {
  if (!isRecord(record)) return `${where} is not an object.`;
  const strange = Object.keys(record).find((key) => !Object.hasOwn(keys, key));
  if (strange !== undefined) return `${where} has the unknown key “${strange}”.`;
  const wrong = Object.keys(keys).find((key) => !Object.hasOwn(record, key) || !keys[key](record[key]));
  return wrong === undefined ? "" : `“${wrong}” of ${where} is missing or not right.`;
}

function isUnsigned(entry, by, date) {
  return entry.state !== "open" && !(by.trim() && date);
}

// What is wrong with the content of a file, in words; "" if nothing.
function problemOf(made) {
  if (!isRecord(made) || made.format !== FORMAT) return `it is not a review: its format is not “${FORMAT}”.`;
  const shape = shapeProblem(made, WHOLE, "the file") || shapeProblem(made.decision, DECISION, "the decision");
  if (shape) return shape;
  for (const [id, entry] of Object.entries(made.rules)) {
    const problem = shapeProblem(entry, VERDICT, `rule ${id}`);
    if (problem) return problem;
    if (isUnsigned(entry, entry.by, entry.date)) return `rule ${id} is ${entry.state}, but nobody says who and when.`;
  }
  if (made.target !== page.target_name) return `it is of a model that predicts “${made.target}”, and this one predicts “${page.target_name}”.`;
  if (made.model === page.sha256) return "";
  const seals = new Set(page.rules.map((rule) => rule.seal));
  if (Object.values(made.rules).some((entry) => seals.has(entry.seal))) return "";
  return `it is of another model: its SHA-256 begins with ${made.model.slice(0, 12)}, that of this page with ${page.sha256.slice(0, 12)}, and they have no reviewed rule in common.`;
}

// Which entry of a file each rule has: the one with its seal, at best under its own id;
// what is left goes by the id, and has changed.
function entriesFor(rules) {
  const left = new Map(Object.entries(rules));
  const found = new Map();
  const give = (rule, id) => {
    found.set(rule, left.get(id));
    left.delete(id);
  };
  for (const rule of page.rules) if (left.get(rule.id)?.seal === rule.seal) give(rule, rule.id);
  const bySeal = new Map();
  for (const [id, { seal }] of left) bySeal.set(seal, [...(bySeal.get(seal) ?? []), id]);
  for (const rule of page.rules) {
    const id = found.has(rule) ? undefined : bySeal.get(rule.seal)?.shift();
    if (id !== undefined) give(rule, id);
  }
  for (const rule of page.rules) if (!found.has(rule) && left.has(rule.id)) give(rule, rule.id);
  return found;
}

// Takes a review that has no problem, and says what has changed since.
function take(made) {
  const same = made.model === page.sha256;
  Object.assign(review, { reviewer: made.reviewer, date: made.date });
  review.decision = { ...made.decision, state: same ? made.decision.state : "open" };
  review.rules.clear();
  let changed = 0;
  for (const [rule, entry] of entriesFor(made.rules)) {
    const { seal, ...own } = entry;
    if (seal !== rule.seal && own.state !== "open") {
      changed += 1;
      Object.assign(own, { state: "open", by: "", date: "", changed: true });
    }
    review.rules.set(rule.id, own);
  }
  showReview();
  const parts = same ? [] : ["It belongs to an earlier version of the model, so the model as a whole is open again."];
  if (changed) parts.push(`${quantity(changed, "rule")} changed since and ${changed === 1 ? "is" : "are"} open again.`);
  return parts.join(" ");
}

function showReview() {
  byId("reviewer").value = review.reviewer;
  byId("date").value = review.date;
  byId("comment").value = review.decision.comment;
  byId("signing").elements.decision.value = review.decision.state;
  page.rules.forEach(showVerdict);
  showSignatures();
  reviewChanged();
  drawRules();
}

function save() {
  if (!review.reviewer.trim()) {
    say("Enter the name of the reviewer first.", false);
    byId("reviewer").focus();
    return;
  }
  if (!review.date) {
    say("Enter the date first.", false);
    byId("date").focus();
    return;
  }
  const text = `${JSON.stringify(asJson(), null, 2)}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: address, download: "review.json" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  say("Saved as review.json.", true);
}

async function load(file) {
  let made;
  try {
    made = JSON.parse(await file.text());
  } catch {
    say(`${file.name} was not loaded: it is not JSON.`, false);
    return;
  }
  const problem = problemOf(made);
  if (problem) {
    say(`${file.name} was not loaded: ${problem}`, false);
    return;
  }
  const told = take(made);
  say(`Loaded ${file.name}. ${told}`, true);
}

// ------------------------------------------------------------------ in the browser

const PLACE = `treecompile review ${page.sha256}`;

// A browser may give a local file no storage: then the review lives until it is saved.
function keep() {
  try {
    localStorage.setItem(PLACE, JSON.stringify(asJson()));
  } catch {
    byId("forget").hidden = true;
  }
}

function remembered() {
  try {
    const made = JSON.parse(localStorage.getItem(PLACE));
    return made !== null && !problemOf(made) ? made : null;
  } catch {
    return null;
  }
}

function showSignatures() {
  const own = [review.reviewer, "Reviewer", review.decision.state === "open" ? "" : review.decision.state, review.reviewer ? review.date : "", ""];
  const others = page.reviewers.filter(([name]) => name !== review.reviewer).map(([name, role]) => [name, role, "", "", ""]);
  const lines = [own, ...others];
  while (lines.length < 3) lines.push(["", "", "", "", ""]);
  const body = byId("signatures").tBodies[0];
  body.replaceChildren(...lines.map((line) => element("tr", null, ...line.map((cell) => element("td", null, cell)))));
}

function startReview() {
  const form = byId("signing");
  review.date = today();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  form.addEventListener("input", (event) => {
    if (event.target.id === "load") return;
    Object.assign(review, { reviewer: byId("reviewer").value, date: byId("date").value });
    review.decision = { state: form.elements.decision.value, comment: byId("comment").value };
    say("", true);
    showSignatures();
    reviewChanged();
  });
  byId("load").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) await load(file);
    event.target.value = "";
  });
  byId("forget").addEventListener("click", () => {
    take({ model: page.sha256, reviewer: review.reviewer, date: today(), decision: { state: "open", comment: "" }, rules: {} });
    say("All rules are open again.", true);
  });
  const made = remembered();
  if (made) take(made);
  else showReview();
}
