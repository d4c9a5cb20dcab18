// One session as the page knows it: items, running turn, queue, cursor. It begins with what GET says at one instant
// and goes on by events, so that nothing has to be fetched again while they come.

import { Fold } from "/fold.js";

const ENDS = new Set(["turn_completed", "turn_failed", "turn_interrupted"]);

const waiting = ({ message_id, text }) => ({ kind: "queued", message_id, text });

export class Session {
  constructor(found) {
    this.about = found.session;
    this.turn = found.turn;
    this.queue = found.queue.map(waiting);
    this.fold = Fold.resume(found.items, found.cursor);
  }

  get id() { return this.about.id; }
  get cursor() { return this.fold.cursor; }

  items() { return this.fold.items(); }

  apply(event) {
    if (!this.fold.apply(event)) return false;
    const { type } = event;
    if (type === "message_queued") this.wait(waiting(event));
    else if (type === "message_unqueued" || type === "user_message") {
      this.queue = this.queue.filter((message) => message.message_id !== event.message_id);
    }
    if (type === "turn_started") this.turn = { id: event.turn_id, state: "running", started_at: event.at, attempt: event.attempt };
    else if (ENDS.has(type) && this.turn?.id === event.turn_id) this.turn = null;
    return true;
  }

  // A message that waits already was changed: it keeps its place.
  wait(message) {
    const place = this.queue.findIndex((one) => one.message_id === message.message_id);
    this.queue = place < 0 ? [...this.queue, message] : this.queue.with(place, message);
  }

  // Whether the agent had the last message, so that it can go on with it.
  get began() {
    const message = this.items().filter((item) => item.kind === "user").at(-1);
    return ["submitted", "queued"].includes(message?.delivery?.verdict);
  }

  // Whether the last message may be tried again: no completed turn follows it, and none runs.
  get retryable() {
    if (this.turn) return false;
    const last = this.items().filter((item) => item.kind !== "notice").at(-1);
    if (!last) return false;
    if (last.kind === "user") return true;
    return last.status === "interrupted" || (last.status === "failed" && last.ending.retryable);
  }
}
