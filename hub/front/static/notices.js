// What is said beyond the page: the count in the title, notifications for who wants them, words for screen readers.

import { $, setText } from "/dom.js";
import { setting } from "/drafts.js";
import { nameOf } from "/words.js";

let told = null; // asks that a notification was shown for
let heard = {}; // the shown session's last status, to say only what is new

export function startNotices(onChange) {
  $("notify").addEventListener("click", choose);
  onChange(draw);
}

const wanted = () => setting("notify") === "on" && window.Notification?.permission === "granted";

async function choose() {
  if (wanted()) setting("notify", "off");
  else if (await window.Notification?.requestPermission() === "granted") setting("notify", "on");
  drawButton();
}

function drawButton() {
  $("notify").setAttribute("aria-pressed", String(wanted()));
  $("notify").hidden = !window.Notification;
}

function draw(state) {
  drawButton();
  const waiting = state.asks.length;
  const name = state.session ? `${nameOf(state.session.about)} · ` : "";
  const title = `${waiting ? `(${waiting}) ` : ""}${name}turnhub`;
  if (document.title !== title) document.title = title;
  notify(state);
  announce(state);
}

function notify({ asks, sessions, connection }) {
  if (connection === "connecting") return;
  const fresh = told && asks.filter((ask) => !told.has(ask.id));
  told = new Set(asks.map((ask) => ask.id));
  if (!fresh?.length || !document.hidden || !wanted()) return;
  const ask = fresh[0];
  const session = sessions.find((one) => one.id === ask.session_id);
  const note = new Notification("turnhub: an agent waits for you", { body: session ? nameOf(session) : ask.ask.tool, tag: "turnhub" });
  note.onclick = () => { window.focus(); location.hash = ask.session_id; };
}

const WORDS = { running: "The agent works.", completed: "The answer is there.", failed: "The turn failed.", interrupted: "The turn was stopped." };

function announce({ session }) {
  if (!session) return;
  const last = session.items().findLast((item) => item.kind === "assistant");
  const asks = last?.asks.filter((ask) => ask.state === "open").length ?? 0;
  const now = { id: session.id, turn: last?.turn_id, status: last?.status, asks };
  const known = heard.id === now.id;
  if (known && asks > heard.asks) setText($("announcer"), "The agent asks something and waits for you.");
  else if (known && (now.turn !== heard.turn || now.status !== heard.status)) setText($("announcer"), WORDS[now.status] ?? "");
  heard = now;
}
