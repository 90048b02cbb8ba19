/* Step Data. Everything works without it, by plain forms.

   data-auto          a form that sends itself once the page stands
   data-load="URL"    a part that is asked for once, when the page stands
   data-send          a form whose answer replaces #hierarchy
   data-filters="ID"  a search box that hides the items of #ID in which its text does not stand
   data-pick          something of a tree that may be dragged: "level|name"
   data-group         a group of a tree into which what is one level below may be dropped
   data-widths        a slider over these widths; it writes them into the field of widths */
(() => {
  const KIND = "application/x-sfumato-tree";
  let dragged = null; /* what is being dragged: browsers hide it until it is dropped */

  const place = () => document.getElementById("hierarchy");
  const send = async (form, button) => {
    const fields = new URLSearchParams(new FormData(form));
    if (button?.name) fields.append(button.name, button.value);
    const open = [...place().querySelectorAll("li.group > details[open]")].map((one) => one.parentElement.dataset.pick);
    const closed = [...place().querySelectorAll("li.group > details:not([open])")].map((one) => one.parentElement.dataset.pick);
    const query = document.getElementById("tree-search")?.value ?? "";
    const html = await workbench.ask(form.action, { method: "POST", body: fields }, place());
    if (html === null) return;
    workbench.put(place(), html);
    for (const group of place().querySelectorAll("li.group")) {
      const inner = group.querySelector("details");
      if (open.includes(group.dataset.pick)) inner.open = true;
      if (closed.includes(group.dataset.pick)) inner.open = false;
    }
    const search = document.getElementById("tree-search");
    if (query && search) { search.value = query; workbench.soon(search.form); }
    const failed = place().querySelector('[role="alert"]');
    workbench.said(failed ? failed.textContent : "Saved.");
    setTimeout(() => workbench.said(""), 5000);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-send]")) return;
    event.preventDefault();
    send(form, event.submitter);
  });

  /* -- a tree: choose, or drag and drop -- */

  const chosen = () => [...document.querySelectorAll('input[name="pick"]:checked')];
  const tell = () => {
    const many = document.getElementById("picked");
    if (!many) return;
    const picks = chosen().map((one) => one.value);
    many.textContent = picks.length;
    const levels = new Set(picks.map((pick) => Number(pick.split("|", 1)[0])));
    const level = levels.size === 1 ? [...levels][0] + 1 : null;
    for (const group of document.querySelectorAll("#into optgroup")) group.disabled = level !== null && Number(group.dataset.level) !== level;
    const form = document.getElementById("tree-form");
    const alone = picks.length === 1 && levels.has(0) === false;
    for (const button of form.querySelectorAll("button")) {
      const off = button.value === "move" ? picks.length === 0 || levels.size > 1 : !alone;
      button.toggleAttribute("data-off", off);
      button.setAttribute("aria-disabled", off);
    }
  };
  document.addEventListener("change", (event) => { if (event.target.name === "pick") tell(); });
  document.addEventListener("arrived", tell);

  const level = (pick) => Number(pick.split("|", 1)[0]);
  const target = (event) => {
    if (!dragged) return null;
    /* A value that is dropped on an upper group, or on a value, is meant for the group around it. */
    const group = event.target.closest?.("li.group[data-group]");
    for (let one = group; one; one = one.parentElement.closest("li.group[data-group]")) {
      if (Number(one.dataset.level) === level(dragged) + 1) return one;
    }
    return null;
  };
  const light = (group) => {
    for (const one of document.querySelectorAll(".drop")) if (one !== group) one.classList.remove("drop");
    group?.classList.add("drop");
  };
  document.addEventListener("dragstart", (event) => {
    const item = event.target.closest?.("[data-pick][draggable]");
    if (!item) return;
    event.stopPropagation();
    dragged = item.dataset.pick;
    event.dataTransfer.setData(KIND, dragged);
    event.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragover", (event) => {
    const group = target(event);
    light(group);
    if (group) { event.preventDefault(); event.dataTransfer.dropEffect = "move"; }
  });
  document.addEventListener("dragend", () => { dragged = null; light(null); });
  document.addEventListener("drop", (event) => {
    const group = target(event);
    if (!group) return;
    event.preventDefault();
    const form = document.getElementById("tree-form");
    const picks = chosen().map((one) => one.value);
    /* Whoever drags one of several chosen means all of them. */
    if (!picks.includes(dragged)) {
      for (const one of chosen()) one.checked = false;
      const box = [...document.querySelectorAll('input[name="pick"]')].find((one) => one.value === dragged);
      if (box) box.checked = true;
    }
    document.getElementById("new-name").value = group.dataset.group;
    dragged = null;
    light(null);
    send(form, { name: "what", value: "move" });
  });

  /* -- ranges -- */

  const dust = (number) => String(Number(number.toPrecision(10)));
  const writeWidths = () => {
    const slider = document.getElementById("finest");
    const field = document.getElementById("widths");
    const widths = slider.dataset.widths.split(",").map(Number);
    const steps = Number(document.getElementById("steps").value);
    const finest = widths[Number(slider.value)];
    field.value = Array.from({ length: steps }, (_, nth) => dust(finest * 2 ** nth)).join(", ");
    document.getElementById("finest-width").textContent = dust(finest);
    slider.setAttribute("aria-valuetext", `ranges of ${dust(finest)}`);
    const cuts = field.form.querySelector('[name="cuts"]');
    if (cuts) cuts.value = "";
  };
  const readWidths = () => {
    const slider = document.getElementById("finest");
    if (!slider) return;
    const widths = slider.dataset.widths.split(",").map(Number);
    const said = document.getElementById("widths").value.split(",").map(Number).filter((one) => one > 0);
    const finest = said[0] ?? widths[Math.floor(widths.length / 2)];
    const near = widths.reduce((best, one, nth) => Math.abs(Math.log(one / finest)) < Math.abs(Math.log(widths[best] / finest)) ? nth : best, 0);
    slider.value = near;
    const steps = document.getElementById("steps");
    steps.value = Math.max(1, said.length);
    document.getElementById("steps-shown").textContent = steps.value;
    document.getElementById("finest-width").textContent = said.length ? dust(finest) : "";
    slider.setAttribute("aria-valuetext", `ranges of ${dust(finest)}`);
  };
  /* Before the form hears of it, so that it sends what the slider says. */
  document.addEventListener("input", (event) => {
    if (event.target.id === "finest" || event.target.id === "steps") writeWidths();
    else if (event.target.id === "widths") readWidths();
    const list = event.target.dataset?.filters;
    if (list) {
      const text = event.target.value.toLowerCase();
      for (const item of document.getElementById(list).children) item.hidden = !item.textContent.toLowerCase().includes(text);
    }
  }, true);
  document.addEventListener("arrived", readWidths);

  /* -- what the page does by itself -- */

  for (const button of document.querySelectorAll(".without-script")) button.hidden = true;
  document.addEventListener("arrived", () => { for (const one of document.querySelectorAll(".without-script")) one.hidden = true; });
  readWidths();
  tell();
  const later = document.querySelector("[data-load]");
  if (later) workbench.ask(later.dataset.load, {}, later).then((html) => { if (html !== null) workbench.put(later, html); });
  const auto = document.querySelector("form[data-auto]");
  if (auto) {
    auto.querySelector("[data-busy]").hidden = false;
    auto.requestSubmit();
  }
})();
