// What is shown beside the chat: the conversation's files, which tools and people write.

const LOST = "The server cannot be reached. Try again.";
const WRITERS = new Set(["write_file", "edit_file", "delete_file"]);

/**
 * Wire the drawer and its files. `current` answers the id of the conversation that the page shows, or null; `begin` is
 * called with one that an upload has begun, and its first words, `attach` with a file that the next message is to take
 * along. Returns `upload`, and what the chat tells: `settled` with a call that has settled, `conversation` when another
 * one is shown.
 */
export function wireBeside({ csrf, current, begin, attach }) {
  const find = (id) => document.getElementById(id);
  const chat = document.querySelector(".chat");
  const toggle = document.querySelector(".beside-toggle");
  const [beside, list, trouble, said, chooser] = ["beside", "files", "files-trouble", "files-said", "upload-files"].map(find);
  const isOpen = () => chat.classList.contains("beside-open");

  function open(on) {
    chat.classList.toggle("beside-open", on);
    toggle.setAttribute("aria-expanded", String(on));
    if (on) show();
  }

  toggle.addEventListener("click", () => {
    open(!isOpen());
    if (isOpen()) find("upload").focus();
  });
  function close() {
    open(false);
    toggle.focus();
  }

  beside.querySelector(".beside-close").addEventListener("click", close);
  beside.addEventListener("keydown", (event) => event.key === "Escape" && close());

  function show() {
    if (!isOpen()) return;
    if (current()) htmx.ajax("GET", `/conversations/${encodeURIComponent(current())}/files/`, { target: list, swap: "innerHTML" });
    else list.textContent = "Files belong to a conversation. Write a message, or upload a file, to begin one.";
  }

  list.addEventListener("htmx:responseError", () => (trouble.textContent = "The files could not be read. Load the page again."));
  list.addEventListener("htmx:sendError", () => (trouble.textContent = LOST));

  find("upload").addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", async () => {
    const chosen = [...chooser.files];
    chooser.value = "";
    trouble.textContent = "";
    if (chosen.length) await put(chosen, (why) => (trouble.textContent = why));
  });

  list.addEventListener("click", ({ target }) => {
    const { path, version, type } = target.closest("[data-attach]")?.dataset ?? {};
    if (path) attach({ path, version: Number(version), media_type: type, id: target.closest("[data-attach]").dataset.attach });
  });

  /** Put files into the conversation, or into a new one; those that were taken. `tell` is told why another was not. */
  async function put(chosen, tell) {
    const conversation = current() ?? (await begun(chosen[0].name, tell));
    const taken = [];
    for (const file of conversation ? chosen : []) {
      const made = await upload(conversation, file, tell);
      if (!made) break;
      taken.push(made);
    }
    show();
    return taken;
  }

  async function begun(name, tell) {
    const answer = await send("/api/v1/conversations/", "POST", JSON.stringify({ title: name.slice(0, 80) }), "application/json", tell);
    const made = await answer?.json();
    if (made) begin(made.id, made.title);
    return made?.id;
  }

  async function upload(conversation, file, tell) {
    said.textContent = `Uploading ${file.name}`;
    const address = `/api/v1/conversations/${encodeURIComponent(conversation)}/files/?path=${encodeURIComponent(file.name)}`;
    const answer = await send(address, "PUT", file, "application/octet-stream", (why) => tell(`${file.name}: ${why}`));
    said.textContent = answer ? `Uploaded ${file.name}` : "";
    return answer?.json();
  }

  /** The answer, or null once it was said why there is none. */
  async function send(address, method, body, type, tell) {
    const headers = { "Content-Type": type, "X-CSRFToken": csrf };
    const answer = await fetch(address, { method, headers, body }).catch(() => null);
    if (answer?.ok) return answer;
    if (answer?.status === 401) location.reload();
    const problem = await answer?.json().catch(() => ({}));
    tell(problem?.detail || (answer ? `The server answered ${answer.status}.` : LOST));
    return null;
  }

  return {
    settled: (call) => WRITERS.has(call.tool) && call.status === "success" && show(),
    conversation: show,
    upload: put,
  };
}
