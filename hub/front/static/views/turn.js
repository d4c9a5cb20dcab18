// A turn: its activity line, words, asks, ending and figures.

import { growText, h, keyed, setText } from "/dom.js";
import { fill } from "/rendered.js";
import { count, duration, visible } from "/words.js";
import { activityView } from "/views/activity.js";
import { askView } from "/views/ask.js";

export function turnView(item) {
  const activity = activityView(item);
  const blocks = h("div", { class: "blocks" });
  const asks = h("div", { class: "asks" });
  const ending = h("div", { class: "ending" });
  return {
    element: h("article", { class: "assistant", "aria-label": "Agent", "data-turn": item.turn_id }, activity.element, blocks, asks, ending),
    update(turn) {
      activity.update(turn);
      keyed(blocks, wordsOf(turn), blockView);
      keyed(asks, turn.asks.map((ask) => [ask.id, ask]), askView);
      drawEnding(ending, turn);
    },
  };
}

// Blocks of words by their number; a number that was used again is another block.
function wordsOf(turn) {
  const used = new Map();
  return turn.blocks.filter((block) => block.kind !== "tool").map((block) => {
    const name = `${block.kind} ${block.block}`;
    used.set(name, (used.get(name) ?? 0) + 1);
    return [`${name} ${used.get(name)}`, block];
  });
}

const CUT_OFF = "cut off here";

function blockView(block) {
  const text = h("div", { class: "words", dir: "auto" });
  const cut = h("p", { class: "facts", hidden: true }, CUT_OFF);
  const thinking = block.kind === "reasoning";
  const element = thinking
    ? h("details", { class: "reasoning" }, h("summary", {}, "Thinking"), text, cut)
    : h("div", { class: "text" }, text, cut);
  let rendered = null;
  return {
    element,
    update(value) {
      element.classList.toggle("open", value.open);
      cut.hidden = !value.partial;
      if (rendered !== value.text) growText(text, visible(value.text));
      if (value.open || rendered === value.text) return;
      rendered = value.text;
      fill(text, visible(value.text).toWellFormed());
    },
  };
}

function drawEnding(element, { status, ending, stats, memory, attempt }) {
  element.hidden = !ending;
  if (!ending) return;
  const parts = [];
  if (status === "failed") {
    parts.push(h("p", { class: "failed" }, h("strong", {}, "Failed: "), visible(ending.message), " ", h("code", {}, ending.code)));
  }
  parts.push(h("p", { class: "stats" }, statsLine(status, ending, stats, attempt)));
  if (memory) {
    parts.push(h("details", { class: "memory" }, h("summary", {}, "What is remembered of this"),
      h("p", { dir: "auto" }, visible(memory.summary)),
      memory.files_changed.length > 0 && h("p", { class: "facts" }, `Changed: ${memory.files_changed.map(visible).join(", ")}`)));
  }
  const open = element.querySelector("details")?.open;
  element.replaceChildren(...parts);
  if (open) element.querySelector("details")?.setAttribute("open", "");
}

function statsLine(status, ending, stats, attempt) {
  const { usage, cost_usd, tools, duration_ms } = stats;
  const words = [
    { completed: "done", failed: "failed", interrupted: `stopped by ${visible(ending.by ?? "")}` }[status],
    duration(duration_ms),
    tools > 0 && count(tools, "tool"),
    usage?.input_tokens > 0 && `${count(usage.input_tokens, "token")} in`,
    usage?.output_tokens > 0 && `${count(usage.output_tokens, "token")} out`,
    cost_usd > 0 && `$${cost_usd.toFixed(4)}`,
    attempt > 1 && `attempt ${attempt}`,
  ];
  return words.filter(Boolean).join(" · ");
}
