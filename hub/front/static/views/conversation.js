// The conversation: what was said, turns, notices, and what waits to be said. It stays at its end while one is there.

import { resume, retry } from "/actions.js";
import { $, button, growText, h, keyed, setText } from "/dom.js";
import { state } from "/state.js";
import { visible } from "/words.js";
import { queuedView, standsView } from "/views/queue.js";
import { turnView } from "/views/turn.js";

const NEAR = 60;
let atEnd = true;
let shown = "";

export function startConversation(onChange) {
  const items = $("items");
  items.addEventListener("scroll", () => {
    atEnd = items.scrollHeight - items.scrollTop - items.clientHeight < NEAR;
  }, { passive: true });
  new ResizeObserver(stay).observe(items);
  new MutationObserver(stay).observe(items, { childList: true, characterData: true, subtree: true });
  onChange(draw);
}

function stay() {
  if (atEnd) $("items").scrollTop = $("items").scrollHeight;
}

export function toEnd() {
  atEnd = true;
  stay();
}

function keyOf(item, index) {
  if (item.kind === "user") return item.message_id;
  return item.kind === "assistant" ? item.turn_id : `notice ${index}`;
}

function make(item) {
  if (item.kind === "user") return userView(item);
  if (item.kind === "assistant") return turnView(item);
  if (item.kind === "queued") return queuedView(item);
  if (item.kind === "stands") return standsView();
  if (item.kind === "retry") return retryView();
  return noticeView();
}

function draw({ session, id, missing }) {
  const items = $("items");
  if (shown !== id) {
    shown = id;
    atEnd = true;
  }
  items.toggleAttribute("aria-busy", Boolean(id) && !session && !missing);
  if (!session) {
    keyed(items, [], make);
    return;
  }
  const all = session.items();
  const entries = all.map((item, index) => [`${session.id} ${keyOf(item, index)}`, item]);
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
      const words = [ORIGINS[item.origin], delivery && (VERDICTS[delivery.verdict] ?? delivery.verdict),
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
