// The script of all pages. All content comes from the server, which has escaped it; nothing here makes HTML.
"use strict";

// Reloads the page in the background; each part that may change has `data-live` and an id.
let reloading = false;
let reloadAgain = false;

// After a form is sent, the browser loads another page. Signing out ends the session before that page has arrived.
let leaving = false;
addEventListener("submit", () => (leaving = true));
// The browser may restore this page from its cache.
addEventListener("pageshow", (event) => (leaving &&= !event.persisted));

function signInAgain() {
  if (!leaving) location.reload();
}

async function reload(isChange = true) {
  if (reloading) {
    reloadAgain = true;
    return;
  }
  reloading = true;
  try {
    const answer = await fetch(location.href, { headers: { "taximeter-script": "1" }, credentials: "same-origin" });
    if (answer.status === 401) {
      signInAgain();
      return;
    }
    if (answer.ok) replaceLive(document, new DOMParser().parseFromString(await answer.text(), "text/html"));
    // The accounts of a form that is being filled in may have changed.
    if (isChange) for (const ask of previews) ask();
  } catch (error) {
    // The server cannot be reached; the event stream reconnects when it is back.
  } finally {
    reloading = false;
  }
  if (reloadAgain) {
    reloadAgain = false;
    setTimeout(reload, 250);
  }
}

function replaceLive(here, there) {
  for (const old of here.querySelectorAll("[data-live]")) replacePart(old, there.getElementById(old.id));
  schedule();
}

function replacePart(old, fresh) {
  if (!fresh || fresh.isEqualNode(old)) return;
  // A part that the user is working in is not replaced.
  if (old.contains(document.activeElement) || old.querySelector("figure[data-table]:hover")) {
    missed = true;
    return;
  }
  const opened = [...old.querySelectorAll("details[id][open]")].map((details) => details.id);
  const scrolled = [...old.querySelectorAll(".scroll")].map((part) => [part.scrollLeft, part.scrollTop]);
  const adopted = document.importNode(fresh, true);
  for (const id of opened) adopted.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  old.replaceWith(adopted);
  adopted.querySelectorAll(".scroll").forEach((part, at) => part.scrollTo(...(scrolled[at] || [0, 0])));
  enliven(adopted);
}

// Parts that were not replaced because the user was in them are replaced when the user leaves.
let missed = false;

function catchUp() {
  if (!missed) return;
  missed = false;
  reload();
}

// A part with `data-again` is reloaded after that number of milliseconds.
let timer = 0;

function schedule() {
  clearTimeout(timer);
  const again = [...document.querySelectorAll("[data-again]")].map((part) => Number(part.dataset.again));
  if (again.length) timer = setTimeout(reload, Math.max(200, Math.min(...again)));
}

function listen() {
  if (!document.querySelector("[data-events]")) return;
  let first = true;
  const events = new EventSource("/events");
  events.addEventListener("accounts", (message) => {
    // The first message has all accounts, including changes since the page was loaded.
    const isFirst = first;
    first = false;
    const wanted = document.querySelector("[data-events]").dataset.events;
    const { accounts, refused } = JSON.parse(message.data);
    const isAbout = (name) => wanted === "" || name === wanted || name.startsWith(`${wanted}/`);
    if (accounts.some((one) => isAbout(one.account)) || refused.some((one) => isAbout(one.account))) reload(!isFirst);
  });
  // Events may have been missed before a reconnect.
  events.addEventListener("open", () => first || reload());
  // The stream ends with the session: a reload leads to the sign-in page.
  events.addEventListener("error", () => reload());
  addEventListener("pagehide", () => events.close());
}

// A form with `data-preview` previews its effect as it is filled in: the page at that path has the new content of the element that
// `data-result` names.
const previews = new Set();

function preview(form) {
  // Not `form.dataset`: a field with the name `dataset` would hide it.
  const [path, result] = ["data-preview", "data-result"].map((name) => form.getAttribute(name));
  let waiting = 0;
  let turn = 0;
  const ask = async () => {
    const mine = ++turn;
    const body = new URLSearchParams(new FormData(form));
    const headers = { "taximeter-script": "1" };
    try {
      const answer = await fetch(path, { method: "POST", body, headers, credentials: "same-origin" });
      if (answer.status === 401) signInAgain();
      const there = new DOMParser().parseFromString(await answer.text(), "text/html");
      // A later keystroke has already asked.
      if (mine !== turn) return;
      const old = document.getElementById(result);
      if (old) replacePart(old, there.getElementById(old.id));
    } catch (error) {
      // The server cannot be reached; the next keystroke asks again.
    }
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 200);
  };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  previews.add(ask);
}

// A chart shows the values under the pointer, or with the arrow keys. Its values are in the table that `data-table` names; its svg
// has the positions of its points in `data-x`, in percent of its width.
function chart(figure) {
  const svg = figure.querySelector("svg[data-x]");
  const xs = svg ? svg.dataset.x.split(" ").filter(Boolean).map(Number) : [];
  if (!xs.length) return;
  const rows = [...document.getElementById(figure.dataset.table).tBodies[0].rows];
  const [line, label] = [svg.querySelector(".cursor"), figure.querySelector("figcaption output")];
  if (!line || !label) return;
  const names = [...document.getElementById(figure.dataset.table).tHead.rows[0].cells].map((cell) => cell.textContent);
  const usual = label.textContent;
  let at = -1;
  const show = (next) => {
    at = Math.max(0, Math.min(xs.length - 1, next));
    line.setAttribute("x1", `${xs[at]}%`);
    line.setAttribute("x2", `${xs[at]}%`);
    line.removeAttribute("hidden");
    label.textContent = [...rows[at].cells].map((cell, column) => `${names[column]} ${cell.textContent}`).join(" · ");
  };
  const leave = () => {
    line.setAttribute("hidden", "");
    label.textContent = usual;
    at = -1;
    catchUp();
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * 100;
    // The last point at or left of the pointer: between two points nothing changed.
    let low = 0;
    let high = xs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (xs[middle] <= place) low = middle;
      else high = middle - 1;
    }
    show(low);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(at < 0 ? (event.key === "Home" || event.key === "ArrowRight" ? 0 : xs.length - 1) : at + steps[event.key]);
  });
}

// A button with `data-copies` copies the field with that id.
function copies(button) {
  if (!navigator.clipboard) return;
  const usual = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copies);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = usual), 2000);
    } catch (error) {
      // The text is selected, so the keyboard can copy it.
    }
  });
}

// Switches between system, light and dark. A cookie tells the server, so that pages load in the right colours.
function themes() {
  const button = document.getElementById("theme");
  if (!button) return;
  const all = ["system", "light", "dark"];
  const root = document.documentElement;
  const name = () => {
    button.textContent = `Theme: ${root.dataset.theme || "system"}`;
  };
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    const next = all[(all.indexOf(root.dataset.theme || "system") + 1) % all.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    const age = next === "system" ? 0 : 31536000;
    document.cookie = `taximeter-theme=${next}; Path=/; SameSite=Strict; Max-Age=${age}`;
    name();
  });
}

function enliven(part) {
  const find = (selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
  find("figure[data-table]").forEach(chart);
  find("form[data-preview]").forEach(preview);
  find("[data-copies]").forEach(copies);
  // With a script, these need no second click.
  find("[data-submits]").forEach((field) => field.addEventListener("change", () => field.form.requestSubmit()));
}

themes();
// The focus moves only after this event.
addEventListener("focusout", () => setTimeout(catchUp));
enliven(document.body);
listen();
schedule();
