// What a page does by itself. Everything it shows comes from the server, which has escaped it; nothing here makes HTML.
"use strict";

// The page again, as the server has it now; each part that may change has `data-live` and an id.
let looking = false;
let lookAgain = false;

// After a form was sent the browser is on its way to another page. Signing out ends the session before that page is there.
let leaving = false;
addEventListener("submit", () => (leaving = true));
// The browser may show this page again as it was.
addEventListener("pageshow", (event) => (leaving &&= !event.persisted));

function signInAgain() {
  if (!leaving) location.reload();
}

async function look(isChange = true) {
  if (looking) {
    lookAgain = true;
    return;
  }
  looking = true;
  try {
    const answer = await fetch(location.href, { headers: { "taximeter-script": "1" }, credentials: "same-origin" });
    if (answer.status === 401) {
      signInAgain();
      return;
    }
    if (answer.ok) replaceLive(document, new DOMParser().parseFromString(await answer.text(), "text/html"));
    // What somebody is filling in is about accounts that have changed.
    if (isChange) for (const ask of previews) ask();
  } catch (error) {
    // The server is away; the stream of events comes back with it.
  } finally {
    looking = false;
  }
  if (lookAgain) {
    lookAgain = false;
    setTimeout(look, 250);
  }
}

function replaceLive(here, there) {
  for (const old of here.querySelectorAll("[data-live]")) replacePart(old, there.getElementById(old.id));
  schedule();
}

function replacePart(old, fresh) {
  if (!fresh || fresh.isEqualNode(old)) return;
  // Whoever is in the middle of something there is not disturbed.
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

// What was not replaced, since somebody was there, is when they leave.
let missed = false;

function catchUp() {
  if (!missed) return;
  missed = false;
  look();
}

// A part with `data-again` asks to be looked at again after so many milliseconds.
let timer = 0;

function schedule() {
  clearTimeout(timer);
  const again = [...document.querySelectorAll("[data-again]")].map((part) => Number(part.dataset.again));
  if (again.length) timer = setTimeout(look, Math.max(200, Math.min(...again)));
}

function listen() {
  if (!document.querySelector("[data-events]")) return;
  let first = true;
  const events = new EventSource("/events");
  events.addEventListener("accounts", (message) => {
    // The first message has everything, also what happened between the page and this stream.
    const isFirst = first;
    first = false;
    const wanted = document.querySelector("[data-events]").dataset.events;
    const { accounts, refused } = JSON.parse(message.data);
    const isAbout = (name) => wanted === "" || name === wanted || name.startsWith(`${wanted}/`);
    if (accounts.some((one) => isAbout(one.account)) || refused.some((one) => isAbout(one.account))) look(!isFirst);
  });
  // After a break nothing is known of what was missed.
  events.addEventListener("open", () => first || look());
  // The stream ends with the session: looking leads to the page to sign in.
  events.addEventListener("error", () => look());
  addEventListener("pagehide", () => events.close());
}

// A form with `data-preview` shows what would come of it while it is filled in: the page at that path has the newer self of the
// element that `data-result` names.
const previews = new Set();

function preview(form) {
  // By their attributes: a field with the name `dataset` would stand in the way of those of the form.
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
      // A later keystroke has asked already.
      if (mine !== turn) return;
      const old = document.getElementById(result);
      if (old) replacePart(old, there.getElementById(old.id));
    } catch (error) {
      // The server is away; the next keystroke asks again.
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

// A chart shows the values under the pointer, or at the arrow keys. Its values stand in the table that `data-table` names, column
// by column; its svg has the places of its points in `data-x`, in percent of its width.
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
    // The last point that is not to the right of it: between two points nothing changed.
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

// A button with `data-copies` copies what is in the field of that id.
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
      // It is selected, and the keyboard copies it.
    }
  });
}

// System, light, dark, and system again. The server is told by a cookie, so that a page comes in its colours.
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
  // What needs no second click where there is a script.
  find("[data-submits]").forEach((field) => field.addEventListener("change", () => field.form.requestSubmit()));
}

themes();
// The focus is elsewhere only after this event.
addEventListener("focusout", () => setTimeout(catchUp));
enliven(document.body);
listen();
schedule();
