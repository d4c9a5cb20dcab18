// What a tool is called with: the change that it makes, the command that it runs, or all of its input. Nothing of the
// input is left out: nobody should allow what stands nowhere.

import { h } from "/dom.js";
import { shown, visible } from "/words.js";
import { diffOf } from "/views/diff.js";

const MAIN = ["command", "file_path", "notebook_path", "url", "query", "pattern"];
const IN_DIFF = new Set(["file_path", "old_string", "new_string", "content", "edits", "replace_all"]);

// Elements, from an ask or from a tool's block.
export function inputOf(call) {
  const name = call.tool ?? call.name;
  const diff = diffOf({ name, input: call.input });
  if (diff) return [diff, ...rest(call, (key) => IN_DIFF.has(key))];
  const main = MAIN.find((key) => typeof call.input[key] === "string");
  if (main) return [box(visible(call.input[main])), ...rest(call, (key) => key === main)];
  const all = Object.keys(call.input).length > 0;
  return [box(all ? shown(call.input) : visible(call.subject ?? "{}"))];
}

const box = (text) => h("pre", { tabindex: "0", "aria-label": "Input" }, text);

function rest({ input, rationale }, told) {
  const others = Object.entries(input).filter(([key, value]) => !told(key) && value !== rationale);
  return others.length ? [h("p", { class: "facts" }, others.map(([key, value]) => `${visible(key)}: ${shown(value)}`).join(" · "))] : [];
}
