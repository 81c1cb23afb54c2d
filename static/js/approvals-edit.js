// What an approver is changing in the arguments, while they type.

import { element } from "./dom.js";
import { visible } from "./text.js";

const NEAR = 120;

/** Show below the text box how its text differs from the requested arguments. */
export function preview(edit) {
  const box = edit.querySelector("textarea");
  const shown = edit.querySelector(".preview");
  let after;
  try {
    after = JSON.parse(box.value);
  } catch (error) {
    shown.replaceChildren(element("p", { "class": "note" }, `Not valid JSON yet: ${error.message}`));
    return;
  }
  const changes = diff(JSON.parse(box.defaultValue), after);
  if (!changes.length) shown.replaceChildren(element("p", { "class": "note" }, "Nothing is changed so far."));
  else {
    const words = changes.length === 1 ? "this change" : `these ${changes.length} changes`;
    const list = element("dl", { "class": "changes" }, ...changes.map(drawn));
    shown.replaceChildren(element("p", { "class": "note" }, `Approved now, the call would run with ${words}:`), list);
  }
}

/** The changes from one JSON value to another, as the server records them: {op, path, before?, after?}. */
export function diff(before, after, path = "") {
  if (isObject(before) && isObject(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
      const at = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (!Object.hasOwn(after, name)) return [{ op: "remove", path: at, before: before[name] }];
      if (!Object.hasOwn(before, name)) return [{ op: "add", path: at, after: after[name] }];
      return diff(before[name], after[name], at);
    });
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: "replace", path, before, after }];
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const SAID = { add: "added", remove: "removed", replace: "changed" };

function drawn({ op, path, before, after }) {
  const text = element("pre", { "dir": "auto", "tabindex": "0" });
  if (typeof before === "string" && typeof after === "string") {
    const [start, end] = same(before, after);
    const middle = (value) => value.slice(start, value.length - end);
    const [from, rest] = [before.slice(0, start), before.slice(before.length - end)];
    text.append(start > NEAR ? `…${spelled(from.slice(-NEAR))}` : spelled(from));
    text.append(element("del", {}, spelled(middle(before))), element("ins", {}, spelled(middle(after))));
    text.append(end > NEAR ? `${spelled(rest.slice(0, NEAR))}…` : spelled(rest));
  } else {
    if (op !== "add") text.append(element("del", {}, value(before)));
    if (op !== "remove") text.append(element("ins", {}, value(after)));
  }
  const name = element("code", {}, spelled(path.slice(1) || "all"));
  return element("div", {}, element("dt", {}, name, ` ${SAID[op]}`), element("dd", {}, text));
}

function value(given) {
  return spelled(typeof given === "string" ? given : JSON.stringify(given, null, 2));
}

function spelled(text) {
  return visible(text.replace(/\s{13,}/g, (run) => `‹${run.length} blanks›`));
}

// How much two texts share at their starts, and at their ends beyond that, in whole words.
function same(before, after) {
  const least = Math.min(before.length, after.length);
  let start = 0;
  while (start < least && before[start] === after[start]) start += 1;
  while (start > 0 && !/\s/.test(before[start - 1])) start -= 1;
  let end = 0;
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  while (end > 0 && !/\s/.test(before.at(-end))) end -= 1;
  return [start, end];
}
