// What stands around everything: the title, the state of the session, of the connection, and what went wrong.

import { interrupt } from "/actions.js";
import { $, setText } from "/dom.js";
import { clock, nameOf } from "/words.js";
import { notice } from "/state.js";

const NARROW = window.matchMedia("(max-width: 48rem)"); // as in base.css: lists lie over the conversation

export const narrow = () => NARROW.matches;

// Whether there was something to close.
export function closeNav() {
  if (!setNav(false)) return false;
  if (narrow()) $("nav-open").focus();
  return true;
}

function setNav(open) {
  const was = document.body.classList.contains("nav-open");
  document.body.classList.toggle("nav-open", open);
  $("nav-open").setAttribute("aria-expanded", String(open));
  return was;
}

function openNav(event) {
  event.stopPropagation();
  if (!setNav(true)) $("new").agent.focus();
}

function tappedBeside({ target }) {
  if (narrow() && !$("nav").contains(target) && !$("inbox").contains(target)) setNav(false);
}

export function startHead(onChange) {
  $("nav-open").addEventListener("click", openNav);
  $("interrupt").addEventListener("click", interrupt);
  $("notice").querySelector("button").addEventListener("click", () => notice(""));
  document.addEventListener("click", tappedBeside);
  NARROW.addEventListener("change", () => setNav(false));
  window.addEventListener("hashchange", () => setNav(false));
  document.querySelector("main").addEventListener("focusin", () => { if (narrow()) setNav(false); }); // a list that lies over it
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
  if (lost) setText($("connection-words"), lostWords(state));
  $("login-open").hidden = !state.loggedOut;
}

function lostWords({ asOf, trouble, loggedOut }) {
  const why = !navigator.onLine ? "This device is offline." : loggedOut ? "The hub does not take this page's token." : trouble || "The hub does not answer.";
  const what = asOf ? ` What you see was so at ${clock(asOf)}; the agent may have gone on since.` : "";
  return `${why}${what} It is tried again by itself.`;
}
