// What stands around everything: the title, the state of the session, of the connection, and what went wrong.

import { interrupt } from "/actions.js";
import { $, setText } from "/dom.js";
import { clock, nameOf } from "/words.js";
import { notice } from "/state.js";

export function closeNav() {
  document.body.classList.remove("nav-open");
  $("nav-open").setAttribute("aria-expanded", "false");
}

function openNav() {
  const open = document.body.classList.toggle("nav-open");
  $("nav-open").setAttribute("aria-expanded", String(open));
  if (open) $("new").agent.focus();
}

export function startHead(onChange) {
  $("nav-open").addEventListener("click", openNav);
  $("interrupt").addEventListener("click", interrupt);
  $("notice").querySelector("button").addEventListener("click", () => notice(""));
  window.addEventListener("hashchange", closeNav);
  onChange(draw);
}

function draw(state) {
  const { session, id } = state;
  setText($("title"), session ? nameOf(session.about) : id ? state.missing || "One moment" : "No session");
  $("interrupt").hidden = !session?.turn;
  const waits = session?.items().at(-1)?.asks?.some((ask) => ask.state === "open");
  setText($("state"), session?.turn ? (waits ? "waits for you" : session.turn.state === "queued" ? "begins" : "works") : "");
  $("state").className = `state ${waits ? "waiting" : ""}`;
  $("welcome").hidden = Boolean(id);
  $("notice").hidden = !state.notice;
  setText($("notice").querySelector("span"), state.notice);
  const lost = state.connection === "lost";
  $("connection").hidden = !lost;
  document.body.classList.toggle("lost", lost);
  if (lost) setText($("connection"), lostWords(state));
}

function lostWords({ asOf }) {
  const why = navigator.onLine ? "The hub does not answer." : "This device is offline.";
  const what = asOf ? ` What you see was so at ${clock(asOf)}; the agent may have gone on since.` : "";
  return `${why}${what} It is tried again by itself.`;
}
