// The arithmetic of a receipt, with the browser's own cryptography: commitments, the Merkle path, the signed note.

const utf8 = new TextEncoder();
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const ED25519 = 1;

/** SHA-256 of bytes, as bytes. */
export async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));
}

/** SHA-256 of a JSON value's canonical form (RFC 8785), in hex. */
export async function hashOf(value) {
  return hex(await sha256(utf8.encode(canonical(value))));
}

/** RFC 8785: what JSON.stringify writes, without blanks, its keys in order. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** HMAC-SHA-256 of a text under a key in hex, in hex. */
export async function commitment(key, text) {
  const secret = await crypto.subtle.importKey("raw", bytes(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", secret, utf8.encode(text))));
}

/** The root that a leaf's text and its inclusion proof (RFC 6962, hashes in hex) lead to, in hex; null when the proof
 * has not the length that index and size demand. */
export async function rootOf(leaf, index, size, hashes) {
  let hash = await sha256(LEAF, utf8.encode(leaf));
  let at = index;
  let last = size - 1;
  for (const each of hashes) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      hash = await sha256(NODE, bytes(each), hash);
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else {
      hash = await sha256(NODE, hash, bytes(each));
    }
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && index < size ? hex(hash) : null;
}

/** What a C2SP checkpoint note says: its origin, size and root (hex), the signed text and the signatures. */
export function opened(note) {
  const end = note.indexOf("\n\n");
  const text = note.slice(0, end + 1);
  const [origin, size, root] = text.split("\n");
  const signatures = note.slice(end + 2).split("\n").filter(Boolean).map((line) => {
    const [, name, blob] = line.split(" ");
    return { name, blob: fromBase64(blob) };
  });
  return { origin, size: Number(size), root: hex(fromBase64(root)), text, signatures };
}

/** Whether one of the keys, as `name+id+base64`, signed the note: its key, or null; undefined where the browser has no
 * Ed25519. */
export async function signer(note, keys) {
  for (const key of keys) {
    const [name, id, encoded] = split(key);
    const material = fromBase64(encoded);
    if (material[0] !== ED25519) continue;
    let known;
    try {
      known = await crypto.subtle.importKey("raw", material.slice(1), "Ed25519", false, ["verify"]);
    } catch {
      return undefined;
    }
    for (const { name: by, blob } of note.signatures) {
      if (by !== name || hex(blob.slice(0, 4)) !== id) continue;
      if (await crypto.subtle.verify("Ed25519", known, blob.slice(4), utf8.encode(note.text))) return key;
    }
  }
  return null;
}

// The last part is base64 and may have a + of its own.
function split(key) {
  const [name, id, ...rest] = key.split("+");
  return [name, id, rest.join("+")];
}

function bytes(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function hex(given) {
  return [...given].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
