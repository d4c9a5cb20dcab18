// The one EventSource of this tab: hints about the whole hub, and every event of the session that is shown. It is
// opened anew by ourselves, behind the cursor, after whatever ended it: the browser's own way gives up on statuses.

const KINDS = ["session_created", "user_message", "turn_started", "message_delivered", "status", "text_delta", "reasoning_delta",
  "text", "reasoning", "tool_started", "tool_finished", "ask_opened", "ask_settled", "ask_delivered", "ask_withdrawn",
  "grant_revoked", "message_queued", "message_unqueued", "turn_completed", "turn_failed", "turn_interrupted", "turn_distilled",
  "distill_failed", "gap"];
const HINTS = ["session", "turn", "ask", "hub"];
const FIRST_MS = 500;
const LONGEST_MS = 5_000;
// A connection that died without a word (sleep, another network) looks like an idle one, for the hub's comments are
// not shown to pages: after so long in silence it is opened anew, which costs one request.
const SILENT_MS = 45_000;
const OPENING_MS = 15_000;
const LOOK_MS = 1_000;

export class Stream {
  // where(): {session, after}; on: {event, hint, open, lost, retry(refused)}
  constructor(where, on) {
    this.where = where;
    this.on = on;
    this.source = null;
    this.timer = 0;
    this.wait = FIRST_MS;
    this.refused = false; // it was not even opened
    this.paused = false;
    this.heardAt = 0; // by the clock on the wall, which goes on while the device sleeps
    setInterval(() => this.look(), LOOK_MS);
  }

  look() {
    if (!this.source) return;
    const silent = Date.now() - this.heardAt;
    if (silent < 0) this.heardAt = Date.now(); // the clock was set back
    else if (this.refused && silent > OPENING_MS) this.again();
    else if (!this.refused && silent > SILENT_MS) this.open();
  }

  open() {
    if (this.paused) return;
    this.close();
    const { session, after } = this.where();
    const source = new EventSource(session ? `/v1/events?session=${session}&after=${after}` : "/v1/events");
    this.source = source;
    this.refused = true;
    this.heardAt = Date.now();
    const current = (work) => (event) => {
      if (this.source !== source) return;
      this.heardAt = Date.now();
      work(event);
    };
    source.addEventListener("open", current(() => {
      Object.assign(this, { wait: FIRST_MS, refused: false });
      this.on.open();
    }));
    source.addEventListener("error", current(() => this.again()));
    for (const kind of KINDS) source.addEventListener(kind, current(({ data }) => this.on.event(JSON.parse(data))));
    for (const kind of HINTS) source.addEventListener(kind, current(({ data }) => this.on.hint(JSON.parse(data))));
  }

  again() {
    if (this.paused) return;
    this.close();
    this.on.lost();
    this.timer = setTimeout(() => this.on.retry(this.refused), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_MS);
  }

  soon() { // the network is back, or the page is looked at again
    this.wait = FIRST_MS;
    this.paused = false;
    clearTimeout(this.timer);
    this.on.retry(this.refused);
  }

  pause() { // until soon()
    this.close();
    this.paused = true;
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}
