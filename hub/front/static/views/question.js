// The form that answers questions: options, several where that is asked, own words, skipping; or one answer to all.

import { button, h } from "/dom.js";
import { visible } from "/words.js";

export function questionForm(ask, give, say) {
  const fields = ask.questions.map((question, index) => questionField(ask, question, index));
  const response = h("textarea", { rows: "2", "aria-label": "One answer in your own words to all of it" });
  const isForm = ask.tool === "Elicitation"; // of an MCP server: filled in, or turned down
  const free = !isForm && !ask.refuses.includes("response") && !ask.refuses.includes("words");
  const form = h("form", { class: "questions" }, fields.map((field) => field.element),
    free && h("details", { open: !fields.length }, h("summary", {}, "Answer in your own words instead"), response),
    h("div", { class: "row" }, h("button", { class: "main" }, "Send the answer"),
      isForm && ["decline", "cancel"].map((word) => button(word === "decline" ? "Decline" : "Cancel", () => give({ response: word })))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (response.value.trim()) return give({ response: response.value });
    const missing = fields.find((field) => field.value() === undefined);
    if (missing) return say(`Choose an answer or skip: ${missing.question}`);
    return give({ answers: Object.fromEntries(fields.map((field) => [field.question, field.value()])) });
  });
  return form;
}

function questionField(ask, { question, header, options, multiSelect }, index) {
  const name = `${ask.id} ${index}`;
  const type = multiSelect ? "checkbox" : "radio";
  const choices = options.map((option) => [option, h("input", { type, name, value: option.label })]);
  const own = h("input", { type: "text", "aria-label": `Own answer: ${visible(question)}`, placeholder: "In your own words" });
  const skip = h("input", { type: "checkbox" });
  const unchoose = () => { for (const [, input] of choices) input.checked = false; };
  own.addEventListener("input", () => { if (own.value && !multiSelect) unchoose(); skip.checked = false; });
  skip.addEventListener("change", () => { if (skip.checked) { unchoose(); own.value = ""; } });
  for (const [, input] of choices) input.addEventListener("change", () => { skip.checked = false; if (!multiSelect) own.value = ""; });
  const element = h("fieldset", {}, h("legend", {}, header && h("span", { class: "tag" }, visible(header)), visible(question)),
    choices.map(([option, input]) => h("label", {}, input, h("span", {}, visible(option.label),
      option.description && h("small", {}, visible(option.description))))),
    !ask.refuses.includes("words") && own,
    ask.questions.length > 1 && h("label", {}, skip, "skip this one"));
  return {
    element,
    question,
    value() { // undefined: nothing chosen yet; null: skipped
      if (skip.checked) return null;
      const chosen = choices.filter(([, input]) => input.checked).map(([option]) => option.label);
      const words = own.value.trim();
      if (multiSelect) return chosen.length || words ? [...chosen, ...(words ? [words] : [])] : undefined;
      return words || chosen[0];
    },
  };
}
