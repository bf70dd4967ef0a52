// The nearest change of a row that alters its answer: the fewest features, then the
// smallest change, relative to the range of a column in training. Every change shown is
// tried by the decision itself.
//
// A place is what a feature has: {number}, {code} of a category, {other: true} for a
// category that was never seen, or {missing: true}. A region is what a rule wants of it:
// {low, high, missing} for low < number <= high, or {codes, other, missing}.

const STEPS = 200000; // of the search: beyond, the best change so far is shown as such

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

function holds(region, place) {
  if (place.missing) return region.missing;
  if (region.codes) return place.other ? region.other : region.codes.has(place.code);
  return region.low < place.number && place.number <= region.high;
}

// ------------------------------------------------------------------ numbers

const bits = new DataView(new ArrayBuffer(8));

function nextAbove(number) {
  if (number === 0) return Number.MIN_VALUE;
  bits.setFloat64(0, number);
  bits.setBigInt64(0, bits.getBigInt64(0) + (number > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

// A number just above a threshold, with as few digits as the threshold, if that fits.
function readableAbove(low, high) {
  if (low === -Infinity) return high === Infinity ? 0 : high;
  const digits = /^-?\d*(?:\.(\d+))?$/u.exec(String(low));
  if (digits) {
    const count = digits[1]?.length ?? 0;
    const next = Number((low + 10 ** -count).toFixed(Math.min(count, 100)));
    if (low < next && next <= high) return next;
  }
  return nextAbove(low);
}

function range(feature, one, other) {
  const width = feature.high - feature.low;
  return width > 0 ? width : Math.max(Math.abs(one), Math.abs(other)) || 1;
}

// The nearest place in a region, and how far it is; null if the region is empty.
function moved(feature, region, place) {
  if (holds(region, place)) return { place, far: 0 };
  if (region.codes) {
    const [code] = region.codes;
    if (code !== undefined) return { place: { code }, far: 1 };
    if (region.other) return { place: { other: true }, far: 1 };
    return region.missing ? { place: { missing: true }, far: 1 } : null;
  }
  if (!(region.low < region.high)) return region.missing ? { place: { missing: true }, far: 1 } : null;
  if (place.missing) {
    const usual = Math.min(Math.max(feature.middle, nextAbove(Math.max(region.low, -Number.MAX_VALUE))), region.high);
    const number = region.low < usual ? usual : readableAbove(region.low, region.high);
    return { place: { number }, far: 1 };
  }
  const above = place.number > region.high;
  const edge = above ? region.high : region.low;
  const far = Math.abs(place.number - edge) / range(feature, place.number, edge);
  return { place: { number: above ? region.high : readableAbove(region.low, region.high) }, far };
}

// ------------------------------------------------------------------ one feature

// Every region that the rules distinguish in one feature.
function cellsOf(index) {
  const feature = page.features[index];
  if (feature.kind === "number") {
    const cuts = [-Infinity, ...feature.cuts, Infinity];
    const cells = cuts.slice(1).map((high, place) => ({ low: cuts[place], high, missing: false }));
    return [...cells, { low: 0, high: 0, missing: true }];
  }
  const none = new Set();
  const cells = feature.values.map((_, code) => ({ codes: new Set([code]), other: false, missing: false }));
  if (feature.unseen !== null) cells.push({ codes: none, other: true, missing: false });
  return [...cells, { codes: none, other: false, missing: true }];
}

function isLess(one, other) {
  return other === null || one.count < other.count || (one.count === other.count && one.far < other.far);
}

function single(places, answer) {
  let best = null;
  page.features.forEach((feature, index) => {
    if (!feature.used) return;
    for (const cell of cellsOf(index)) {
      const next = moved(feature, cell, places[index]);
      if (next === null || next.place === places[index]) continue;
      const found = { count: 1, far: next.far, changes: new Map([[index, next.place]]) };
      if (isLess(found, best) && answerAfter(places, found.changes) !== answer) best = found;
    }
  });
  return best;
}

function answerAfter(places, changes) {
  return decision.predict(rowAt(places.map((place, index) => changes.get(index) ?? place)));
}

// ------------------------------------------------------------------ several features

function regionsOf(rule) {
  rule.wants ??= new Map(rule.regions.map((region) => [region.feature, {
    ...region,
    low: region.known ? region.low ?? -Infinity : 0, // 0 to 0 has no number
    high: region.known ? region.high ?? Infinity : 0,
    codes: region.codes && new Set(region.codes),
  }]));
  return rule.wants;
}

function everything(feature) {
  if (feature.kind === "number") return { low: -Infinity, high: Infinity, missing: true };
  return { codes: new Set(feature.values.keys()), other: feature.unseen !== null, missing: true };
}

function meet(one, other) {
  const missing = one.missing && other.missing;
  if (one.codes) {
    const codes = new Set([...one.codes].filter((code) => other.codes.has(code)));
    return { codes, other: one.other && other.other, missing };
  }
  return { low: Math.max(one.low, other.low), high: Math.min(one.high, other.high), missing };
}

// The regions that together are all that a region leaves out.
function outside(feature, region) {
  if (region.codes) {
    const codes = new Set([...feature.values.keys()].filter((code) => !region.codes.has(code)));
    return [{ codes, other: feature.unseen !== null && !region.other, missing: !region.missing }];
  }
  const none = { low: 0, high: 0, missing: true };
  if (!(region.low < region.high)) return [{ low: -Infinity, high: Infinity, missing: !region.missing }];
  return [
    { low: -Infinity, high: region.low, missing: false },
    { low: region.high, high: Infinity, missing: false },
    ...(region.missing ? [] : [none]),
  ].filter((part) => part.missing || part.low < part.high);
}

function costOf(places, wanted) {
  const changes = new Map();
  let far = 0;
  for (const [index, region] of wanted) {
    const next = moved(page.features[index], region, places[index]);
    if (next === null) return null;
    if (next.place !== places[index]) {
      changes.set(index, next.place);
      far += next.far;
    }
  }
  return { count: changes.size, far, changes };
}

// Rows of a rule with another answer that no earlier rule with this answer takes.
function several(places, answer, own) {
  let [best, steps] = [null, STEPS];
  const earlier = page.ordered ? page.rules.filter((rule) => rule.answer === own) : [];
  for (const rule of page.rules) {
    if (rule.answer === own) continue;
    const before = earlier.filter((other) => other.place < rule.place);
    const waiting = [new Map(regionsOf(rule))];
    while (waiting.length && steps-- > 0) {
      const wanted = waiting.pop();
      const found = costOf(places, wanted);
      if (found === null || !isLess(found, best)) continue;
      const after = places.map((place, index) => found.changes.get(index) ?? place);
      const taker = before.find((other) => [...regionsOf(other)].every(([index, region]) => holds(region, after[index])));
      if (taker) {
        for (const [index, region] of regionsOf(taker)) {
          const feature = page.features[index];
          for (const part of outside(feature, region)) {
            waiting.push(new Map(wanted).set(index, meet(wanted.get(index) ?? everything(feature), part)));
          }
        }
      } else if (answerAfter(places, found.changes) !== answer) {
        best = found;
      }
    }
  }
  return { best, complete: steps > 0 };
}

function nearest(places, answer) {
  const one = single(places, answer);
  if (one) return { best: one, complete: true };
  const own = classifies ? labelValues.indexOf(answer) : answer;
  return several(places, answer, own);
}
