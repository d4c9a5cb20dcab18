// The box in which a message is written: its draft is the session's own, and survives everything.

import { send } from "/actions.js";
import { newKey } from "/api.js";
import { $, setText } from "/dom.js";
import { draftOf, keepDraft } from "/drafts.js";
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
  onChange(draw);
}

function draw({ id, session, sending, agents }) {
  const form = $("send");
  form.hidden = !id;
  if (shown !== id) {
    shown = id;
    form.text.value = id ? draftOf(id).text : "";
    form.command.checked = false;
  }
  const busy = Boolean(session?.turn);
  $("busy").hidden = !busy;
  const agent = agents.find((one) => one.name === session?.about.agent);
  form.on_busy.querySelector("[value=steer]").hidden = !agent?.capabilities.includes("steer");
  const button = form.querySelector("button");
  setText(button, sending ? "Sending" : busy ? LABELS[form.on_busy.value] : "Send");
  button.disabled = sending || !session;
}
