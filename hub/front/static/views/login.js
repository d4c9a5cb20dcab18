// Asking for a token when the hub takes none that this page has. Nothing on the page is lost over it: the cookie is
// set beside it, and the stream goes on.

import { logIn } from "/actions.js";
import { api, Problem } from "/api.js";
import { $, setText } from "/dom.js";
import { changed, heard, state } from "/state.js";

let asked = false; // of itself the window opens once for each time that the token is refused

export function startLogin(onChange) {
  $("login").querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    enter(event.target.token);
  });
  $("login-open").addEventListener("click", logIn);
  $("login-later").addEventListener("click", () => $("login").close());
  onChange(({ loggedOut }) => {
    if (loggedOut && !asked) logIn();
    asked = loggedOut;
  });
}

async function enter(field) {
  const problem = $("login").querySelector("[role=alert]");
  try {
    await api.logIn(field.value.trim());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    setText(problem, error.message);
    problem.hidden = false;
    field.select();
    return;
  }
  problem.hidden = true;
  field.value = "";
  state.loggedOut = false;
  $("login").close();
  heard.wake();
  changed();
}
