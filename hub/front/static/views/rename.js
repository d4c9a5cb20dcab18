// Another name for the session that is shown.

import { rename } from "/actions.js";
import { $ } from "/dom.js";
import { state } from "/state.js";
import { nameOf } from "/words.js";

let named = ""; // the session whose name is being written

export function startRename(onChange) {
  const form = $("rename");
  $("rename-open").addEventListener("click", () => {
    named = state.id;
    form.elements.title.value = state.session.about.title ?? "";
    form.elements.title.placeholder = nameOf(state.session.about);
    show(true);
    form.elements.title.select();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const title = form.elements.title.value.trim();
    if (title && !await rename(named, title)) return;
    if (closeRename()) $("rename-open").focus();
  });
  onChange(({ session, id }) => {
    $("rename-open").hidden = !session || !form.hidden;
    if (named !== id) closeRename();
  });
}

function show(open) {
  $("rename").hidden = !open;
  $("title").classList.toggle("unseen", open); // it stays the heading of the page
  $("rename-open").hidden = open;
}

// Whether there was something to close.
export function closeRename() {
  if ($("rename").hidden) return false;
  show(false);
  return true;
}
