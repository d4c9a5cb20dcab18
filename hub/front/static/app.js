// The page: sessions on the left, one conversation on the right. The hub is the truth: whatever happens, the
// session is fetched again; only streaming text is put in place as it comes.

import { call, newKey, Problem } from "/api.js";
import { h, itemView } from "/view.js";

const $ = (id) => document.getElementById(id);
const DURABLE = ["user_message", "turn_started", "message_delivered", "text", "reasoning", "tool_started", "tool_finished",
  "ask_opened", "ask_settled", "ask_delivered", "ask_withdrawn", "status", "gap"];
const TERMINAL = ["turn_completed", "turn_failed", "turn_interrupted"];

let current = null; // the session's id
let state = null; // what GET /v1/sessions/{id} said last
let live = null; // the EventSource of the running turn
let pending = null; // the key of the message that is being sent
let agents = [];

const later = {};
function soon(name, work, ms = 80) {
  later[name] ??= setTimeout(() => { delete later[name]; attempt(work); }, ms);
}

async function attempt(work) {
  try {
    await work();
    notice("");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 401) return logIn();
    notice(error.message);
  }
}

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

function logIn() {
  if (!$("login").open) $("login").showModal();
}

$("login").addEventListener("close", () => {
  const token = new FormData($("login").querySelector("form")).get("token");
  if (token) location.replace(`/?token=${encodeURIComponent(token)}`);
});

// Lists

async function loadAgents() {
  agents = await call("GET", "/v1/agents");
  $("new").agent.replaceChildren(...agents.map((agent) => h("option", { value: agent.name }, agent.name)));
  sayReason();
}

function sayReason() {
  const agent = agents.find((one) => one.name === $("new").agent.value);
  $("agent-reason").textContent = agent && !agent.available ? agent.reason : "";
}

async function loadSessions() {
  const sessions = await call("GET", "/v1/sessions?limit=100");
  $("sessions").replaceChildren(...sessions.map((session) => {
    const marks = [session.turn && "works", session.open_asks && `${session.open_asks} waiting`].filter(Boolean);
    return h("li", {}, h("button", { type: "button", "aria-current": session.id === current, onclick: () => open(session.id) },
      session.title || `${session.agent}, ${new Date(session.created_at).toLocaleString()}`,
      h("p", { class: "hint" }, marks.join(", "))));
  }));
}

// One session

function open(id) {
  current = id;
  state = null;
  live?.close();
  live = null;
  location.hash = id;
  attempt(async () => { await refresh(); await loadSessions(); });
}

async function refresh() {
  const id = current;
  if (!id) return;
  const found = await call("GET", `/v1/sessions/${id}`);
  if (id !== current) return;
  state = found;
  render();
  if (state.turn && !live) follow();
}

function follow() {
  const source = live = new EventSource(`/v1/sessions/${current}/live?last_event_id=${state.cursor}`);
  const over = () => { source.close(); if (live === source) live = null; soon("session", refresh, 0); };
  for (const kind of ["text_delta", "reasoning_delta"]) source.addEventListener(kind, (event) => addDelta(JSON.parse(event.data)));
  for (const kind of DURABLE) source.addEventListener(kind, () => soon("session", refresh));
  for (const kind of TERMINAL) source.addEventListener(kind, over);
  // Closed: there was nothing to follow any more (204). Otherwise the browser connects again by itself.
  source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) over(); });
}

function addDelta(event) {
  if (!state || event.session_id !== current || event.seq <= state.cursor) return;
  state.cursor = event.seq;
  const element = document.querySelector(`[data-turn="${event.turn_id}"] [data-block="${event.block}"]`);
  if (!element) return soon("session", refresh);
  element.textContent += event.text;
  stayAtEnd();
}

let atEnd = true;
$("items").addEventListener("scroll", ({ target }) => {
  atEnd = target.scrollHeight - target.scrollTop - target.clientHeight < 40;
});
function stayAtEnd() {
  if (atEnd) $("items").scrollTop = $("items").scrollHeight;
}

function render() {
  const { session, items, turn, queue } = state;
  $("title").textContent = session.title || session.agent;
  $("interrupt").hidden = !turn;
  $("send").hidden = false;
  $("send").querySelector("button").textContent = turn ? "Queue" : "Send";
  // An answer that is being written is not thrown away under a person's hands.
  if ($("items").querySelector(".ask :focus:not(button)")) return;
  const actions = { answer, retry, last: items.at(-1) };
  const waiting = queue.map((message) => h("article", { class: "user hint" },
    h("p", {}, message.text),
    h("button", { type: "button", onclick: () => attempt(() => takeBack(message.message_id)) }, "Take back")));
  $("items").replaceChildren(...items.map((item) => itemView(item, actions)), ...waiting);
  stayAtEnd();
}

const answer = (id, reply) => attempt(async () => {
  document.activeElement?.blur();
  await call("POST", `/v1/asks/${id}/answer`, reply);
  await refresh();
});
const retry = () => attempt(async () => { await call("POST", `/v1/sessions/${current}/retry`, {}); await refresh(); });
const takeBack = async (id) => { await call("DELETE", `/v1/sessions/${current}/queue/${id}`); await refresh(); };

$("interrupt").addEventListener("click", () => attempt(() => call("POST", `/v1/sessions/${current}/interrupt`)));

$("send").addEventListener("submit", (event) => {
  event.preventDefault();
  const box = $("send").text;
  const text = box.value;
  if (!text.trim()) return;
  attempt(async () => {
    pending ??= newKey();
    const body = state?.turn ? { text, on_busy: "queue" } : { text };
    try {
      await call("POST", `/v1/sessions/${current}/messages`, body, { "Idempotency-Key": pending });
    } catch (error) {
      if (error.status) pending = null; // an answer came: the next try is another one. The draft stays.
      throw error;
    }
    pending = null;
    if (box.value === text) box.value = "";
    atEnd = true;
    await refresh();
  });
});
$("send").text.addEventListener("input", () => { pending = null; });
$("send").text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("send").requestSubmit();
  }
});

$("new").agent.addEventListener("change", sayReason);
$("new").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => open((await call("POST", "/v1/sessions", { agent: $("new").agent.value }, { "Idempotency-Key": newKey() })).id));
});

// What changes anywhere

function watch() {
  const hints = new EventSource("/v1/events");
  const look = (event) => {
    soon("sessions", loadSessions, 200);
    if (!event.data || JSON.parse(event.data).session_id === current) soon("session", refresh);
  };
  for (const kind of ["session", "turn", "ask"]) hints.addEventListener(kind, look);
  for (const kind of ["hub", "open"]) hints.addEventListener(kind, () => look({}));
}

attempt(async () => {
  await loadAgents();
  await loadSessions();
  watch();
  const wanted = location.hash.slice(1);
  if (wanted) open(wanted);
});
