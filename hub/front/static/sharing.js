// A browser has six connections to one host, for all its tabs together: seven tabs with a stream each would leave
// none to ask anything by. So tabs that nobody looks at have three streams between them. The others wait for one, and
// catch up by cursor when they are looked at.

const STREAMS = 3;
const names = Array.from({ length: STREAMS }, (_, index) => `turnhub.stream.${index}`);

// Take a lock and keep it until the promise `over` is settled. Whether it was to be had.
const take = (name, options, over) => new Promise((taken, failed) => {
  navigator.locks.request(name, options, (lock) => {
    taken(Boolean(lock));
    return lock && over;
  }).catch(failed);
});

// pause(): nobody looks, and there is no stream left for us; resume(): there is one again.
export function shareStreams({ pause, resume }) {
  if (!navigator.locks) return; // a browser that gives none on an origin that it does not trust
  let looked = null; // AbortController of the time in which nobody looks
  const change = () => {
    looked?.abort();
    looked = document.hidden ? new AbortController() : null;
    if (looked) hide(looked.signal, { pause, resume });
  };
  document.addEventListener("visibilitychange", change);
  change();
}

async function hide(signal, { pause, resume }) {
  const over = new Promise((end) => signal.addEventListener("abort", end));
  for (const name of names) {
    if (signal.aborted || await take(name, { ifAvailable: true }, over)) return;
  }
  if (signal.aborted) return;
  pause();
  try {
    await take(names[Math.floor(Math.random() * STREAMS)], { signal }, over);
    if (!signal.aborted) resume();
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}
