// The Verify button of a receipt: checks it here, step by step, and asks nothing of the server but the rows and keys.

import { element, icon } from "./dom.js";
import { commitment, hashOf, opened, rootOf, signer } from "./ledger.js";

const YES = "good";
const NO = "bad";
const UNKNOWN = "wait";
const ICONS = { [YES]: "check", [NO]: "cross", [UNKNOWN]: "wait" };

/** Bring every Verify button below `root` to life, also those that come later. */
export function verifying(root) {
  root.addEventListener("click", async ({ target }) => {
    const button = target.closest?.("[data-verify]");
    if (!button) return;
    const receipt = button.closest("[data-receipt]");
    button.disabled = true;
    try {
      show(receipt, await verify(receipt.dataset));
    } catch (error) {
      show(receipt, [step(UNKNOWN, "The receipt could not be checked", String(error.message ?? error))]);
    }
    button.disabled = false;
    button.focus();
  });
}

/** The steps of checking a receipt, each with a tone, what was found, and more about it. */
async function verify({ receipt: address, call: callAddress }) {
  if (!globalThis.crypto?.subtle) throw new Error("This page is not served over HTTPS, so the browser lends no cryptography. Download the receipt and check it with docs/verify.py.");
  const [receipt, call, keys] = await Promise.all([address, callAddress, "/api/v1/ledger/keys"].map(fetched));
  const steps = [];
  if (receipt.erased) {
    steps.push(step(YES, "The payload was erased", "What remains is the proof that these entries are in the log."));
  } else {
    steps.push(...await ofValues(receipt, call), await ofStatements(receipt));
  }
  return [...steps, ...await ofLog(receipt, keys)];
}

async function fetched(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return response.json();
}

async function ofValues(receipt, call) {
  const steps = [];
  if (receipt.params_hash && call.input !== null) {
    const same = await hashOf(call.input) === receipt.params_hash;
    steps.push(step(same ? YES : NO, same ? "The arguments are those of the receipt" : "The arguments are others than the receipt’s"));
  }
  const cut = call.output !== null && typeof call.output === "object" && call.output.truncated === true;
  if (receipt.output_hash && !cut) {
    const same = await hashOf(call.output) === receipt.output_hash;
    steps.push(step(same ? YES : NO, same ? "The output is that of the receipt" : "The output is another than the receipt’s"));
  }
  return steps;
}

/** Each entry of the ledger commits to what the receipt says that it states, and that is what the receipt says. */
async function ofStatements(receipt) {
  for (const entry of receipt.entries) {
    const said = `The entry “${entry.kind}”`;
    if (!entry.statement || !entry.leaf) return step(UNKNOWN, `${said} comes without its statement`);
    if (await commitment(receipt.commitment_key, entry.statement) !== JSON.parse(entry.leaf).commitment) {
      return step(NO, `${said} commits to something else`);
    }
    const stated = JSON.parse(entry.statement);
    for (const name of ["params_hash", "output_hash", "status"]) {
      if (name in stated && entry.kind !== "decided" && stated[name] !== receipt[name]) {
        return step(NO, `${said} states another ${name}`);
      }
    }
  }
  return step(YES, "The ledger’s entries state what the receipt says", `${receipt.entries.length} entries`);
}

async function ofLog(receipt, keys) {
  const proof = receipt.inclusion_proof;
  if (!proof) return [step(UNKNOWN, "It is not sealed yet", "Try again in a few seconds.")];
  const note = opened(proof.checkpoint);
  const leaves = new Set(receipt.entries.map(({ leaf }) => leaf));
  const steps = [];
  let within = proof.proofs.length === receipt.entries.length;
  for (const { leaf_index, leaf, hashes } of proof.proofs) {
    const placed = leaves.has(leaf) && JSON.parse(leaf).index === leaf_index;
    within &&= placed && await rootOf(leaf, leaf_index, note.size, hashes) === note.root;
  }
  const places = proof.proofs.map(({ leaf_index }) => leaf_index).join(", ");
  steps.push(within
    ? step(YES, "Its entries are in the log", `Entries ${places} of ${note.size}`)
    : step(NO, "Its entries are not in the log that was signed"));
  const key = await signer(note, vkeys(keys));
  if (key === undefined) {
    steps.push(step(UNKNOWN, "This browser cannot check the signature", "Download the receipt and check it with docs/verify.py."));
  } else if (key === null) {
    steps.push(step(NO, "The log’s head is not signed by a key of this server"));
  } else {
    steps.push(step(YES, "The log’s head is signed", `By the key ${key}. Compare it with the one that you were given.`));
  }
  return steps;
}

/** The keys in the server's answer, which has them in a list or under "keys". */
function vkeys(answer) {
  return (answer.keys ?? answer.results ?? answer).map((each) => each.vkey ?? each);
}

function step(tone, words, more = "") {
  return { tone, words, more };
}

function show(receipt, steps) {
  const items = steps.map(({ tone, words, more }) =>
    element("li", { "data-tone": tone }, icon(ICONS[tone]), element("strong", {}, words), ...(more ? [element("p", { class: "note" }, more)] : [])));
  const failed = steps.some(({ tone }) => tone === NO);
  const unknown = steps.some(({ tone }) => tone === UNKNOWN);
  const verdict = failed ? "This receipt is wrong." : unknown ? "This receipt is right as far as it could be checked." : "This receipt is right.";
  receipt.querySelector("[data-result]").replaceChildren(
    element("p", { class: "verdict", "data-tone": failed ? NO : unknown ? UNKNOWN : YES }, verdict),
    element("ul", { class: "gates proof" }, ...items),
  );
}
