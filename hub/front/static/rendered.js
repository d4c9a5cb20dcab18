// Finished text as the HTML that the hub makes of it. What is asked for at once goes in one request; until it is
// there, and where the hub cannot be asked, the text stands as it is.

import { api } from "/api.js";

const policy = window.trustedTypes?.createPolicy("turnhub", { createHTML: (html) => html });
const trusted = (html) => (policy ? policy.createHTML(html) : html);
const LONGEST = 60_000;
const AT_ONCE = 400_000; // characters in one request: well below what the hub takes
const KEPT = 2000;
const REFUSED = new Set([400, 413, 422]); // of the text itself; anything else may pass
const known = new Map();
const LONGEST_PAUSE_MS = 30_000;
let wanted = new Map();
let retry = 0;
let pause = 500; // milliseconds; doubled with each failure

// Put the text's HTML into the element, now or soon.
export function fill(element, text) {
  if (known.has(text)) return put(element, text);
  if (text.length > LONGEST) return;
  if (!wanted.size) queueMicrotask(fetchAll);
  wanted.set(element, text);
}

function put(element, text) {
  const html = known.get(text);
  if (html == null) return;
  element.innerHTML = trusted(html);
  element.classList.add("markdown");
}

async function fetchAll() {
  const asked = [...wanted].reverse(); // the newest is what one looks at
  wanted = new Map();
  for (const part of parts(asked)) {
    await learn([...new Set(part.map(([, text]) => text))].filter((text) => !known.has(text)));
    for (const [element, text] of part) {
      if (known.has(text)) put(element, text);
      else missing.set(element, text); // asked for again in a while, and when the hub is back
    }
  }
  if (missing.size) retry ||= setTimeout(fillMissing, pause = Math.min(pause * 2, LONGEST_PAUSE_MS));
  while (known.size > KEPT) known.delete(known.keys().next().value);
}

async function learn(texts) {
  if (!texts.length) return;
  try {
    const { html } = await api.render(texts);
    texts.forEach((text, index) => known.set(text, html[index]));
    pause = 500;
  } catch (error) {
    if (!REFUSED.has(error.status)) return;
    if (texts.length === 1) known.set(texts[0], null); // refused as it is: it stays plain text
    else for (const text of texts) await learn([text]); // one that is refused costs the others nothing
  }
}

const missing = new Map();

export function fillMissing() {
  clearTimeout(retry);
  retry = 0;
  const again = [...missing];
  missing.clear();
  for (const [element, text] of again) if (element.isConnected) fill(element, text);
}

function parts(asked) {
  const found = [];
  let size = Infinity;
  for (const one of asked) {
    if (size + one[1].length > AT_ONCE || found.at(-1).length >= 100) {
      found.push([]);
      size = 0;
    }
    found.at(-1).push(one);
    size += one[1].length;
  }
  return found;
}
