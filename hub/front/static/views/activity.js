// One line about what a turn does or did; it opens its tools: input, what changed, output, status, duration.

import { button, h, keyed, setText } from "/dom.js";
import { api, hubNow } from "/api.js";
import { state } from "/state.js";
import { count, duration, visible } from "/words.js";
import { inputOf } from "/views/call.js";

const STATES = { starting: "starts", thinking: "thinks", retrying: "tries again", stalled: "is silent", resumed: "goes on" };

export function activityView(turn) {
  const line = h("span", { class: "line" });
  const elapsed = h("span", { class: "elapsed" });
  const tools = h("div", { class: "tools" });
  const element = h("details", { class: "activity" }, h("summary", {}, line, elapsed), tools);
  let item = null;
  const build = () => { // a long turn has thousands of tools: they are made when somebody looks
    if (!element.open) return;
    keyed(tools, item.blocks.filter((block) => block.kind === "tool").map((block) => [block.tool_id, block]), () => toolView(turn.turn_id));
  };
  element.addEventListener("toggle", build);
  return {
    element,
    update(value) {
      item = value;
      const blocks = item.blocks.filter((block) => block.kind === "tool");
      const running = item.status === "running";
      element.hidden = !running && !blocks.length;
      element.classList.toggle("running", running);
      element.classList.toggle("bare", !blocks.length);
      setText(line, words(item, blocks, running));
      if (running && item.started_at) elapsed.dataset.since = item.started_at;
      else delete elapsed.dataset.since;
      setText(elapsed, running ? since(item.started_at) : blocks.length ? ` · ${duration(item.stats.duration_ms)}` : "");
      build();
    },
  };
}

function words(item, blocks, running) {
  const names = item.tool_names.map(visible).join(", ");
  const did = blocks.length ? `${count(blocks.length, "tool")}: ${names}` : "";
  if (!running) return did;
  if (item.asks.some((ask) => ask.state === "open")) return ["waits for you", did].filter(Boolean).join(" · ");
  const { activity } = item;
  const now = activity ? [STATES[activity.state] ?? activity.state, activity.detail && visible(activity.detail)].filter(Boolean).join(": ") : "works";
  return [now, did].filter(Boolean).join(" · ");
}

const since = (at) => (at ? ` · ${Math.max(0, Math.round((hubNow() - Date.parse(at)) / 1000))} s` : "");

setInterval(() => {
  for (const element of document.querySelectorAll("[data-since]")) setText(element, since(element.dataset.since));
}, 1000);

const MARKS = { running: "…", ok: "✓", error: "✗", denied: "⊘", interrupted: "■", unknown: "?" };

function toolView(turnId) {
  const mark = h("span", { class: "mark", "aria-hidden": "true" });
  const name = h("span", { class: "name" });
  const facts = h("span", { class: "facts" });
  const body = h("div");
  const element = h("details", { class: "tool" }, h("summary", {}, mark, name, facts), body);
  let tool = null;
  let built = null;
  const build = () => {
    if (!element.open || built === tool) return;
    built = tool;
    body.replaceChildren(...inputOf(tool), outputOf(turnId, tool));
  };
  element.addEventListener("toggle", build);
  return {
    element,
    update(value) {
      tool = value;
      element.className = `tool ${tool.status}${tool.parent_id ? " nested" : ""}`;
      setText(mark, MARKS[tool.status] ?? "·");
      setText(name, visible(tool.name));
      setText(facts, [tool.status, duration(tool.duration_ms), gist(tool.input)].filter(Boolean).join(" · "));
      build();
    },
  };
}

// What a call is about, in a few words.
function gist(input) {
  const value = input.command ?? input.file_path ?? input.pattern ?? input.url ?? input.description;
  return typeof value === "string" ? visible(value.split("\n")[0]).slice(0, 80) : "";
}

function outputOf(turnId, { tool_id, digest }) {
  if (!digest) return "";
  const text = h("pre", { tabindex: "0", "aria-label": "Output" }, visible(digest.text));
  const facts = h("p", { class: "facts" }, [count(digest.bytes, "byte"), digest.runs != null && `run ${digest.runs}`].filter(Boolean).join(" · "));
  const more = digest.truncated && button("Show all of it", async ({ target }) => {
    try {
      const whole = await api.output(state.id, turnId, tool_id);
      setText(text, visible(whole.text));
      target.remove();
    } catch (error) {
      setText(target, error.message);
      target.disabled = true;
    }
  });
  return h("div", {}, text, facts, more);
}
