// What a page lacks for people who use a screen reader, beyond the rules of axe-core. Returns sentences.
const faults = [];
const shown = (css) => [...document.querySelectorAll(css)].filter((it) => it.checkVisibility({ visibilityProperty: true }));
const where = (it) => `${it.localName}${it.id ? `#${it.id}` : ""}${it.getAttribute("name") ? `[name=${it.getAttribute("name")}]` : ""}`;
const fault = (it, what) => faults.push(`${where(it)} ${what}: ${it.outerHTML.slice(0, 120)}`);
const text = (it) => (it?.textContent ?? "").trim();
const byIds = (ids) => ids.split(/\s+/).filter(Boolean).map((id) => document.getElementById(id));
const named = (it) => {
  const by = it.getAttribute("aria-labelledby");
  return (it.getAttribute("aria-label") ?? "").trim() || (by ? byIds(by).map(text).join(" ").trim() : "");
};

if (!document.title.includes(text(document.querySelector("h1")))) faults.push(`the title ${document.title} is not about the page`);

// Landmarks.
for (const [css, name] of [["main", "main part"], ["body > header", "head"], ["h1", "first heading"]]) {
  if (shown(css).length !== 1) faults.push(`the page has ${shown(css).length} of a ${name}`);
}
for (const it of shown("nav, section, [role=region]")) if (!named(it)) fault(it, "has no name");
for (const it of shown("fieldset")) if (!text(it.querySelector("legend"))) fault(it, "has no legend");

// Drawings and meters.
for (const it of shown("svg")) {
  const isWithin = it.parentElement.closest("svg, [aria-hidden=true]");
  if (isWithin || it.getAttribute("aria-hidden") === "true") continue;
  if (it.getAttribute("role") !== "img" || !named(it)) fault(it, "has no name");
}
for (const it of shown("[role=meter]")) {
  if (!named(it) || !it.getAttribute("aria-valuenow") || !it.getAttribute("aria-valuetext")) fault(it, "does not say what it measures");
}

// Tables.
for (const it of shown("table")) {
  if (!text(it.caption)) fault(it, "has no caption");
  for (const head of it.querySelectorAll("th")) {
    if (!head.scope) fault(head, "does not say what it is the head of");
    if (!text(head)) fault(head, "is empty");
  }
  const columns = [...(it.tHead?.rows[0]?.cells ?? [])].reduce((sum, cell) => sum + cell.colSpan, 0);
  for (const row of it.tBodies[0]?.rows ?? []) {
    const cells = [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0);
    if (cells !== columns) fault(row, `has ${cells} cells under ${columns} heads`);
  }
}

// What refers to something finds it, once.
const ids = [...document.querySelectorAll("[id]")].map((it) => it.id);
for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push(`the id ${id} is there twice`);
for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
  for (const it of document.querySelectorAll(`[${name}]`)) {
    if (byIds(it.getAttribute(name)).some((found) => !found)) fault(it, `refers by ${name} to nothing`);
  }
}
return faults;
