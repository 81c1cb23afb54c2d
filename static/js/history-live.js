// Keeps what is shown true: calls that have not ended are asked for every two seconds, new ones every ten, and nothing
// while nobody looks.

const OPEN = 2000;
const NEW = 10_000;

/** Begin; `unfold(call, seen)` brings a call's inside anew, unless its status is still the one seen. */
export function watch(unfold) {
  let asked = Date.now();
  let busy = false;

  async function look() {
    if (document.hidden || busy) return;
    const pills = [...document.querySelectorAll(".pill[data-open]")];
    const list = document.querySelector(".calls");
    if (!pills.length && (!list?.dataset.newest || Date.now() - asked < NEW)) return;
    busy = true;
    asked = Date.now();
    try {
      await (list ? lookAtList(list, pills) : lookAtCall(pills));
    } catch {
      // The next look makes good what fails here.
    }
    busy = false;
  }

  async function lookAtList(list, pills) {
    const query = new URLSearchParams(list.dataset.query);
    const inList = pills.filter((pill) => pill.closest(".call-row"));
    query.set("open", inList.map(({ dataset }) => `${dataset.call}.${dataset.status}`).join(","));
    if (list.dataset.newest) query.set("newest", list.dataset.newest);
    await htmx.ajax("GET", `/history/live/?${query}`, { source: list, target: list, swap: "none" });
    for (const { dataset } of inList) {
      const pill = document.querySelector(`#row-${CSS.escape(dataset.call)} .pill`);
      const call = pill?.closest("details.call");
      if (!pill || pill.dataset.status === dataset.status) continue;
      // Also one whose inside is just being brought: that may be of before.
      if (call.dataset.loaded || call.open) await unfold(call);
      tell(`${call.querySelector(".name").textContent}: ${pill.textContent.trim()}`);
    }
  }

  async function lookAtCall([pill]) {
    await unfold(document.getElementById("call"), pill.dataset.status);
  }

  setInterval(look, OPEN);
  document.addEventListener("visibilitychange", look);
}

/** Say to who cannot see it what became of a call. */
function tell(words) {
  document.getElementById("announcements").textContent = words;
}
