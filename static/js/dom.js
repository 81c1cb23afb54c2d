// Making elements without ever parsing text as HTML.

const ICONS = new URL("../img/icons.svg", import.meta.url).pathname;
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings among the children become text. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** An icon of the sprite. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${ICONS}#${name}`);
  svg.append(use);
  return svg;
}

/** A notice: tone "bad", "wait" or "calm", a title, and what else there is to say. */
export function notice(tone, title, ...rest) {
  const symbol = tone === "bad" ? "alert" : "wait";
  return element("div", { "class": "notice", "data-tone": tone }, icon(symbol), element("div", {}, element("strong", {}, title), ...rest));
}
