// Talking to the hub. Problems come as Error with the problem document in `problem`.

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? `The hub answers ${status}.`);
    this.status = status;
    this.code = document.code ?? "";
    this.problem = document;
  }
}

const LONGEST_MS = 30_000;
let skew = 0; // the hub's clock minus ours, milliseconds

export const hubNow = () => Date.now() + skew;

export async function call(method, path, body, headers = {}, more = {}) {
  let response;
  let answer = null;
  try {
    response = await fetch(path, {
      method,
      headers: { Accept: "application/json", ...(body && { "Content-Type": "application/json" }), ...headers },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(LONGEST_MS),
      ...more,
    });
    if ((response.headers.get("content-type") ?? "").includes("json")) answer = await response.json();
  } catch {
    throw new Problem(0, { detail: "The hub does not answer.", code: "unreachable" });
  }
  const date = Date.parse(response.headers.get("date") ?? "");
  if (date && Math.abs(date - Date.now() - skew) > 2000) skew = date - Date.now();
  if (!response.ok && response.type !== "opaqueredirect") throw new Problem(response.status, answer ?? {});
  return answer;
}

// One key for one message: sending it again is the same message.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const of = (id) => `/v1/sessions/${id}`;

export const api = {
  agents: () => call("GET", "/v1/agents"),
  sessions: (limit) => call("GET", `/v1/sessions?limit=${limit}`),
  asks: () => call("GET", "/v1/asks?state=open"),
  session: (id) => call("GET", of(id)),
  create: (agent, key) => call("POST", "/v1/sessions", { agent }, { "Idempotency-Key": key }),
  rename: (id, title) => call("PATCH", of(id), { title }),
  send: (id, body, key) => call("POST", `${of(id)}/messages`, body, { "Idempotency-Key": key }),
  retry: (id, mode, key) => call("POST", `${of(id)}/retry`, { mode }, { "Idempotency-Key": key }),
  interrupt: (id) => call("POST", `${of(id)}/interrupt`),
  takeBack: (id, message) => call("DELETE", `${of(id)}/queue/${message}`),
  editQueued: (id, message, text) => call("PATCH", `${of(id)}/queue/${message}`, { text }),
  resumeQueue: (id) => call("POST", `${of(id)}/queue/resume`),
  answer: (ask, reply) => call("POST", `/v1/asks/${ask}/answer`, reply),
  screen: (id) => call("GET", `${of(id)}/screen`),
  output: (id, turn, tool) => call("GET", `${of(id)}/tools/${encodeURIComponent(tool)}/output?turn=${turn}`),
  render: (texts) => call("POST", "/v1/render", { texts }),
  logIn: (token) => call("GET", `/?token=${encodeURIComponent(token)}`, null, {}, { redirect: "manual" }), // sets the cookie
};
