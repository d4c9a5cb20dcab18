// Everything that waits for a person, over all sessions, answerable in place.

import { $, h, keyed, setText } from "/dom.js";
import { nameOf } from "/words.js";
import { asItem, askView } from "/views/ask.js";

let sessions = [];

export function startInbox(onChange) {
  $("inbox-open").addEventListener("click", toggleInbox);
  $("inbox-close").addEventListener("click", closeInbox);
  onChange(draw);
}

function setOpen(open) {
  $("inbox").hidden = !open;
  $("inbox-open").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("inbox-open", open);
}

export function toggleInbox() {
  setOpen($("inbox").hidden);
  if ($("inbox").hidden) $("inbox-open").focus();
  else ($("inbox").querySelector(".ask button") ?? $("inbox-close")).focus();
}

// Whether there was something to close.
export function closeInbox() {
  if ($("inbox").hidden) return false;
  setOpen(false);
  $("inbox-open").focus();
  return true;
}

function draw(state) {
  ({ sessions } = state);
  const { asks } = state;
  setText($("inbox-open"), asks.length ? `Inbox (${asks.length})` : "Inbox");
  $("inbox-open").classList.toggle("waiting", asks.length > 0);
  $("no-asks").hidden = asks.length > 0;
  keyed($("asks"), asks.map((record) => [record.id, record]), recordView);
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
