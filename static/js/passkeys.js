// Making and using passkeys: what the browser answers goes into the form, which is sent as any other.

const FAILED = "Your browser did not answer. Try again, or use another way to log in.";
const NEVER = "This browser has no passkeys. Another one may, or use another way to log in.";

const bytes = (text) => {
  const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(packed, (each) => each.charCodeAt(0));
};
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const named = (list = []) => list.map((each) => ({ ...each, id: bytes(each.id) }));

async function made() {
  const options = JSON.parse(document.getElementById("passkey-options").textContent).publicKey;
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: named(options.excludeCredentials),
    },
  });
  const { clientDataJSON, attestationObject } = credential.response;
  return answer(credential, { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject) });
}

async function used(form) {
  const body = new URLSearchParams({ csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value });
  const response = await fetch(form.dataset.challenge, { method: "POST", body });
  if (!response.ok) throw new Error(String(response.status));
  const options = (await response.json()).publicKey;
  const credential = await navigator.credentials.get({
    publicKey: { ...options, challenge: bytes(options.challenge), allowCredentials: named(options.allowCredentials) },
  });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return answer(credential, {
    clientDataJSON: text(clientDataJSON),
    authenticatorData: text(authenticatorData),
    signature: text(signature),
    userHandle: userHandle ? text(userHandle) : null,
  });
}

const answer = (credential, response) => ({
  id: credential.id,
  rawId: text(credential.rawId),
  type: credential.type,
  response,
});

for (const form of document.querySelectorAll("[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = form.querySelector("[data-passkey-error]");
    const button = form.querySelector("button[type=submit]");
    error.hidden = true;
    button.disabled = true;
    try {
      if (!window.PublicKeyCredential) throw new TypeError(NEVER);
      const found = form.dataset.passkey === "add" ? await made() : await used(form);
      form.elements.answer.value = JSON.stringify(found);
      form.submit();
    } catch (failure) {
      error.textContent = failure instanceof TypeError && !window.PublicKeyCredential ? NEVER : FAILED;
      error.hidden = false;
      button.disabled = false;
    }
  });
}
