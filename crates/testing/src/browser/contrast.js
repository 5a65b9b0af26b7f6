// Measures the contrast of all text that can be seen, as WCAG 2 defines it (success criterion 1.4.3): at three points of every line, what
// is painted behind the text is found, composed, and compared with the text's own colour. Text that cannot be hit at a point is clipped
// or covered there.

const clear = { r: 0, g: 0, b: 0, a: 0 };
const paper = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

// A computed colour. Most are rgb(…); the canvas knows the others.
const colourOf = (text) => {
  const [, numbers] = text.match(/^rgba?\(([^)]*)\)$/) ?? [];
  if (numbers) {
    const [r, g, b, a = 1] = numbers.split(/[\s,/]+/).map(Number);
    return { r, g, b, a };
  }
  paper.clearRect(0, 0, 1, 1);
  paper.fillStyle = text;
  paper.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = paper.getImageData(0, 0, 1, 1).data;
  return { r, g, b, a: a / 255 };
};

const faded = (colour, opacity) => ({ ...colour, a: colour.a * Number(opacity) });

// One colour painted over another.
const over = (top, bottom) => {
  const a = top.a + bottom.a * (1 - top.a);
  const mix = (name) => (a === 0 ? 0 : (top[name] * top.a + bottom[name] * bottom.a * (1 - top.a)) / a);
  return { r: mix("r"), g: mix("g"), b: mix("b"), a };
};

// The elements, from the root down, that are painted apart and then as a whole with an opacity.
const groupsOf = (element) => {
  const groups = [];
  for (let at = element; at; at = at.parentElement) if (Number(getComputedStyle(at).opacity) < 1) groups.unshift(at);
  return groups;
};

// What layers come to, from the lowest to the highest.
const composed = (layers, depth) => {
  let result = clear;
  for (let at = 0; at < layers.length; ) {
    const group = layers[at].groups[depth];
    if (!group) {
      result = over(layers[at].colour, result);
      at += 1;
      continue;
    }
    let end = at;
    while (end < layers.length && layers[end].groups[depth] === group) end += 1;
    const inner = composed(layers.slice(at, end), depth + 1);
    result = over(faded(inner, getComputedStyle(group).opacity), result);
    at = end;
  }
  return result;
};

// A paint of a drawing; undefined for one that is no colour.
const paint = (value, opacity) => {
  if (value === "none") return clear;
  return value.startsWith("url(") ? undefined : faded(colourOf(value), opacity);
};

// What an element paints at a point, without its text; undefined for what is no colour, such as an image.
const paintedBy = (element, x, y) => {
  const style = getComputedStyle(element);
  if (element instanceof SVGGeometryElement) {
    const point = new DOMPoint(x, y).matrixTransform(element.getScreenCTM().inverse());
    if (style.stroke !== "none" && element.isPointInStroke(point)) return paint(style.stroke, style.strokeOpacity);
    return element.isPointInFill(point) ? paint(style.fill, style.fillOpacity) : clear;
  }
  if (element instanceof SVGElement && !(element instanceof SVGSVGElement)) return clear;
  const isImage = ["img", "canvas", "video", "iframe"].includes(element.localName);
  return isImage || style.backgroundImage !== "none" ? undefined : colourOf(style.backgroundColor);
};

// The colour of the page itself: its own, or the system's.
const canvasColour = () => {
  const probe = document.createElement("div");
  probe.style.backgroundColor = "Canvas";
  document.body.append(probe);
  const system = colourOf(getComputedStyle(probe).backgroundColor);
  probe.remove();
  const [root, body] = [document.documentElement, document.body].map((it) => colourOf(getComputedStyle(it).backgroundColor));
  return over(root.a > 0 ? root : body, system);
};

const luminance = ({ r, g, b }) => {
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
};

const ratioOf = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

// The colours of text and of what is behind it at a point; nothing if the text is not there.
const coloursAt = (element, ink, x, y, base) => {
  const stack = document.elementsFromPoint(x, y);
  const at = stack.indexOf(element);
  if (at < 0) return undefined;
  const layers = [{ colour: base, groups: [] }];
  for (const behind of stack.slice(at).reverse()) {
    const colour = paintedBy(behind, x, y);
    if (!colour) return { unknown: selectorOf(behind) };
    layers.push({ colour, groups: groupsOf(behind) });
  }
  const text = { colour: ink, groups: groupsOf(element) };
  return { background: composed(layers, 0), text: composed([...layers, text], 0) };
};

