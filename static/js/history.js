// After older calls were loaded, the keyboard goes on where they begin.

let pressed = null;

document.addEventListener("htmx:beforeRequest", (event) => {
  const link = event.detail.elt.closest("a.more");
  pressed = link === document.activeElement ? link?.closest("li").previousElementSibling : null;
});

document.addEventListener("htmx:afterSettle", () => {
  pressed?.nextElementSibling?.querySelector("a")?.focus();
  pressed = null;
});

// Only what was chosen stands in the address.
document.addEventListener("htmx:configRequest", (event) => {
  const { parameters } = event.detail;
  for (const [name, value] of [...parameters.entries()]) if (value === "") parameters.delete(name);
});

// A session that has ended answers with the log-in page, which belongs in the window and not in the list.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.responseURL.includes("/accounts/login/")) {
    event.detail.shouldSwap = false;
    location.reload();
  }
});

document.addEventListener("htmx:sendError", () => showTrouble("The list could not be loaded: there is no connection."));
document.addEventListener("htmx:responseError", () => showTrouble("The list could not be loaded. Try again in a moment."));

function showTrouble(words) {
  const notice = document.querySelector("#trouble");
  notice.querySelector("span").textContent = words;
  notice.hidden = false;
}

document.addEventListener("htmx:afterSwap", () => {
  document.querySelector("#trouble").hidden = true;
});
