// Words and figures as people read them.

const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-~])/g;
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

// Without a terminal's escapes; what would be unseen, or would turn the writing around, by its number. As the hub
// does it for Markdown.
export const visible = (text) => text.replaceAll("\r\n", "\n").replace(ESCAPES, "")
  .replace(UNSEEN, (found) => `[U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

export const shown = (value) => visible(typeof value === "string" ? value : JSON.stringify(value, null, 2));

export function duration(ms) {
  if (ms == null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

// The minute; with its day where that is another one.
export function moment(at) {
  const [then, today] = [new Date(at), new Date()];
  const day = then.toDateString() === today.toDateString() ? {} : { day: "numeric", month: "short", ...(then.getFullYear() !== today.getFullYear() && { year: "numeric" }) };
  return then.toLocaleString([], { hour: "numeric", minute: "2-digit", ...day });
}

export const nameOf = (session) => visible(session.title || `${session.agent}, ${new Date(session.created_at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`);
