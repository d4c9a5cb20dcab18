// Events to items: hub/fold.py and hub/turn_fold.py in the page's language. Both are held to the same fixtures.
// Durable things stand in the order of the log, streaming blocks behind them. Unknown types and gaps change nothing.

const TURN_ENDED = "turn ended";
const ENDINGS = { turn_completed: "completed", turn_failed: "failed", turn_interrupted: "interrupted" };
const OF_A_TURN = new Set(["turn_started", "status", "text_delta", "reasoning_delta", "text", "reasoning", "tool_started",
  "tool_finished", "ask_opened", "ask_settled", "ask_delivered", "ask_withdrawn", ...Object.keys(ENDINGS)]);

const NO_MEMORY = { files_changed: [], failures: [], key_findings: [] };

const orNull = (value) => value ?? null;

function settlementOf(event) {
  const { by, decision, scope, message, input, answers, response } = event;
  return { by, decision: orNull(decision), scope: orNull(scope), message: orNull(message), input: orNull(input),
    answers: orNull(answers), response: orNull(response) };
}

function askItem(ask) {
  return { subject: "", input: {}, questions: [], danger: null, rationale: null, source: "sdk", expires_at: null, refuses: [], tool_id: null,
    ...ask, state: "open", settlement: null, effective: null, reason: null };
}

function afterEnd(ask) {
  if (ask.state === "open") return { ...ask, state: "withdrawn", reason: TURN_ENDED };
  return ask.state === "delivered" ? { ...ask, state: "closed" } : ask;
}

class TurnFold {
  constructor(turnId) {
    this.messageId = null;
    this.base = { kind: "assistant", turn_id: turnId, attempt: 1, message_id: null, status: "running", activity: null, blocks: [],
      tool_names: [], asks: [], ending: null, stats: { duration_ms: null, tools: 0, usage: null, cost_usd: null }, memory: null,
      started_at: null };
    this.blocks = [];
    this.streaming = new Map();
    this.tools = new Map();
    this.asks = new Map();
    this.rendered = null;
  }

  static of(item) {
    const turn = new TurnFold(item.turn_id);
    Object.assign(turn, { messageId: item.message_id, base: item, rendered: item });
    for (const ask of item.asks) turn.asks.set(ask.id, ask);
    for (const block of item.blocks) {
      if (block.kind === "tool") turn.tools.set(block.tool_id, turn.blocks.length);
      else if (block.open) {
        turn.streaming.set(`${block.kind} ${block.block}`, { ...block });
        continue;
      }
      turn.blocks.push(block);
    }
    return turn;
  }

  render() {
    this.rendered ??= {
      ...this.base,
      message_id: this.messageId,
      blocks: [...this.blocks, ...Array.from(this.streaming.values(), (block) => ({ ...block }))],
      tool_names: [...new Set(this.blocks.filter((block) => block.kind === "tool").map((block) => block.name))],
      asks: [...this.asks.values()],
    };
    return this.rendered;
  }

  set(changes) {
    this.base = { ...this.base, ...changes };
    this.rendered = null;
  }

  quiet() {
    if (this.base.activity) this.set({ activity: null });
  }

  apply(event) {
    if (this.base.ending) return;
    this.rendered = null;
    switch (event.type) {
      case "text_delta": return this.delta("text", event);
      case "reasoning_delta": return this.delta("reasoning", event);
      case "text": case "reasoning": return this.written(event.type, event);
      case "tool_started": return this.toolStarted(event);
      case "tool_finished": return this.toolFinished(event);
      case "ask_opened":
        if (!this.asks.has(event.ask.id)) this.asks.set(event.ask.id, askItem(event.ask));
        return;
      case "ask_settled": case "ask_delivered": case "ask_withdrawn": return this.askMoves(event);
      case "status":
        if (event.state === "retrying") this.streaming.clear();
        return this.set({ activity: { state: event.state, detail: orNull(event.detail) } });
      case "turn_started":
        this.messageId = event.message_id || this.messageId;
        return this.set({ attempt: event.attempt, started_at: this.base.started_at || event.at || null });
      default: return this.end(event);
    }
  }

  delta(kind, event) {
    const key = `${kind} ${event.block}`;
    const block = this.streaming.get(key);
    if (block) block.text += event.text;
    else this.streaming.set(key, { kind, block: event.block, text: event.text, open: true, partial: false });
  }

  written(kind, event) {
    this.streaming.delete(`${kind} ${event.block}`);
    this.blocks.push({ kind, block: event.block, text: event.text, open: false, partial: event.partial ?? false });
  }

