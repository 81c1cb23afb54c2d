// Conveniences on the pages of services: finding operations in a long list. Everything works without them.

const filter = document.querySelector("[data-filter]");
const choices = [...document.querySelectorAll("[data-choices] > li")];

if (filter && choices.length > 12) {
  const texts = choices.map((each) => each.textContent.toLowerCase());
  filter.hidden = false;
  const input = filter.querySelector("input");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    choices.forEach((each, index) => {
      each.hidden = !words.every((word) => texts[index].includes(word)) && !each.querySelector("input").checked;
    });
  });
  input.addEventListener("keydown", (event) => {
    // Enter would send the form.
    if (event.key === "Enter") event.preventDefault();
  });
}
