// The runs that a running call has begun, as they are now: asked for every few seconds, once for all calls of a run.

const PAUSE = 3000;
const trees = new Map();

/** The tree of a run; calls that ask at the same time share the answer. Null when it cannot be read. */
function tree(runId) {
  const known = trees.get(runId);
  if (known && Date.now() - known.at < PAUSE / 2) return known.read;
  const read = fetch(`/api/v1/runs/${encodeURIComponent(runId)}/tree`, { headers: { "Accept": "application/json" } })
    .then((response) => (response.ok ? response.json() : null))
    .catch(() => null);
  trees.set(runId, { at: Date.now(), read });
  return read;
}

/** Calls `onChild` with the run that the call has begun, at once and whenever it may have changed, until it is stopped. */
export function watchChild(runId, callId, onChild) {
  let timer = null;
  let over = false;

  async function look() {
    if (!document.hidden) {
      const found = (await tree(runId))?.children.find((each) => each.parent_call_id === callId);
      if (over) return;
      if (found) onChild(found);
    }
    timer = setTimeout(look, PAUSE);
  }

  look();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
