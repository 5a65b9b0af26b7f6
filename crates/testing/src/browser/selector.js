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
