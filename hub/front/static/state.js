// What the page knows, in one place. Views draw it; `changed` has them draw once a frame, however often it is called.

export const state = {
  agents: [],
  sessions: [],
  asks: [], // open ones, of all sessions
  id: "", // the session that is shown
  session: null, // a Session once it is fetched
  missing: "", // why it cannot be shown
  connection: "connecting", // connecting, open, lost
  asOf: 0, // when we last heard something, by our clock
  notice: "",
  sending: false,
};

// Somebody learned that the hub answers: what waits to try again need not wait. The page puts its own in here.
export const heard = { wake() {} };

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

export const openAsks = () => state.asks.length;
