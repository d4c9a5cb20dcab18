// What an edit changes, line by line, from the input of the tool that makes it.

import { button, h } from "/dom.js";
import { count, visible } from "/words.js";

const CONTEXT = 2;
const MOST_CELLS = 1_000_000; // lines before times lines after: beyond that one block replaces the other
const MOST_LINES = 400; // shown at once

// Lines before and after as [sign, line]; of what is the same only what stands next to a change, "⋯" for the rest.
export function diffLines(before, after) {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const rows = excerpt([
    ...old.slice(0, head).map((line) => [" ", line]),
    ...between(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...old.slice(old.length - tail).map((line) => [" ", line]),
  ]);
  if (!before || !after || ended(before) === ended(after)) return rows;
  return [...rows, ["", ended(after) ? "now with a line break at its end" : "now without a line break at its end"]];
}

const ended = (text) => text.endsWith("\n");

// A line break ends a line: there is no empty one behind the last.
const linesOf = (text) => (text === "" ? [] : (ended(text) ? text.slice(0, -1) : text).split("\n"));

// Fewest lines taken away and added: the longest common subsequence.
function between(old, fresh) {
  if (old.length * fresh.length > MOST_CELLS) return [...old.map((line) => ["-", line]), ...fresh.map((line) => ["+", line])];
  const width = fresh.length + 1;
  const common = new Uint16Array((old.length + 1) * width); // lengths for the ends of both, from i and j on
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === fresh[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push([" ", old[i]]);
      [i, j] = [i + 1, j + 1];
    } else if (i < old.length && (j === fresh.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) lines.push(["-", old[i++]]);
    else lines.push(["+", fresh[j++]]);
  }
  return lines;
}

function excerpt(lines) {
  const near = new Uint8Array(lines.length);
  lines.forEach(([sign], index) => { if (sign !== " ") near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1); });
  const last = near.lastIndexOf(1);
  const kept = [];
  lines.forEach((line, index) => {
    if (near[index]) kept.push(line);
    else if (near[index - 1] && index < last) kept.push(["", "⋯"]);
  });
  return kept;
}

function edits({ name, input }) {
  const text = (value) => (typeof value === "string" ? value : null);
  if (Array.isArray(input.edits)) return input.edits.map((edit) => [text(edit?.old_string), text(edit?.new_string)]);
  if (text(input.old_string) !== null) return [[input.old_string, text(input.new_string)]];
  if (name === "Write" && text(input.content) !== null) return [["", input.content]];
  return [];
}

const SIGNS = { "+": "added", "-": "removed", "": "cut" };

const lineOf = ([sign, line]) => h("span", { class: SIGNS[sign] ?? "same" }, `${sign && `${sign} `}${visible(line)}\n`);

// The tool's change as elements; null where it is no edit.
export function diffOf(tool) {
  const found = edits(tool);
  if (!found.length || found.some(([before, after]) => before === null || after === null)) return null;
  const lines = found.flatMap(([before, after], index) => (index ? [["", "⋯"]] : []).concat(diffLines(before, after)));
  const rows = h("pre", { tabindex: "0", "aria-label": "Changes" }, lines.slice(0, MOST_LINES).map(lineOf));
  const rest = lines.slice(MOST_LINES);
  const more = rest.length > 0 && button(`Show ${count(rest.length, "more line")}`, ({ target }) => {
    rows.append(...rest.map(lineOf));
    target.remove();
    rows.focus();
  });
  const replaced = tool.input.replace_all === true && " · everywhere in it";
  return h("div", { class: "diff" }, h("p", { class: "facts" }, visible(String(tool.input.file_path ?? "")), replaced), rows, more);
}
