// The pipes of a Markdown table: which lines begin one, and what a row's cells are.

const RULE = /^:?-+:?$/;
// More columns than anybody reads are left as the text that they are.
const MOST = 40;

/** The cells of a row, as text; a pipe after a backslash is part of its cell. */
export function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/**
 * How the columns of a table are aligned whose head is `line` and whose rule is `below`: "left", "right", "center" or "".
 * Null when the two do not begin a table: their columns must be as many.
 */
export function sides(line, below) {
  if (below === undefined || !line.includes("|") || !below.includes("-") || !/[|:]/.test(below)) return null;
  const rules = cells(below);
  if (rules.length > MOST || !rules.every((rule) => RULE.test(rule)) || cells(line).length !== rules.length) return null;
  return rules.map((rule) => {
    const [start, end] = [rule.startsWith(":"), rule.endsWith(":")];
    return start && end ? "center" : end ? "right" : start ? "left" : "";
  });
}
