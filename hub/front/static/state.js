// What the page knows, in one place. Views draw it; `changed` has them draw once a frame, however often it is called.

export const state = {
  agents: [],
  sessions: [],
  listed: 100, // how many of them at most, newest first
  older: false, // whether there are more
  asks: [], // open ones, of all sessions
  id: "", // the session that is shown
  session: null, // a Session once it is fetched
  missing: "", // why it cannot be shown
  connection: "connecting", // connecting, open, lost, paused
  asOf: 0, // when we last heard something, by our clock
  trouble: "", // why the hub gives us nothing, in its own words
  loggedOut: false, // it does not take this page's token
  notice: "",
  sending: new Set(), // the sessions to which a message is under way
};

// Somebody learned that the hub answers: what waits to try again need not wait. Somebody wants more sessions in the
// list. The page puts its own in here.
export const heard = { wake() {}, more() {} };

const views = [];
let due = false;

export const onChange = (view) => views.push(view);

export function changed() {
  if (due) return;
  due = true;
  const draw = () => {
    due = false;
    for (const view of views) view(state);
  };
  if (document.hidden) setTimeout(draw, 50); // frames stand still in hidden tabs
  else requestAnimationFrame(draw);
}

export function notice(text) {
  state.notice = text;
  changed();
}

// An ask is over, as an event or an answer has told before the list is fetched again.
export function closeAsk(id) {
  state.asks = state.asks.filter((record) => record.id !== id);
  changed();
}
