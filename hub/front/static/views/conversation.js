// The conversation: what was said, turns, notices, and what waits to be said. It stays at its end while one is there.

import { resume, retry } from "/actions.js";
import { $, button, growText, h, keyed, setText } from "/dom.js";
import { state } from "/state.js";
import { count, moment, visible } from "/words.js";
import { queuedView, standsView } from "/views/queue.js";
import { turnView } from "/views/turn.js";

const NEAR = 60;
const PART = 200; // items that are drawn at first, and with each look further back: drawing thousands takes many seconds
let atEnd = true;
let shown = "";
let from = null; // the first item that is drawn

export function startConversation(onChange) {
  const items = $("items");
  items.addEventListener("scroll", () => {
    atEnd = items.scrollHeight - items.scrollTop - items.clientHeight < NEAR;
    $("to-end").hidden = atEnd;
    if (from && items.scrollTop < NEAR) drawEarlier();
  }, { passive: true });
  $("to-end").addEventListener("click", () => { toEnd(); items.focus(); });
  new ResizeObserver(stay).observe(items);
  new MutationObserver(stay).observe(items, { childList: true, characterData: true, subtree: true });
  onChange(draw);
}

function stay() {
  if (atEnd) $("items").scrollTop = $("items").scrollHeight;
}

export function toEnd() {
  atEnd = true;
  $("to-end").hidden = true;
  stay();
}

// What stands on the screen stays where it is.
function drawEarlier() {
  const items = $("items");
  const below = items.scrollHeight - items.scrollTop;
  atEnd = false;
  from = Math.max(0, from - PART);
  draw(state);
  items.scrollTop = items.scrollHeight - below;
}

function earlierView() {
  const more = button("", drawEarlier);
  return {
    element: h("p", { class: "row" }, more),
    update: ({ number }) => setText(more, `Show what came before (${count(number, "item")})`),
  };
}

// The first item to draw: it stays while one reads; at the end of a conversation that grows it moves along.
function firstOf(number) {
  from ??= Math.max(0, number - PART);
  if (atEnd && number - from > 2 * PART) from = number - PART;
  return from;
}

function keyOf(item, index) {
  if (item.kind === "user") return item.message_id;
  return item.kind === "assistant" ? item.turn_id : `notice ${index}`;
}

function make(item) {
  if (item.kind === "user") return userView(item);
  if (item.kind === "assistant") return turnView(item);
  if (item.kind === "earlier") return earlierView();
  if (item.kind === "queued") return queuedView(item);
  if (item.kind === "stands") return standsView();
  if (item.kind === "retry") return retryView();
  return noticeView();
}

function draw({ session, id, missing }) {
  const items = $("items");
  if (shown !== id) {
    shown = id;
    from = null;
    toEnd();
  }
  items.toggleAttribute("aria-busy", Boolean(id) && !session && !missing);
  if (!session) {
    keyed(items, [], make);
    return;
  }
  const all = session.items();
  const first = firstOf(all.length);
  const entries = all.slice(first).map((item, index) => [`${session.id} ${keyOf(item, first + index)}`, item]);
  if (first) entries.unshift([`earlier ${session.id}`, { kind: "earlier", number: first }]);
  for (const message of session.queue) entries.push([`queued ${message.message_id}`, message]);
  if (session.queue.length && !session.turn) entries.push([`stands ${session.id}`, STANDS]);
  if (session.retryable) entries.push([`retry ${session.id}`, { kind: "retry", began: session.began }]);
  keyed(items, entries, make);
}

function retryView() {
  const onward = button("Go on where it stopped", resume);
  onward.title = "Asks you first about calls of which nobody knows whether they ran.";
  return {
    element: h("p", { class: "row" }, button("Try again", retry), onward),
    update({ began }) {
      const agent = state.agents.find(({ name }) => name === state.session?.about.agent);
      onward.hidden = !(began && agent?.capabilities.includes("resume"));
    },
  };
}

const STANDS = { kind: "stands" };
const ORIGINS = { keyboard: "typed at the agent's own keyboard", queue: "had waited" };
const VERDICTS = { submitted: "delivered", queued: "in the agent's own queue", staged: "in the agent's input box, not sent",
  blocked: "not delivered: something holds the keyboard", dead: "not delivered: the agent is gone", unverified: "maybe delivered" };

function userView() {
  const text = h("p", { class: "words", dir: "auto" });
  const facts = h("p", { class: "facts" });
  return {
    element: h("article", { class: "user", "aria-label": "You" }, text, facts),
    update(item) {
      growText(text, visible(item.text));
      const { delivery } = item;
      const words = [item.at && moment(item.at), ORIGINS[item.origin], delivery && (VERDICTS[delivery.verdict] ?? delivery.verdict),
        delivery?.proof && `shown by ${delivery.proof}`, delivery?.detail && visible(delivery.detail)];
      setText(facts, words.filter(Boolean).join(" · "));
      facts.className = `facts ${delivery?.verdict ?? ""}`;
    },
  };
}

function noticeView() {
  const element = h("article", { class: "notice" });
  return { element, update: (item) => setText(element, `${visible(item.message)} (${item.code})`) };
}
