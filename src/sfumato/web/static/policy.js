/* The step Policy: sliders set numbers, and form and text follow each other as one types.

   The answer of the server is parts with ids: each takes the place of the part with that id. */
(() => {
  const form = document.getElementById("policy-form");
  if (!form) return;
  const WAIT = 150;
  let timer = 0, changed = "form", redraw = false, everything = false;

  const nearest = (slider) => {
    const rungs = slider.dataset.rungs.split(" ").map(Number);
    const value = Number(document.getElementById(slider.dataset.sets)?.value);
    let best = 0;
    rungs.forEach((rung, at) => { if (Math.abs(Math.log((rung + 1e-9) / (value + 1e-9))) < Math.abs(Math.log((rungs[best] + 1e-9) / (value + 1e-9)))) best = at; });
    return Number.isFinite(value) ? best : 0;
  };
  const settle = (root) => {
    for (const slider of root.querySelectorAll("[data-rungs]")) {
      slider.value = nearest(slider);
      slider.setAttribute("aria-valuetext", document.getElementById(slider.dataset.sets)?.value ?? "");
    }
  };

  const send = async () => {
    const fields = new URLSearchParams(new FormData(form));
    fields.set("changed", changed);
    if (redraw || changed === "text") fields.set("redraw", "yes");
    if (everything) fields.set("everything", "yes");
    const place = document.getElementById("policy-cards");
    const html = await workbench.ask(form.dataset.policy, { method: "POST", body: fields }, place);
    if (html === null) return;
    redraw = everything = false;
    const parts = new DOMParser().parseFromString(html, "text/html");
    for (const part of parts.body.children) {
      const there = part.id && document.getElementById(part.id);
      if (!there) continue;
      if (part.tagName === "TEXTAREA") { there.value = part.value; continue; }
      if (there.innerHTML === part.innerHTML) continue; /* nothing new to be read out */
      there.className = part.className;
      workbench.put(there, part.innerHTML);
      settle(there);
    }
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(send, WAIT); };

  form.addEventListener("input", (event) => {
    const from = event.target;
    if (from.dataset.rungs) {
      const number = document.getElementById(from.dataset.sets);
      number.value = from.dataset.rungs.split(" ")[Number(from.value)];
      from.setAttribute("aria-valuetext", number.value);
    }
    if (from.id !== "judged-point") changed = from.id === "policy-text" ? "text" : "form";
    if ("redraws" in from.dataset) redraw = true;
    const slider = form.querySelector(`[data-sets="${CSS.escape(from.id || "-")}"]`);
    if (slider) { slider.value = nearest(slider); slider.setAttribute("aria-valuetext", from.value); }
    soon();
  });
  const all = form.querySelector("[data-judge-all]");
  all.hidden = false;
  all.addEventListener("click", () => { everything = true; send(); });
  settle(form);
})();
