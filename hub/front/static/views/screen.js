// The terminal of the session's agent, looked at again and again while somebody looks, and not otherwise.

import { api, Problem } from "/api.js";
import { $, setText } from "/dom.js";
import { state } from "/state.js";

const AGAIN_MS = 1000;
let looking = 0; // which opening of the window asks: an answer for an earlier one is nobody's

export function startScreen(onChange) {
  $("screen-open").addEventListener("click", open);
  $("screen").addEventListener("close", () => { looking += 1; });
  $("screen-close").addEventListener("click", () => $("screen").close());
  $("screen-copy").addEventListener("click", copy);
  onChange(draw);
}

export const hasScreen = () => state.agents.find((agent) => agent.name === state.session?.about.agent)?.capabilities.includes("screen") ?? false;

function draw() {
  $("screen-open").hidden = !hasScreen();
  if ($("screen").open && $("screen").dataset.session !== state.id) $("screen").close();
}

function open() {
  const { id } = state;
  $("screen").dataset.session = id;
  setText($("screen-seen"), "One moment");
  setText($("screen-rows"), "");
  $("screen-how").hidden = true;
  $("screen").showModal();
  looking += 1;
  look(id, looking);
}

async function look(id, mine) {
  if (mine !== looking) return;
  if (!document.hidden) {
    const seen = await seenNow(id);
    if (mine !== looking) return;
    show(seen);
  }
  setTimeout(look, AGAIN_MS, id, mine);
}

async function seenNow(id) {
  try {
    return await api.screen(id);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { why: error.message };
  }
}

// What stood there before stays when nothing can be seen now, and it is said that it is old.
function show({ why, rows, seen, attach }) {
  $("screen-rows").classList.toggle("old", Boolean(why));
  setText($("screen-seen"), why ?? `It is read as: ${seen}.`);
  if (why) return;
  setText($("screen-rows"), rows.join("\n"));
  $("screen-how").hidden = !attach;
  setText($("screen-attach"), attach);
}

async function copy() {
  await navigator.clipboard.writeText($("screen-attach").textContent);
  setText($("announcer"), "Copied.");
}
