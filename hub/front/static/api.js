// Talking to the hub. Problems come as Error with the problem document in `problem`.

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? `The hub answers ${status}.`);
    this.status = status;
    this.problem = document;
  }
}

export async function call(method, path, body, headers = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: { Accept: "application/json", ...(body && { "Content-Type": "application/json" }), ...headers },
      body: body && JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, { detail: "The hub does not answer. It is tried again by itself.", code: "unreachable" });
  }
  const content = response.headers.get("content-type") ?? "";
  const answer = content.includes("json") ? await response.json() : null;
  if (!response.ok) throw new Problem(response.status, answer ?? {});
  return answer;
}

// One key for one message: sending it again is the same message.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
