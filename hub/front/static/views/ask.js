// An ask as a card: what is asked, how long there is, the ways to answer; afterwards what was said, by whom, and
// whether the agent took it.

import { answer } from "/actions.js";
import { hubNow } from "/api.js";
import { button, h, setText } from "/dom.js";
import { visible } from "/words.js";
import { inputOf } from "/views/call.js";
import { questionForm } from "/views/question.js";

export function askView() {
  const element = h("div", { class: "ask", role: "group", tabindex: "-1" });
  let drawn = "";
  return {
    element,
    update(ask) {
      if (drawn === ask.state) return; // a card is not built anew under a person's hands
      drawn = ask.state;
      element.className = `ask ${ask.state}`;
      element.setAttribute("aria-label", ask.kind === "permission" ? `Permission: ${visible(ask.tool)}` : "Question");
      element.dataset.ask = ask.id;
      const held = element.contains(document.activeElement);
      element.replaceChildren(...(ask.state === "open" ? openCard(ask) : [settledLine(ask)]));
      if (held) element.focus({ preventScroll: true }); // who answered by the keyboard is not thrown to the top of the page
    },
  };
}

// An ask as GET /v1/asks has it, as an item has it.
export const asItem = (record) => ({ ...record.ask, state: record.state, settlement: record.settlement, reason: record.reason,
  effective: record.effective });

function openCard(ask) {
  const problem = h("p", { class: "failed", role: "alert", hidden: true });
  const say = (text) => { setText(problem, text); problem.hidden = !text; };
  const give = async (reply) => say(await answer(ask.id, reply));
  const head = h("header", {}, h("strong", {}, ask.kind === "permission" ? `${visible(ask.tool)} wants to run` : "The agent asks"), countdown(ask));
  const about = [ask.danger && h("p", { class: "danger" }, visible(ask.danger)), ask.rationale && h("p", { class: "facts" }, visible(ask.rationale))];
  const body = ask.refuses.includes("answer")
    ? [...inputOf(ask), h("p", { class: "hint" }, "This has to be answered where the agent itself asks it: in its own terminal.")]
    : ask.kind === "permission" ? permission(ask, give, say) : [questionForm(ask, give, say)];
  return [head, ...about.filter(Boolean), ...body, problem];
}

function permission(ask, give, say) {
  const words = h("input", { "aria-label": "Words to the agent, when you deny", placeholder: "When you deny: what to do instead" });
  const box = h("textarea", { rows: "6", "aria-label": "Input as JSON", spellcheck: "false", hidden: true });
  box.value = JSON.stringify(ask.input, null, 2);
  const edited = () => (box.hidden || box.value === JSON.stringify(ask.input, null, 2) ? {} : { input: parsed(box.value) });
  const allow = (scope) => () => {
    try {
      return give({ decision: "allow", scope, ...edited() });
    } catch (error) {
      return say(`The input is no JSON object: ${error.message}`);
    }
  };
  const deny = () => give({ decision: "deny", ...(words.value.trim() && { message: words.value }) });
  const edit = button("Edit the input", ({ target }) => {
    box.hidden = !box.hidden;
    target.setAttribute("aria-expanded", String(!box.hidden));
    if (!box.hidden) box.focus();
  }, { "aria-expanded": "false" });
  return [
    ...inputOf(ask), box,
    h("div", { class: "row" }, button("Allow once", allow("once"), { class: "main" }), button("Allow for the session", allow("session")),
      !ask.refuses.includes("input") && edit),
    h("div", { class: "row" }, !ask.refuses.includes("message") && words, button("Deny", deny, { class: "deny" })),
  ];
}

function parsed(text) {
  const value = JSON.parse(text);
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("braces are wanted around it");
  return value;
}

function settledLine(ask) {
  if (ask.state === "withdrawn") return h("p", { class: "facts" }, `${titled(ask)}: nobody answered; ${visible(ask.reason ?? "it is over")}.`);
  const { settlement } = ask;
  const by = settlement.by;
  const who = by.kind === "timeout" ? "nobody in time" : by.kind === "policy" ? `policy ${by.name}${by.rule ? ` (${by.rule})` : ""}` : by.name;
  const taken = { settled: "the agent has not taken it yet" }[ask.state];
  const edited = settlement.input ? "with an edited input" : "";
  return h("p", { class: "facts" }, [`${titled(ask)}: ${said(settlement)}`, edited, `by ${visible(who)}`, taken].filter(Boolean).join(" · "));
}

const titled = (ask) => (ask.kind === "permission" ? `${visible(ask.tool)} ${visible(ask.subject).split("\n")[0].slice(0, 100)}`.trim() : "Question");

function said({ decision, scope, message, answers, response }) {
  if (decision) return (decision === "allow" ? (scope === "session" ? "allowed for the session" : "allowed") : "denied") + (message ? `: ${visible(message)}` : "");
  if (response) return visible(response);
  return Object.entries(answers ?? {}).map(([question, words]) => `${visible(question)} ${visible(words)}`).join("; ");
}

function countdown({ expires_at }) {
  if (!expires_at) return "";
  return h("span", { class: "countdown", "data-expires": expires_at }, left(expires_at));
}

function left(at) {
  const seconds = Math.max(0, Math.round((Date.parse(at) - hubNow()) / 1000));
  return seconds ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left` : "time is up";
}

setInterval(() => {
  for (const element of document.querySelectorAll("[data-expires]")) setText(element, left(element.dataset.expires));
}, 1000);
