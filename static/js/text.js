// A model's text as elements: paragraphs, lists, tables, code and bare links, and nothing else. Images are never loaded.

import { element } from "./dom.js";
import { cells, sides } from "./tables.js";

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const PICTURE = /\p{Extended_Pictographic}\ufe0f?$/u;
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const ITEM = /^\s{0,3}(?:[-*+•]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;
const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|(https?:\/\/[^\s<>"'`)\]]+)/g;

/** The text with each control, bidi or zero-width character spelled out, as in ‹U+202E›. */
export function visible(text) {
  return text.replace(UNSEEN, (char, at) => {
    if (char === "\n" || char === "\t") return char;
    // Between two emoji a joiner draws one picture, and hides nothing.
    if (char === "\u200d" && PICTURE.test(text.slice(Math.max(0, at - 3), at))) return char;
    return `‹U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

/** Draws growing text into one element, touching only the blocks that changed. */
export class Prose {
  #drawn = [];
  text = "";

  constructor() {
    this.element = element("div", { "class": "prose", "dir": "auto" });
  }

  show(text) {
    this.text = text;
    const wanted = blocks(text);
    let same = 0;
    while (same < wanted.length && same < this.#drawn.length && wanted[same].source === this.#drawn[same]) same += 1;
    while (this.element.children.length > same) this.element.lastElementChild.remove();
    this.element.append(...wanted.slice(same).map(draw));
    this.#drawn = wanted.map((block) => block.source);
  }
}

/** The blocks of a text: {kind: "code" | "list" | "table" | "heading" | "words", lines, ordered?, start?, sides?, source}. */
export function blocks(text) {
  const found = [];
  let open = null;
  const begin = (block) => found.push((open = { lines: [], ...block }));
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  for (const [at, line] of lines.entries()) {
    const fence = FENCE.exec(line);
    if (open?.kind === "code") {
      if (fence && fence[1].startsWith(open.fence) && !fence[2]) open = null;
      else open.lines.push(line);
      continue;
    }
    if (open?.kind === "table" && line.includes("|")) {
      // The line below the head defines the columns, and is no row.
      if (open.ruled) open.lines.push(line);
      open.ruled = true;
      continue;
    }
    const columns = open?.kind !== "list" && sides(line, lines[at + 1]);
    const item = ITEM.exec(line);
    const heading = HEADING.exec(line);
    if (fence) begin({ kind: "code", fence: fence[1] });
    else if (line.trim() === "") open = open?.kind === "list" ? open : null;
    else if (columns) begin({ kind: "table", lines: [line], sides: columns });
    else if (heading) {
      begin({ kind: "heading", lines: [heading[1]] });
      open = null;
    } else if (item) {
      const ordered = item[1] !== undefined;
      if (open?.kind !== "list" || open.ordered !== ordered) begin({ kind: "list", ordered, start: item[1] });
      open.lines.push(item[2]);
    } else if (open?.kind === "list" && /^\s/.test(line)) open.lines[open.lines.length - 1] += `\n${line.trim()}`;
    else {
      if (open?.kind !== "words") begin({ kind: "words" });
      open.lines.push(line);
    }
  }
  for (const block of found) block.source = `${block.kind}${block.start ?? ""}${block.sides ?? ""}\n${block.lines.join("\n\n")}`;
  return found;
}

function draw(block) {
  if (block.kind === "code") {
    return element("pre", { "tabindex": "0", "dir": "ltr" }, element("code", {}, block.lines.join("\n")));
  }
  if (block.kind === "table") return table(block);
  if (block.kind === "list") {
    const list = element(block.ordered ? "ol" : "ul");
    if (block.ordered && block.start !== "1") list.setAttribute("start", block.start);
    list.append(...block.lines.map((line) => element("li", { dir: "auto" }, ...inline(line))));
    return list;
  }
  const kind = block.kind === "heading" ? "heading" : "words";
  return element("p", { "class": kind, "dir": "auto" }, ...inline(block.lines.join("\n")));
}

function table({ lines: [head, ...rows], sides: found }) {
  const line = (tag, text) => {
    const given = cells(text);
    return element("tr", {}, ...found.map((side, at) => cell(tag, side, given[at] ?? "")));
  };
  const drawn = element("table", {}, element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map((each) => line("td", each))));
  // Wider than the thread, it scrolls in a box of its own, by keyboard too.
  return element("section", { "class": "wide", "tabindex": "0" }, drawn);
}

function cell(tag, side, text) {
  const made = element(tag, { "dir": "auto", ...(side && { "data-side": side }) }, ...inline(text));
  if (tag === "th") made.setAttribute("scope", "col");
  return made;
}

function inline(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, address] = match;
    parts.push(text.slice(from, match.index));
    if (code !== undefined) parts.push(element("code", {}, code));
    else if (strong !== undefined) parts.push(element("strong", {}, strong));
    else parts.push(...link(address));
    from = match.index + whole.length;
  }
  parts.push(text.slice(from));
  return parts;
}

// A link says where it leads: its text is its address, in ASCII when the host's name only looks familiar.
function link(raw) {
  const end = /[.,;:!?*_]+$/.exec(raw)?.[0] ?? "";
  const address = end ? raw.slice(0, -end.length) : raw;
  let parsed;
  try {
    parsed = new URL(address);
  } catch {
    return [raw];
  }
  if (parsed.username || parsed.password) return [visible(raw)];
  const shown = parsed.hostname.includes("xn--") ? parsed.href : visible(address);
  const attributes = { "href": parsed.href, "rel": "noopener noreferrer nofollow", "target": "_blank", "dir": "ltr" };
  return [element("a", attributes, shown), end];
}
