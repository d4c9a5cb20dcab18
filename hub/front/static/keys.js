// The keyboard. Single keys count only where nothing is being written, and can be switched off.

import { interrupt, retry } from "/actions.js";
import { $ } from "/dom.js";
import { setting } from "/drafts.js";
import { state } from "/state.js";
import { closeInbox, toggleInbox } from "/views/inbox.js";
import { closeNav } from "/views/head.js";
import { closeRename } from "/views/rename.js";

function step(by) {
  const at = state.sessions.findIndex((session) => session.id === state.id);
  const next = state.sessions[at < 0 ? 0 : at + by];
  if (next) location.hash = next.id;
}

// The summary gets the keyboard: from there Tab leads into the tools.
function openTools() {
  const line = [...document.querySelectorAll("#items .activity:not([hidden], .bare) > summary")].at(-1);
  if (!line) return;
  line.click();
  line.focus();
}

const KEYS = {
  c: () => $("send").text.focus(),
  j: () => step(1),
  k: () => step(-1),
  n: () => $("new").agent.focus(),
  i: toggleInbox,
  a: () => document.querySelector("#items .ask.open :is(.main, input)")?.focus(),
  s: () => { if (state.session?.turn) interrupt(); },
  r: () => { if (state.session?.retryable) retry(); },
  e: () => { if (!$("rename-open").hidden) $("rename-open").click(); },
  o: openTools,
  g: () => $("to-end").click(),
  t: () => { if (!$("screen-open").hidden) $("screen-open").click(); },
  "?": () => $("help").showModal(),
};

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const writing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape") {
    if (closeRename()) $("rename-open").focus();
    else if (writing) writing.blur();
    else if (!closeInbox()) closeNav();
  } else if (!writing && $("single-keys").checked && Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
}

export function startKeys() {
  $("single-keys").checked = setting("single-keys") !== "off";
  $("single-keys").addEventListener("change", ({ target }) => setting("single-keys", target.checked ? "on" : "off"));
  document.addEventListener("keydown", pressed);
  $("help-open").addEventListener("click", KEYS["?"]);
  $("skip").addEventListener("click", (event) => { event.preventDefault(); $("items").focus(); });
}
