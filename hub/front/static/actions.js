// What a person can do. Every failure ends as a sentence on the page; what the hub did comes back as events.

import { api, newKey, Problem } from "/api.js";
import { draftOf, keepDraft } from "/drafts.js";
import { changed, closeAsk, heard, notice, state } from "/state.js";
import { $ } from "/dom.js";

export async function attempt(work) {
  try {
    notice("");
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 401) logIn();
    else notice(error.message);
    return null;
  }
}

export function logIn() {
  state.loggedOut = true;
  if (!$("login").open) $("login").showModal();
  changed();
}

const once = new Map(); // what is under way, and the key that a repetition would have

// Do it under one key until it worked: pressing twice, or again after a lost answer, is the same request.
async function underOneKey(name, work) {
  const known = once.get(name) ?? { key: newKey(), busy: false };
  if (known.busy) return;
  known.busy = true;
  once.set(name, known);
  try {
    await work(known.key);
    once.delete(name);
  } catch (error) {
    if (error.status) once.delete(name);
    throw error;
  } finally {
    known.busy = false;
  }
}

export const create = (agent) => attempt(() => underOneKey(`create ${agent}`, async (key) => {
  const made = await api.create(agent, key);
  location.hash = made.id;
}));

const newAttempt = (mode) => () => attempt(() => underOneKey(`${mode} ${state.id}`, (key) => api.retry(state.id, mode, key)));

export const retry = newAttempt("rerun");

export const resume = newAttempt("resume");

export const interrupt = () => attempt(() => api.interrupt(state.id));

export const rename = (id, title) => attempt(() => api.rename(id, title));

export const takeBack = (message) => attempt(() => api.takeBack(state.id, message));

export const change = (message, text) => attempt(() => api.editQueued(state.id, message, text));

export const goOn = () => attempt(() => api.resumeQueue(state.id));

// Why the answer was not taken; "" when it was. Who was first is told by the hub's own events.
export async function answer(ask, reply) {
  try {
    await api.answer(ask, reply);
    closeAsk(ask);
    return "";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 401) logIn();
    return error.message;
  }
}

// Send what stands in the box. A box that changed meanwhile keeps what is new in it.
export async function send(text, onBusy, literal) {
  const { id } = state;
  if (!id || !text.trim() || state.sending.has(id)) return;
  const draft = draftOf(id);
  const { key } = draft.text === text ? draft : { key: newKey() };
  keepDraft(id, { text, key });
  state.sending.add(id);
  changed();
  await attempt(async () => {
    try {
      await api.send(id, { text, on_busy: state.session?.turn ? onBusy : "reject", literal }, key);
      clear(id, text);
    } catch (error) {
      if (error.status) again(id, text); // an answer came: the next try is another request
      if (error.code !== "turn_in_flight") throw error;
      if (error.problem.same_message) clear(id, text);
      else notice("Another message came first: you see its answer. Yours is still in the box.");
    }
  });
  state.sending.delete(id);
  if (!state.notice && state.connection === "lost") heard.wake();
  changed();
}

function clear(id, text) {
  if (draftOf(id).text === text) keepDraft(id, { text: "" });
  const box = $("send").text;
  if (state.id === id && box.value === text) box.value = "";
}

function again(id, text) {
  if (draftOf(id).text === text) keepDraft(id, { text, key: newKey() });
}
