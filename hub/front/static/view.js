// Items as elements. Everything that anybody said goes in as text, never as markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

export function itemView(item, actions) {
  if (item.kind === "user") return h("article", { class: "user" }, h("p", {}, item.text));
  if (item.kind === "notice") return h("article", { class: "hint" }, item.message);
  const asks = item.asks.filter((ask) => ask.state === "open" && item.status === "running");
  return h("article", { class: "assistant", "data-turn": item.turn_id },
    item.blocks.map(blockView),
    asks.map((ask) => askView(ask, actions)),
    item.status === "running"
      ? h("p", { class: "hint" }, asks.length ? "waits for you" : item.activity?.detail || item.activity?.state || "works")
      : endingView(item, actions));
}

function blockView(block) {
  if (block.kind === "tool") {
    return h("details", { class: "tool" },
      h("summary", {}, `${block.name}: ${block.status}`),
      h("pre", {}, shown(block.input)),
      block.digest && h("pre", {}, block.digest.text));
  }
  const cut = block.partial ? " (cut off)" : "";
  return h("div", { class: block.kind === "text" ? "text" : "text reasoning", "data-block": block.block }, block.text + cut);
}

function endingView(item, { retry, last }) {
  const { ending, stats } = item;
  if (item.status === "failed") {
    return h("div", {},
      h("p", { class: "failed" }, ending.message),
      ending.retryable && last === item && h("button", { type: "button", onclick: retry }, "Try again"));
  }
  const seconds = stats.duration_ms == null ? "" : ` after ${(stats.duration_ms / 1000).toFixed(1)} s`;
  return h("footer", {}, item.status === "interrupted" ? `stopped by ${ending.by}${seconds}` : `done${seconds}`);
}

function askView(ask, { answer }) {
  if (ask.kind === "permission") {
    const decide = (reply) => () => answer(ask.id, reply);
    return h("div", { class: "ask" },
      h("strong", {}, `May ${ask.tool} run?`),
      ask.danger && h("p", { class: "failed" }, ask.danger),
      h("pre", {}, ask.subject || shown(ask.input)),
      h("div", { class: "row" },
        h("button", { type: "button", onclick: decide({ decision: "allow" }) }, "Allow once"),
        h("button", { type: "button", onclick: decide({ decision: "allow", scope: "session" }) }, "Allow in this session"),
        h("button", { type: "button", onclick: decide({ decision: "deny" }) }, "Deny")));
  }
  return h("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); answer(ask.id, wordsOf(ask, event.target)); } },
    ask.questions.map((question, number) => questionView(question, `q${number}`)),
    ask.questions.length === 0 && h("input", { name: "response", required: true, "aria-label": ask.subject || ask.tool }),
    h("div", { class: "row" }, h("button", {}, "Answer")));
}

function questionView(question, name) {
  const kind = question.multiSelect ? "checkbox" : "radio";
  return h("fieldset", {},
    h("legend", {}, question.question),
    question.options.map((option) => h("div", {}, h("label", {},
      h("input", { type: kind, name, value: option.label }), ` ${option.label}`,
      option.description && h("span", { class: "hint" }, ` ${option.description}`)))),
    h("input", { name: `${name}-own`, placeholder: "Or in your own words", "aria-label": "Your own words" }));
}

function wordsOf(ask, form) {
  const data = new FormData(form);
  if (ask.questions.length === 0) return { response: data.get("response") };
  const answers = ask.questions.map((question, number) => {
    const own = data.get(`q${number}-own`).trim();
    const chosen = data.getAll(`q${number}`);
    if (own) return [question.question, question.multiSelect ? [...chosen, own] : own];
    return [question.question, question.multiSelect ? chosen : chosen[0] ?? ""];
  });
  return { answers: Object.fromEntries(answers) };
}
