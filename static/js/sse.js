// Server-Sent Events out of a response's bytes, wherever its chunks are cut.

const LINE_END = /\r\n|\n|\r/g;

/** Thrown when nothing came for longer than the server's keep-alive allows. */
export class Silence extends Error {}

/** Yields {id, event, data} for each event of `body`; `id` is that of the last event that had one. */
export async function* events(body, { silentFor = 35_000 } = {}) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new Parser();
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silentFor);
      if (done) return;
      yield* parser.feed(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

export class Parser {
  #rest = "";
  #id = "";
  #event = "";
  #data = [];

  /** Yields the events that `text` completes. */
  *feed(text) {
    this.#rest += text;
    let from = 0;
    LINE_END.lastIndex = 0;
    for (let end; (end = LINE_END.exec(this.#rest)); from = LINE_END.lastIndex) {
      // A carriage return at the very end may be the first half of a pair.
      if (end[0] === "\r" && LINE_END.lastIndex === this.#rest.length) break;
      const event = this.#line(this.#rest.slice(from, end.index));
      if (event) yield event;
    }
    this.#rest = this.#rest.slice(from);
  }

  #line(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #dispatch() {
    const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
    const empty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    return empty ? null : event;
  }
}

async function within(promise, milliseconds) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Silence("the stream fell silent")), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
