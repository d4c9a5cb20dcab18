// What is being written, kept for each session with the key under which it is sent: after a reload in the middle of
// sending, sending it again is the same message.

import { newKey } from "/api.js";

const name = (id) => `turnhub.draft.${id}`;

export function draftOf(id) {
  try {
    const kept = JSON.parse(localStorage.getItem(name(id)) ?? "null");
    if (typeof kept?.text === "string" && typeof kept.key === "string") return kept;
  } catch { /* not ours, or storage is off: no draft */ }
  return { text: "", key: newKey() };
}

export function keepDraft(id, draft) {
  try {
    if (draft.text) localStorage.setItem(name(id), JSON.stringify(draft));
    else localStorage.removeItem(name(id));
  } catch { /* storage is off or full: the draft lives as long as the page */ }
}

export function setting(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(`turnhub.${key}`);
    localStorage.setItem(`turnhub.${key}`, value);
  } catch { /* storage is off: settings last as long as the page */ }
  return null;
}
