// The box in which a message is written: its draft is the session's own, and survives everything.

import { send } from "/actions.js";
import { newKey } from "/api.js";
import { $, setText } from "/dom.js";
import { draftOf, followDrafts, keepDraft } from "/drafts.js";
import { state } from "/state.js";
import { toEnd } from "/views/conversation.js";

const LABELS = { queue: "Queue", steer: "Tell it", interrupt: "Stop and send" };
let shown = "";

export function startComposer(onChange) {
  const form = $("send");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    toEnd();
    send(form.text.value, form.on_busy.value, !form.command.checked);
  });
  form.text.addEventListener("input", () => {
    if (shown) keepDraft(shown, { text: form.text.value, key: newKey() });
  });
  form.text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.on_busy.addEventListener("change", () => draw(state));
  followDrafts((id, before, now) => {
    if (id === shown && form.text.value === before) form.text.value = now;
  });
  onChange(draw);
}

function draw({ id, session, missing, sending, agents }) {
  const form = $("send");
  if (shown !== id) {
    shown = id;
    form.text.value = id ? draftOf(id).text : "";
    form.command.checked = false;
  }
  form.hidden = !id || Boolean(missing && !form.text.value); // words for a session that is gone can still be copied
  const busy = Boolean(session?.turn);
  $("busy").hidden = !busy;
  const agent = agents.find((one) => one.name === session?.about.agent);
  const steer = form.on_busy.querySelector("[value=steer]");
  steer.hidden = steer.disabled = !agent?.capabilities.includes("steer");
  if (steer.disabled && form.on_busy.value === "steer") form.on_busy.value = "queue";
  const button = form.querySelector("button");
  const underWay = sending.has(id);
  setText(button, underWay ? "Sending" : busy ? LABELS[form.on_busy.value] : "Send");
  button.disabled = underWay || !session;
}
