// The page: what is known, kept up to date by one stream, drawn by the views. The hub is the truth.

import { api, Problem } from "/api.js";
import { $ } from "/dom.js";
import { fillMissing } from "/rendered.js";
import { Session } from "/session.js";
import { shareStreams } from "/sharing.js";
import { changed, closeAsk, heard, notice, onChange, state } from "/state.js";
import { Stream } from "/stream.js";
import { startKeys } from "/keys.js";
import { startNotices } from "/notices.js";
import { startComposer } from "/views/composer.js";
import { startLogin } from "/views/login.js";
import { startConversation } from "/views/conversation.js";
import { startInbox } from "/views/inbox.js";
import { startRename } from "/views/rename.js";
import { startScreen } from "/views/screen.js";
import { startSessions } from "/views/sessions.js";
import { startHead } from "/views/head.js";

const STALE_MS = 20_000; // the hub is never silent for longer; a page that slept does not know what it missed

const MOST_LISTED = 500; // sessions that the hub gives at once

const timers = {};
function soon(name, work, ms) {
  timers[name] ??= setTimeout(() => { delete timers[name]; quietly(work); }, ms);
}

// What fails here is tried again when the stream is back; only a missing token needs the person.
async function quietly(work) {
  try {
    await work();
    Object.assign(state, { trouble: "", loggedOut: false });
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    state.trouble = error.status ? error.message : "";
    if (error.status === 401) state.loggedOut = true;
    else if (error.status) notice(error.message);
    changed();
    return false;
  }
}

const loadAgents = async () => { state.agents = await api.agents(); changed(); };

async function loadSessions() {
  const { listed } = state;
  state.sessions = await api.sessions(listed);
  state.older = listed < MOST_LISTED && state.sessions.length === listed;
  const one = state.sessions.find((session) => session.id === state.session?.id);
  if (one) Object.assign(state.session.about, { title: one.title, archived: one.archived });
  changed();
}

const loadAsks = async () => { state.asks = await api.asks(); changed(); };

async function loadSession() {
  const { id } = state;
  if (!id) return;
  try {
    const found = await api.session(id);
    if (state.id === id) Object.assign(state, { session: new Session(found), missing: "" });
  } catch (error) {
    if (error.status !== 404) throw error;
    if (state.id === id) Object.assign(state, { session: null, missing: "This session is not here any more." });
  }
  changed();
}

const stream = new Stream(
  () => ({ session: state.session?.id, after: state.session?.cursor ?? 0 }),
  {
    event(event) {
      state.asOf = Date.now();
      if (event.session_id !== state.session?.id) return;
      if (event.type === "ask_settled" || event.type === "ask_withdrawn") closeAsk(event.ask_id);
      if (event.type === "gap") soon("session", refetch, 0);
      else if (state.session.apply(event)) changed();
    },
    hint(hint) {
      state.asOf = Date.now();
      soon("sessions", loadSessions, 150);
      if (hint.type === "ask" || hint.type === "hub") soon("asks", loadAsks, 30);
    },
    open() {
      Object.assign(state, { connection: "open", asOf: Date.now(), trouble: "" });
      unopened = 0;
      soon("sessions", loadSessions, 0);
      soon("asks", loadAsks, 0);
      if (!state.agents.length) soon("agents", loadAgents, 0);
      fillMissing();
      changed();
    },
    lost() {
      state.connection = "lost";
      changed();
    },
    retry(refused) {
      if (refused) reconnect();
      else stream.open();
    },
  },
);

let unopened = 0; // streams that did not open, one after the other, though the hub answered

// The stream could not even be opened: ask why. What the hub knows now replaces what we knew.
async function reconnect() {
  if (!await quietly(state.id ? loadSession : loadAgents)) return stream.again();
  unopened += 1;
  if (unopened > 1) state.trouble = "The hub answers, but opens no stream for this page.";
  stream.open();
}

// A gap: words that are no longer held. The whole session is read again.
async function refetch() {
  await loadSession();
  stream.open();
}

async function show(id) {
  Object.assign(state, { id, session: null, missing: "", notice: "" });
  changed();
  stream.close();
  if (id) await quietly(loadSession);
  if (state.id === id) stream.open();
}

function showWanted() {
  const wanted = location.hash.slice(1);
  if (wanted !== state.id) show(/^ses_[0-9a-z]+$/.test(wanted) ? wanted : "");
}

const wake = () => {
  if (!document.hidden && (state.connection !== "open" || Date.now() - state.asOf > STALE_MS)) stream.soon();
};
heard.wake = wake;
heard.more = () => {
  state.listed = MOST_LISTED;
  soon("sessions", loadSessions, 0);
};
window.addEventListener("online", () => stream.soon());
window.addEventListener("offline", changed);
window.addEventListener("pageshow", (event) => { if (event.persisted) stream.soon(); });
document.addEventListener("visibilitychange", wake);
window.addEventListener("hashchange", showWanted);

for (const start of [startHead, startSessions, startConversation, startInbox, startComposer, startScreen, startRename, startLogin, startNotices, startKeys]) {
  start(onChange);
}
shareStreams({
  pause() {
    stream.pause();
    state.connection = "paused";
  },
  resume: () => stream.soon(),
});
quietly(loadAgents);
show(/^#ses_[0-9a-z]+$/.test(location.hash) ? location.hash.slice(1) : "");
