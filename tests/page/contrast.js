// The texts whose contrast is below 4.5 to 1, each with its contrast.
const parsed = (text) => text.match(/[\d.]+/gu).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map((part) => part / 255)
  .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
const over = ([r, g, b, a = 1], below) => [r, g, b].map((part, i) => part * a + below[i] * (1 - a));
const backOf = (node) => {
  const layers = [];
  for (let at = node; at; at = at.parentElement) layers.unshift(parsed(getComputedStyle(at).backgroundColor));
  return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
};
const found = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest("script, style, title, .skip")) continue;
  const box = node.closest(".nodes > g")?.querySelector("rect");
  const back = box ? parsed(getComputedStyle(box).fill) : backOf(node.closest("svg")?.parentElement ?? node);
  const ink = node.closest("svg") ? getComputedStyle(node).fill : getComputedStyle(node).color;
  const [one, other] = [luminance(over(parsed(ink), back)), luminance(back)];
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (ratio < 4.5) found.push([walk.currentNode.data, ratio]);
}
return found;
