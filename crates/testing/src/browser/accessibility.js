// Runs axe-core, which stands before this, on the page, and returns one sentence for each fault.
const style = getComputedStyle;
const faultOf = (rule, { html }, why) => `${rule}: ${html.slice(0, 120)}: ${why}`;
const reasonsOf = ({ any, all, none }) => [...any, ...all, ...none].map(({ message }) => message).join("; ");

// Transitions would be measured on their way from one colour to another.
const sheet = new CSSStyleSheet();
sheet.replaceSync("* { transition: none !important; animation: none !important }");
document.adoptedStyleSheets.push(sheet);

const results = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
const faults = results.violations.flatMap(({ id, nodes }) => nodes.map((node) => faultOf(id, node, reasonsOf(node))));

// What axe cannot tell is a fault, as text on an image is; but for texts of one character, and for what is measured below: labels of
// drawings, and what is partly out of the frame that it is scrolled in.
const isContrast = ({ id }) => id === "color-contrast";
const untold = results.incomplete.filter(isContrast).flatMap(({ nodes }) => nodes).map((node) => ({
  node,
  key: node.any.map(({ data }) => data?.messageKey).join(),
  element: document.querySelector(node.target[0]),
}));
const isObscured = ({ key }) => key.startsWith("elmPartially");
const isFault = (it) => it.key !== "shortTextContent" && !isObscured(it) && !it.element?.closest("svg");
faults.push(...untold.filter(isFault).map(({ node }) => faultOf("color-contrast", node, reasonsOf(node))));

// These, and hints in fields: the contrast of their colour with the nearest background that is opaque.
const { Color, getContrast } = axe.commons.color;
const colourOf = (text) => {
  const colour = new Color();
  colour.parseString(text);
  return colour;
};
const groundOf = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = colourOf(style(at).backgroundColor);
    if (colour.alpha === 1) return colour;
  }
  return colourOf("white");
};
const shown = (css) =>
  [...document.querySelectorAll(css)].filter((it) => it.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
const measured = [
  ...shown("svg text").map((it) => [it, style(it).fill]),
  ...untold.filter(isObscured).map(({ element }) => [element, style(element).color]),
  ...shown("[placeholder]:not([placeholder=''])").map((it) => [it, style(it, "::placeholder").color]),
];
for (const [element, text] of measured) {
  const [ink, ground] = [colourOf(text), groundOf(element)];
  const ratio = getContrast(ground, ink);
  const why = `${ink.toHexString()} on ${ground.toHexString()} has a contrast of ${ratio.toFixed(2)}, and needs 4.5`;
  if (ratio < 4.5) faults.push(faultOf("color-contrast", { html: element.outerHTML }, why));
}

document.adoptedStyleSheets.splice(document.adoptedStyleSheets.indexOf(sheet), 1);
const read = results.passes.concat(results.violations).filter(isContrast).flatMap(({ nodes }) => nodes);
return { measured: read.length + measured.length, faults };
