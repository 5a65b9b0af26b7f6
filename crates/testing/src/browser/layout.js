// Looks for what does not fit: elements beyond the page's width, text that is cut off, labels of a drawing over each other. Half a pixel
// is rounding.

// A short selector that leads a reader to an element: it and two above it, or as far up as the next id.
const selectorOf = (element) => {
  const parts = [];
  for (let at = element; at && at !== document.documentElement && parts.length < 3; at = at.parentElement) {
    const classes = [...at.classList].slice(0, 2).map((name) => `.${name}`).join("");
    parts.unshift(at.localName + (at.id ? `#${at.id}` : classes));
    if (at.id) break;
  }
  return parts.join(" > ") || "html";
};

const shortened = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);

// The text nodes that are shown, with the element that each is in.
const shownTexts = () => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    const isShown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
    if (node.data.trim() && isShown && !element.closest("option, script, style")) found.push({ node, element });
  }
  return found;
};

const rectsOf = (node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()].filter((rect) => rect.width > 0.5 && rect.height > 0.5);
};

const width = document.documentElement.clientWidth;
const faults = [];
const report = (kind, element, by) =>
  faults.push(`${JSON.stringify(shortened(element.textContent ?? ""))} in ${selectorOf(element)} is ${kind}, by ${Math.round(by)} px`);

const isClip = (overflow) => overflow === "hidden" || overflow === "clip";
const isScroll = (overflow) => overflow === "auto" || overflow === "scroll";

// Whether an element above lets it be scrolled into view, or cuts it off.
const isHeld = (element) => {
  for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
    const { overflowX } = getComputedStyle(at);
    if (isScroll(overflowX) || isClip(overflowX)) return true;
  }
  return false;
};

const beyond = (element) => {
  const rect = element.getBoundingClientRect();
  // What lies wholly to the left is hidden there on purpose, until it gets the focus.
  if (rect.width < 1 || rect.height < 1 || rect.right <= 0) return 0;
  return Math.max(rect.right - width, -rect.left);
};

const isWide = (element) => beyond(element) > 1 && element.checkVisibility({ visibilityProperty: true }) && !isHeld(element);
for (const element of document.body.querySelectorAll("*")) {
  // The innermost ones are the cause.
  if (isWide(element) && ![...element.children].some(isWide)) report("wider than the page", element, beyond(element));
}
const rest = document.documentElement.scrollWidth - width;
if (rest > 1 && faults.length === 0) report("wider than the page", document.documentElement, rest);

// By how much a box is outside of another.
const outside = (inner, outer, sides) => Math.max(...sides.map((side) => {
  const isStart = side === "left" || side === "top";
  return isStart ? outer[side] - inner[side] : inner[side] - outer[side];
}));

// How much of a text is cut off by an element above it.
const cutOff = ({ node, element }) => {
  const rects = rectsOf(node);
  const sidesLeft = { x: ["left", "right"], y: ["top", "bottom"] };
  for (let at = element; at && at !== document.body; at = at.parentElement) {
    const style = getComputedStyle(at);
    const box = at.getBoundingClientRect();
    const isDrawing = at instanceof SVGSVGElement;
    if (at instanceof SVGElement && !isDrawing) continue;
    // A box of a pixel holds words for screen readers alone.
    if (isClip(style.overflowX) && Math.min(box.width, box.height) <= 2) return 0;
    for (const [axis, overflow] of [["x", style.overflowX], ["y", style.overflowY]]) {
      const sides = sidesLeft[axis];
      if (!sides) continue;
      if (isScroll(overflow)) delete sidesLeft[axis];
      if (!isClip(overflow)) continue;
      const most = Math.max(0, ...rects.map((rect) => outside(rect, box, sides)));
      if (most > 1) return most;
    }
  }
  return 0;
};

for (const shown of shownTexts()) {
  const by = cutOff(shown);
  if (by > 0) report("cut off", shown.element, by);
}

// Labels of a drawing are placed by computation, and nothing keeps them apart.
for (const drawing of document.querySelectorAll("svg")) {
  const visible = { visibilityProperty: true, opacityProperty: true };
  const labels = [...drawing.querySelectorAll("text")].filter((label) => label.checkVisibility(visible));
  const boxes = labels.map((label) => label.getBoundingClientRect());
  for (let one = 0; one < labels.length; one += 1) {
    for (let other = one + 1; other < labels.length; other += 1) {
      const [a, b] = [boxes[one], boxes[other]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 1 + 0.25 * Math.min(a.height, b.height)) report("over another label", labels[other], Math.min(across, down));
    }
  }
}
return faults;