  toolStarted(event) {
    const block = { kind: "tool", tool_id: event.tool_id, name: event.name, input: event.input ?? {},
      parent_id: orNull(event.parent_id), status: "running", digest: null, duration_ms: null };
    const index = this.tools.get(event.tool_id);
    if (index !== undefined) { // announced again, by a runner that took the turn over: it keeps its place
      this.blocks[index] = block;
      return;
    }
    this.tools.set(event.tool_id, this.blocks.length);
    this.blocks.push(block);
    this.set({ stats: { duration_ms: null, tools: this.tools.size, usage: null, cost_usd: null } });
  }

  toolFinished(event) {
    const index = this.tools.get(event.tool_id);
    if (index === undefined) return;
    this.blocks[index] = { ...this.blocks[index], status: event.status, digest: orNull(event.digest),
      duration_ms: orNull(event.duration_ms) };
  }

  askMoves(event) {
    const ask = this.asks.get(event.ask_id);
    const from = { ask_settled: ["open"], ask_delivered: ["settled"], ask_withdrawn: ["open", "settled"] }[event.type];
    if (!ask || !from.includes(ask.state)) return;
    const changes = {
      ask_settled: () => ({ state: "settled", settlement: settlementOf(event) }),
      ask_delivered: () => ({ state: "delivered", effective: orNull(event.input) }),
      ask_withdrawn: () => ({ state: "withdrawn", reason: event.reason }),
    }[event.type]();
    this.asks.set(ask.id, { ...ask, ...changes });
  }

  end(event) {
    this.streaming.clear();
    for (const index of this.tools.values()) {
      if (this.blocks[index].status === "running") this.blocks[index] = { ...this.blocks[index], status: "unknown" };
    }
    for (const [id, ask] of this.asks) this.asks.set(id, afterEnd(ask));
    const { duration_ms, tools, usage, cost_usd } = event;
    this.set({ status: ENDINGS[event.type], ending: event, activity: null,
      stats: { duration_ms, tools: tools ?? 0, usage: orNull(usage), cost_usd: orNull(cost_usd) } });
  }
}

export class Fold {
  constructor() {
    this.cursor = 0;
    this.slots = [];
    this.turns = new Map();
    this.byMessage = new Map();
    this.byTurn = new Map();
  }

  // A fold that goes on from items, which hold everything up to the cursor.
  static resume(items, cursor) {
    const fold = new Fold();
    fold.cursor = cursor;
    for (const item of items) {
      if (item.kind === "user") fold.addMessage(item);
      else if (item.kind === "assistant") fold.addTurn(item.turn_id, TurnFold.of(item));
      else fold.slots.push(item);
    }
    return fold;
  }

  // Items whose turn did not change are the very same objects as the last time.
  items() {
    return this.slots.map((slot) => (slot instanceof TurnFold ? slot.render() : slot));
  }

  // Whether the event was new.
  apply(event) {
    if (event.type === "gap" || !(event.seq > this.cursor)) return false;
    this.cursor = event.seq;
    if (event.type === "user_message") this.onMessage(event);
    else if (event.type === "message_delivered") this.onDelivered(event);
    else if (event.type === "turn_distilled") this.turns.get(event.turn_id)?.set({ memory: { ...NO_MEMORY, ...event.distillate } });
    else if (event.type === "distill_failed") {
      this.slots.push({ kind: "notice", code: event.code, message: event.message, turn_id: event.turn_id || null, at: event.at ?? "" });
    } else if (OF_A_TURN.has(event.type)) this.turnOf(event).apply(event);
    else return true;
    if (event.type !== "status") this.turns.get(event.turn_id)?.quiet(); // an activity lasts until anything else happens
    return true;
  }

  onMessage({ message_id, turn_id = "", text, origin = "api", at = "", seq }) {
    this.addMessage({ kind: "user", message_id, turn_id, text, origin, at, seq, delivery: null });
  }

  onDelivered(event) {
    const turn = this.turns.get(event.turn_id);
    let index = event.message_id ? this.byMessage.get(event.message_id) : this.byTurn.get(event.turn_id);
    if (index === undefined && turn?.messageId) index = this.byMessage.get(turn.messageId);
    if (index === undefined) return;
    const delivery = { verdict: event.verdict, proof: orNull(event.proof), detail: orNull(event.detail) };
    this.slots[index] = { ...this.slots[index], delivery };
  }

  turnOf(event) {
    const turn = this.turns.get(event.turn_id) ?? this.addTurn(event.turn_id, new TurnFold(event.turn_id));
    if (event.type === "turn_started" && !turn.messageId && !event.message_id) {
      const index = this.byTurn.get(event.turn_id);
      turn.messageId = index === undefined ? null : this.slots[index].message_id;
    }
    return turn;
  }

  addTurn(id, turn) {
    this.turns.set(id, turn);
    this.slots.push(turn);
    return turn;
  }

  addMessage(item) {
    this.byMessage.set(item.message_id, this.slots.length);
    if (!this.byTurn.has(item.turn_id)) this.byTurn.set(item.turn_id, this.slots.length);
    this.slots.push(item);
  }
}
