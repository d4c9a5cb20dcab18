// Messages that wait to be said: changed in place, taken back; begun by hand where a failure left them standing.

import { change, goOn, takeBack } from "/actions.js";
import { button, growText, h } from "/dom.js";
import { visible } from "/words.js";

export function queuedView(message) {
  let { text } = message;
  const words = h("p", { class: "words", dir: "auto" });
  const box = h("textarea", { rows: "2", "aria-label": "The waiting message", hidden: true });
  const save = button("Save", async () => { if (await change(message.message_id, box.value)) edit(false); }, { hidden: true });
  const begin = button("Change", () => edit(true));
  const edit = (open) => {
    for (const element of [box, save]) element.hidden = !open;
    for (const element of [words, begin]) element.hidden = open;
    box.value = text;
    if (open) box.focus();
  };
  return {
    element: h("article", { class: "user queued", "aria-label": "Waits to be sent" }, words, box, h("p", { class: "row" },
      h("span", { class: "facts" }, "waits"), begin, save, button("Take back", () => takeBack(message.message_id)))),
    update(value) {
      ({ text } = value);
      growText(words, visible(text));
    },
  };
}

export function standsView() {
  return {
    element: h("p", { class: "row" }, h("span", { class: "facts" }, "What waits does not begin by itself after a failure."),
      button("Send what waits", goOn)),
    update() {},
  };
}
