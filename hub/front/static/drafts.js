// What is being written, kept for each session with the key under which it is sent: after a reload in the middle of
// sending, sending it again is the same message. A tab keeps its own words; a tab that has none takes up the ones
// that were written last anywhere. Where storage is off or full, all of it lasts as long as the page.

import { newKey } from "/api.js";

const PREFIX = "turnhub.draft.";
const unkept = new Map(); // what no storage took, by name

function storage(which) {
  try {
    return window[which];
  } catch {
    return null; // switched off: even asking for it is refused
  }
}

function read(which, name) {
  try {
    return storage(which)?.getItem(name) ?? null;
  } catch {
    return null;
  }
}

// Whether the storage holds it now.
function write(which, name, value) {
  const store = storage(which);
  try {
    if (value === null) store?.removeItem(name);
    else store?.setItem(name, value);
    return Boolean(store);
  } catch {
    return false;
  }
}

function parsed(kept) {
  try {
    const draft = JSON.parse(kept ?? "null");
    return typeof draft?.text === "string" && typeof draft.key === "string" ? draft : null;
  } catch {
    return null; // not ours
  }
}

export function draftOf(id) {
  const name = PREFIX + id;
  return unkept.get(name) ?? parsed(read("sessionStorage", name)) ?? parsed(read("localStorage", name)) ?? { text: "", key: newKey() };
}

export function keepDraft(id, draft) {
  const name = PREFIX + id;
  const kept = draft.text ? JSON.stringify(draft) : null;
  const before = read("sessionStorage", name);
  const everywhere = kept || read("localStorage", name) === before ? write("localStorage", name, kept) : true; // else another tab's
  const here = write("sessionStorage", name, kept);
  if (kept === null || (everywhere && here)) unkept.delete(name);
  else unkept.set(name, draft);
}

// Another tab wrote or sent: who had the same words goes along, who wrote something else keeps it.
export function followDrafts(onChange) {
  window.addEventListener("storage", ({ storageArea, key, oldValue, newValue }) => {
    if (storageArea !== storage("localStorage") || !key?.startsWith(PREFIX)) return;
    const [before, now] = [parsed(oldValue)?.text ?? "", parsed(newValue)?.text ?? ""];
    const own = unkept.get(key) ?? parsed(read("sessionStorage", key));
    if (own && own.text !== before) return;
    if (own) write("sessionStorage", key, newValue);
    onChange(key.slice(PREFIX.length), before, now);
  });
}

export function setting(key, value) {
  const name = `turnhub.${key}`;
  if (value === undefined) return unkept.get(name) ?? read("localStorage", name);
  if (write("localStorage", name, value)) unkept.delete(name);
  else unkept.set(name, value);
  return value;
}
