// Keeps the number of unread entries in the bar as it is, over a WebSocket.

import { listen } from "./socket.js";

const badge = document.getElementById("unread");
const link = document.getElementById("inbox-link");

function show({ count, more }) {
  const before = Number(badge.dataset.count);
  badge.dataset.count = count;
  badge.hidden = !count;
  badge.textContent = more ? `${count}+` : `${count}`;
  link.setAttribute("aria-label", count ? `Inbox, ${badge.textContent} unread` : "Inbox");
  const fresh = document.getElementById("inbox-new");
  if (fresh && count > before) fresh.hidden = false;
}

if (badge) {
  const good = listen("/ws/inbox/", {
    onMessage(message) {
      good();
      if (message.type === "unread") show(message);
    },
    onClose() {},
  });
}
