/* The panels of adversaries: what a power of ten is, and answers that were not there in time. */
(() => {
  for (const slider of document.querySelectorAll("input[data-power]")) {
    const place = document.getElementById(slider.dataset.power);
    const endless = slider.form?.querySelector('[name="endless"]');
    const show = () => {
      const records = Math.round(10 ** Number(slider.value));
      place.textContent = endless?.checked ? "no end of them" : records.toLocaleString("en");
      slider.setAttribute("aria-valuetext", place.textContent);
      slider.disabled = Boolean(endless?.checked);
    };
    slider.addEventListener("input", show);
    endless?.addEventListener("change", show);
    show();
  }
  const answer = document.getElementById("answer");
  const form = document.querySelector("form[data-live]");
  if (answer?.querySelector("[data-pending]") && form) workbench.soon(form);
  /* The address says what is on the page, so that it can be kept and reloaded. */
  answer?.addEventListener("arrived", () => {
    document.getElementById("heard").textContent = answer.querySelector(".verdict, .warning")?.textContent ?? "";
    if (form) history.replaceState(null, "", `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
  });
})();
