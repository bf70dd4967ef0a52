// What is known about the model: facts, quality, features.

function described(term, text) {
  return [element("dt", null, term), element("dd", null, text)];
}

function showFacts() {
  byId("summary").textContent = page.summary;
  byId("facts").append(...page.facts.map(([term, text]) => element("div", null, ...described(term, text))));
}

// ------------------------------------------------------------------ quality

// The darkest cells are the most frequent ones; what is wrong stands beside the diagonal.
function confusion(part) {
  const heads = [{ text: "Actual" }, ...page.labels.map((label) => ({ text: label, numeric: true })), { text: "Right", numeric: true }];
  const rows = part.confusion.map((row, actual) => {
    const total = row.reduce((sum, count) => sum + count, 0);
    const cells = row.map((count) => {
      const cell = element("td", { class: count ? "n hot" : "n" }, String(count));
      if (count) cell.style.backgroundColor = `rgba(var(--heat), ${(0.06 + 0.24 * count / total).toFixed(3)})`;
      return cell;
    });
    return [element("th", { scope: "row" }, page.labels[actual]), ...cells, percent(row[actual], total)];
  });
  return table(`Confusion matrix, ${part.title.toLowerCase()}: actual answers by row, predicted ones by column`, heads, rows);
}

function qualityPart(part) {
  const inner = part.confusion.length && part.confusion.length <= 40 ? confusion(part) : null;
  const rows = part.measures.length ? table("", [{ text: "Measure" }, { text: "Value", numeric: true }], part.measures) : null;
  return element("div", { class: "card" }, element("h3", null, part.title), element("p", { class: "figure" }, part.figure),
    element("p", { class: "hint" }, part.summary), inner, rows);
}

function showQuality() {
  const parts = page.quality.map(qualityPart);
  byId("quality-parts").append(...(parts.length ? parts : [element("p", null, "The quality of the rules was not measured.")]));
}

function showColumns() {
  const { heads, rows } = page.columns;
  byId("columns-parts").append(rows.length ? table("", heads.map((text) => ({ text })), rows) : element("p", null, "There are none."));
}

function showSections() {
  const links = [...document.querySelectorAll("main > section:not([hidden])")].map((section) =>
    element("li", null, element("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
  byId("sections").append(...links);
}
