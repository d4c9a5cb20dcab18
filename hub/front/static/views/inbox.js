// Everything that waits for a person, over all sessions, answerable in place.

import { $, h, keyed, setText } from "/dom.js";
import { count, nameOf } from "/words.js";
import { narrow } from "/views/head.js";
import { asItem, askView } from "/views/ask.js";

let sessions = [];

export function startInbox(onChange) {
  $("inbox-open").addEventListener("click", toggleInbox);
  $("inbox-short").addEventListener("click", toggleInbox);
  $("inbox-close").addEventListener("click", closeInbox);
  const uncover = () => { if (narrow()) setOpen(false); };
  window.addEventListener("hashchange", uncover);
  document.querySelector("main").addEventListener("focusin", uncover);
  onChange(draw);
}

function setOpen(open) {
  $("inbox").hidden = !open;
  $("inbox-open").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("inbox-open", open);
}

export function toggleInbox() {
  setOpen($("inbox").hidden);
  if ($("inbox").hidden) focusOpener();
  else firstWay().focus();
}

// The first way to answer, or the way out.
const firstWay = () => $("asks").querySelector(".ask :is(.main, input)") ?? $("inbox-close");

// Whether there was something to close.
export function closeInbox() {
  if ($("inbox").hidden) return false;
  setOpen(false);
  focusOpener();
  return true;
}

function focusOpener() {
  for (const id of ["nav-open", "inbox-short", "inbox-open"]) if ($(id).checkVisibility()) $(id).focus();
}

function draw(state) {
  ({ sessions } = state);
  const { asks } = state;
  setText($("inbox-open"), asks.length ? `Inbox (${asks.length})` : "Inbox");
  setText($("inbox-short"), `◆ ${asks.length}`);
  $("inbox-short").setAttribute("aria-label", `Inbox: ${count(asks.length, "ask")}`);
  $("inbox-short").hidden = !asks.length;
  $("inbox-open").classList.toggle("waiting", asks.length > 0);
  $("no-asks").hidden = asks.length > 0;
  const held = $("asks").contains(document.activeElement);
  keyed($("asks"), asks.map((record) => [record.id, record]), recordView);
  if (held && !$("asks").contains(document.activeElement)) firstWay().focus();
}

function recordView(record) {
  const card = askView();
  const where = h("a", { href: `#${record.session_id}` });
  return {
    element: h("div", {}, where, card.element),
    update(value) {
      const session = sessions.find((one) => one.id === value.session_id);
      setText(where, session ? nameOf(session) : "its session");
      card.update(asItem(value));
    },
  };
}
