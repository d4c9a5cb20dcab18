// What an edit changes, line by line, from the input of the tool that makes it.

import { h } from "/dom.js";
import { visible } from "/words.js";

const CONTEXT = 2;

// Lines before and after as [sign, line]; what both begin and end with is context.
export function diffLines(before, after) {
  const old = before === "" ? [] : before.split("\n");
  const fresh = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  return [
    ...old.slice(Math.max(0, head - CONTEXT), head).map((line) => [" ", line]),
    ...old.slice(head, old.length - tail).map((line) => ["-", line]),
    ...fresh.slice(head, fresh.length - tail).map((line) => ["+", line]),
    ...old.slice(old.length - tail, old.length - tail + CONTEXT).map((line) => [" ", line]),
  ];
}

function edits({ name, input }) {
  const text = (value) => (typeof value === "string" ? value : null);
  if (Array.isArray(input.edits)) return input.edits.map((edit) => [text(edit?.old_string), text(edit?.new_string)]);
  if (text(input.old_string) !== null) return [[input.old_string, text(input.new_string)]];
  if (name === "Write" && text(input.content) !== null) return [["", input.content]];
  return [];
}

// The tool's change as elements; null where it is no edit.
export function diffOf(tool) {
  const found = edits(tool);
  if (!found.length || found.some(([before, after]) => before === null || after === null)) return null;
  const lines = found.flatMap(([before, after], index) => (index ? [["", "⋯"]] : []).concat(diffLines(before, after)));
  return h("div", { class: "diff" }, h("p", { class: "facts" }, visible(String(tool.input.file_path ?? ""))),
    h("pre", { tabindex: "0", "aria-label": "Changes" }, lines.map(([sign, line]) =>
      h("span", { class: { "+": "added", "-": "removed" }[sign] ?? "same" }, `${sign} ${visible(line)}\n`))));
}
