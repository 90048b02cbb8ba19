/* What makes pages alive. Everything works without it, by plain forms.

   data-live="URL" data-into="ID"   a form (or a control's form) whose answer replaces #ID as one types
   data-submit                      a control that sends its form when it is changed
   data-watch="URL"                 a part that asks for itself again until it is over (data-over)
   data-copy                        a button that copies the text of the <pre><code> beside it
   data-shows="ID"                  a range or number whose value is told in #ID

   Parts that come later are made alive by arrive(part). */
const workbench = (() => {
  const WAIT = 150, POLL = 500;
  const said = (words) => { const place = document.getElementById("said"); if (place) place.textContent = words; };
  const csrf = () => document.querySelector('meta[name="csrf"]')?.content ?? "";
  const asking = new Map(); /* place: what is being asked for it */
  const timers = new Map();

  let plotly = null;
  const withPlotly = () => plotly ??= new Promise((done, failed) => {
    if (window.Plotly) return done();
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.addEventListener("load", () => done());
    script.addEventListener("error", failed);
    document.head.append(script);
  });

  const ask = async (address, options, place) => {
    asking.get(place)?.abort();
    const stop = new AbortController();
    asking.set(place, stop);
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, {
        ...options, signal: stop.signal, credentials: "same-origin",
        headers: { ...options?.headers, "X-Live": "yes", "X-CSRF": csrf() },
      });
      const text = await answer.text();
      if (asking.get(place) !== stop) return null;
      if (answer.status === 403) { said("This browser is no longer let in; start sfumato serve again for a new address."); return null; }
      return text;
    } catch (error) {
      if (error.name !== "AbortError") said("The workbench does not answer; is it still running?");
      return null;
    } finally {
      if (asking.get(place) === stop) { asking.delete(place); place.removeAttribute("aria-busy"); }
    }
  };

  /* Puts HTML of ours in a place, keeps what was focused and open there. */
  const put = (place, html) => {
    const active = document.activeElement;
    const focused = place.contains(active) ? { id: active.id, name: active.name } : null;
    const open = [...place.querySelectorAll("details")].map((one) => one.open);
    place.innerHTML = html;
    [...place.querySelectorAll("details")].forEach((one, at) => { if (open[at]) one.open = true; });
    if (focused) {
      const again = focused.id ? document.getElementById(focused.id)
        : focused.name ? place.querySelector(`[name="${CSS.escape(focused.name)}"]`) : place.querySelector("button, a, input");
      (again ?? place).focus?.({ preventScroll: true });
    }
    arrive(place);
    place.dispatchEvent(new CustomEvent("arrived", { bubbles: true }));
  };

  const sendLive = async (form) => {
    const place = document.getElementById(form.dataset.into);
    if (!place) return;
    const fields = new URLSearchParams(new FormData(form));
    const get = (form.dataset.method ?? form.method) === "get";
    const address = get ? `${form.dataset.live}?${fields}` : form.dataset.live;
    const html = await ask(address, get ? {} : { method: "POST", body: fields }, place);
    if (html !== null) put(place, html);
  };
  const soon = (form) => {
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => sendLive(form), WAIT));
  };

  const watch = (part) => {
    const place = part.parentElement;
    setTimeout(async () => {
      if (!part.isConnected) return;
      const html = await ask(part.dataset.watch, {}, place);
      if (html === null) { if (part.isConnected) setTimeout(() => watch(part), 3 * POLL); return; }
      put(place, html);
      const over = place.querySelector("[data-over]");
      if (over) { said(over.textContent.trim()); location.assign(over.dataset.over); }
    }, POLL);
  };

  const arrive = (root) => {
    sortTables(root);
    markWide(root);
    if (root.querySelector(".chart[data-chart]:not([data-drawn])")) withPlotly().then(() => drawCharts(root));
    const all = (selector) => [...root.querySelectorAll(selector)];
    for (const form of all("form[data-live]")) {
      if (form.dataset.alive) continue;
      form.dataset.alive = "yes";
      const place = document.getElementById(form.dataset.into);
      if (place && !place.hasAttribute("aria-live")) place.setAttribute("aria-live", "polite");
      form.addEventListener("input", () => soon(form));
      form.addEventListener("change", () => soon(form));
    }
    for (const control of all("[data-submit]")) control.addEventListener("change", () => control.form.requestSubmit());
    for (const control of all("[data-shows]")) {
      const show = () => { const place = document.getElementById(control.dataset.shows); if (place) place.textContent = control.value; };
      control.addEventListener("input", show);
      show();
    }
    for (const button of all("[data-copy]")) button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("pre code")?.textContent ?? "";
      try { await navigator.clipboard.writeText(text); said("Copied."); }
      catch { getSelection().selectAllChildren(button.parentElement.querySelector("pre code")); said("Press Ctrl-C to copy."); }
    });
    for (const part of all("[data-watch]")) watch(part);
  };

  document.addEventListener("submit", (event) => { /* once is enough */
    const button = event.submitter;
    if (button && !event.defaultPrevented) setTimeout(() => { button.disabled = true; }, 0);
  });
  addEventListener("pageshow", () => { for (const one of document.querySelectorAll("button:disabled:not([data-off])")) one.disabled = false; });
  arrive(document);
  return { arrive, ask, put, said, csrf, soon };
})();
