// Pictures and PDFs beside a message: those that the next message takes along, and those that one has taken.

import { element, icon } from "./dom.js";

const MOST = 10;

/** True for what models are shown. */
export const isShown = (type) => /^image\/(png|jpeg|gif|webp)$/.test(type) || type === "application/pdf";

/**
 * Wire the composer's button and list. `upload` puts chosen files into the conversation and answers those as the API
 * describes them, or null. `say` is told what went wrong. Returns `files`, what the next message takes along, `set`
 * and `add`.
 */
export function wireAttach({ upload, say }) {
  const [button, chooser, list] = ["attach", "attach-files", "attached"].map((id) => document.getElementById(id));
  let files = [];

  button.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", async () => {
    const chosen = [...chooser.files];
    chooser.value = "";
    if (!chosen.length) return;
    button.disabled = true;
    const uploaded = await upload(chosen, say);
    button.disabled = false;
    for (const file of uploaded ?? []) add(file);
  });

  function set(wanted) {
    files = wanted;
    list.replaceChildren(...files.map(chip));
    list.hidden = !files.length;
  }

  function add(file) {
    if (!isShown(file.media_type)) say(`${file.path} is neither a picture (PNG, JPEG, GIF, WebP) nor a PDF; it is among the files.`);
    else if (files.length >= MOST) say(`A message takes up to ${MOST} files along.`);
    else set([...files.filter((each) => each.path !== file.path), file]);
  }

  function chip(file) {
    const away = element("button", { "class": "away", "type": "button", "aria-label": `Do not attach ${file.path}` }, icon("cross"));
    away.addEventListener("click", () => {
      set(files.filter((each) => each !== file));
      (list.querySelector("button") ?? button).focus();
    });
    return element("li", {}, icon("file"), element("span", { "dir": "auto" }, file.path), away);
  }

  return { files: () => files, set, add };
}

/** What a message has taken along: pictures small, PDFs by name, each leading to its file. */
export function attachedTo(conversation, files) {
  const at = `/conversations/${encodeURIComponent(conversation)}/files/`;
  const content = (file) => `/api/v1${at}${encodeURIComponent(file.file_id)}/content/?version=${file.version}`;
  return element("ul", { "class": "taken", "aria-label": "Attached files" }, ...files.map((file) => {
    const link = element("a", { "href": `${at}${encodeURIComponent(file.file_id)}/` });
    const named = () => link.replaceChildren(icon("file"), element("span", { "dir": "auto" }, file.path));
    if (file.media_type === "application/pdf") named();
    else {
      const picture = element("img", { "src": content(file), "alt": file.path, "loading": "lazy" });
      // One that was deleted since.
      picture.addEventListener("error", named);
      link.append(picture);
    }
    return element("li", {}, link);
  }));
}
