// A WebSocket to this host that connects again by itself, ever more slowly.

const PAUSES = [500, 1000, 2000, 5000, 10_000, 30_000];

/** Connects to `path`, for ever: `onMessage` gets each message, `onClose` each close's code.
 * Returns what says that the connection is good: the next pause is a short one again. */
export function listen(path, { onMessage, onClose }) {
  let failures = 0;

  function connect() {
    const socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}${path}`);
    socket.addEventListener("message", ({ data }) => onMessage(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => {
      onClose(code);
      setTimeout(connect, PAUSES[Math.min(failures, PAUSES.length - 1)]);
      failures += 1;
    });
  }

  connect();
  return () => {
    failures = 0;
  };
}