// Text counts as large from 24 pixels on, or from 18.66 if it is bold.
const neededBy = (element, style) => {
  const scale = element instanceof SVGElement ? Math.abs(element.getScreenCTM().d) : 1;
  const size = Number.parseFloat(style.fontSize) * scale;
  return size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
};

const hex = ({ r, g, b }) => `#${[r, g, b].map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;

// The lowest contrast of a text, or nothing if it cannot be seen anywhere.
const measure = ({ element, rects, ink, text, needed }, base) => {
  let worst;
  for (const rect of rects) {
    for (const share of [0.1, 0.5, 0.9]) {
      const colours = coloursAt(element, ink, rect.left + share * rect.width, rect.top + rect.height / 2, base);
      if (!colours) continue;
      const ratio = colours.unknown ? 0 : ratioOf(colours.text, colours.background);
      if (!worst || ratio < worst.ratio) worst = { ratio, colours };
    }
  }
  if (!worst) return undefined;
  const { ratio, colours } = worst;
  const background = colours.unknown ? `an image in ${colours.unknown}` : hex(colours.background);
  const found = { selector: selectorOf(element), text: shortened(text), needed };
  return { ...found, ratio, colour: hex(colours.unknown ? ink : colours.text), background };
};

// Where everything that was scrolled stood before.
const stood = new Map();

// Brings the first of some boxes into view, since nothing can be hit outside of it: into what scrolls around it, and into the window.
const bringIntoView = (element, rects) => {
  const window = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  for (let at = element; at; at = at.parentElement) {
    const [first] = rects();
    const isRoot = at === document.documentElement;
    const { overflowX, overflowY } = getComputedStyle(at);
    const isScroll = isRoot || [overflowX, overflowY].some((overflow) => overflow === "auto" || overflow === "scroll");
    if (!first || !isScroll) continue;
    const box = isRoot ? window : at.getBoundingClientRect();
    if (!stood.has(at)) stood.set(at, { left: at.scrollLeft, top: at.scrollTop });
    if (first.left < box.left || first.right > box.right) at.scrollLeft += (first.left + first.right - box.left - box.right) / 2;
    if (first.top < box.top || first.bottom > box.bottom) at.scrollTop += (first.top + first.bottom - box.top - box.bottom) / 2;
  }
  return rects();
};

// What is to be measured of a text node.
const ofText = ({ node, element }) => {
  const style = getComputedStyle(element);
  const ink = element instanceof SVGElement ? paint(style.fill, style.fillOpacity) : colourOf(style.color);
  const rects = bringIntoView(element, () => rectsOf(node));
  return { element, rects, ink: ink ?? clear, text: node.data, needed: neededBy(element, style) };
};

// What is to be measured of a field: what is typed into it, and what stands there before.
const ofField = (element) => {
  const needed = neededBy(element, getComputedStyle(element));
  const rects = bringIntoView(element, () => [element.getBoundingClientRect()]);
  const typed = { text: element.value || element.name, ink: colourOf(getComputedStyle(element).color) };
  const hint = { text: element.placeholder, ink: colourOf(getComputedStyle(element, "::placeholder").color) };
  return [typed, hint].filter(({ text }) => text).map((it) => ({ element, rects, needed, ...it }));
};

const FIELDS = "select, textarea, input:not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=file])";

// Everything can be hit, and nothing is on its way from one colour to another.
const sheet = new CSSStyleSheet();
const still = "transition: none !important; animation: none !important; scroll-behavior: auto !important";
sheet.replaceSync(`* { pointer-events: auto !important; ${still} }`);
const before = document.adoptedStyleSheets;
document.adoptedStyleSheets = [...before, sheet];
try {
  const base = canvasColour();
  const results = [];
  // What cannot be used may be pale.
  const isInUse = (element) => !element.closest(":disabled, [aria-disabled=true]");
  for (const text of shownTexts().filter(({ element }) => isInUse(element))) results.push(measure(ofText(text), base));
  for (const field of document.querySelectorAll(FIELDS)) {
    if (!isInUse(field) || !field.checkVisibility({ visibilityProperty: true })) continue;
    for (const one of ofField(field)) results.push(measure(one, base));
  }
  const measured = results.filter(Boolean);
  return { measured: measured.length, low: measured.filter(({ ratio, needed }) => ratio < needed) };
} finally {
  for (const [element, { left, top }] of stood) [element.scrollLeft, element.scrollTop] = [left, top];
  document.adoptedStyleSheets = before;
}
