// All sessions, with their state at a glance, and the way to a new one.

import { create } from "/actions.js";
import { $, h, keyed, setText } from "/dom.js";
import { heard } from "/state.js";
import { count, nameOf } from "/words.js";

let agents = null;

export function startSessions(onChange) {
  $("new").addEventListener("submit", (event) => {
    event.preventDefault();
    create($("new").agent.value);
  });
  $("new").agent.addEventListener("change", sayReason);
  $("sessions-more").addEventListener("click", () => heard.more());
  onChange(draw);
}

function sayReason() {
  const agent = agents?.find((one) => one.name === $("new").agent.value);
  setText($("agent-reason"), agent && !agent.available ? agent.reason : "");
}

function draw(state) {
  if (agents !== state.agents) {
    agents = state.agents;
    const chosen = $("new").agent.value || agents.find((one) => one.available)?.name; // at first one that can run
    $("new").agent.replaceChildren(...agents.map(({ name }) => h("option", { value: name, selected: name === chosen }, name)));
    sayReason();
  }
  keyed($("sessions"), state.sessions.map((session) => [session.id, session]), sessionView);
  $("sessions-more").hidden = !state.older;
  for (const link of $("sessions").querySelectorAll("a")) {
    if (link.hash === `#${state.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function glance({ turn, open_asks, ended, archived }) {
  if (open_asks) return ["waiting", open_asks > 1 ? `${count(open_asks, "question")} wait for you` : "waits for you"];
  if (turn) return ["running", "works"];
  if (ended === "failed") return ["failed", "failed"];
  if (ended === "interrupted") return ["stopped", "stopped"];
  return ["idle", archived ? "archived" : ""];
}

function sessionView(session) {
  const name = h("span", { class: "name" });
  const state = h("span", { class: "state" });
  const link = h("a", { href: `#${session.id}` }, h("span", { class: "dot", "aria-hidden": "true" }), name, state);
  return {
    element: h("li", {}, link),
    update(value) {
      const [kind, words] = glance(value);
      link.className = kind;
      setText(name, nameOf(value));
      setText(state, words);
    },
  };
}
