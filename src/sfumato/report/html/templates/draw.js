/* Charts one after the other, so that the page can be used meanwhile; those in space when they are
   asked for. On paper charts are as wide as it is. A part of a page that comes later is drawn by
   another call. */
const drawCharts = (() => {
  const waiting = new Set();
  const flat = [];
  let paper = false;
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");
  const inSpace = (place) => place.closest("details.in-space");
  const told = (place) => JSON.parse(document.getElementById(place.dataset.chart).textContent);
  const narrow = (place) => place.clientWidth < 640;
  const fitted = (place, chart) => {
    for (const trace of chart.data) {
      if (trace.type === "scatter3d" && dark.matches) trace.marker.color = trace.meta.dark;
      if (trace.meta?.narrow && narrow(place)) Object.assign(trace, trace.meta.narrow);
    }
    if (narrow(place)) {
      Object.assign(chart.layout, chart.layout.meta?.narrow);
      for (const axis of [chart.layout.xaxis, chart.layout.yaxis]) if (axis) {
        /* A margin that does not grow has room for one line beside the numbers. */
        if (axis === chart.layout.xaxis || axis.automargin) {
          axis.title.text = axis.title.text.replace(/^(.{15,28}) (?=.{12})/, "$1<br>");
        }
        axis.title.font = { size: 12 };
        axis.tickfont = { size: 11 };
      }
    }
    return chart;
  };
  const draw = (place) => {
    if (!waiting.delete(place) || !place.isConnected) return;
    try {
      const chart = fitted(place, told(place));
      place.style.height = `${chart.layout.height}px`;
      /* What it shows is told beside it; its buttons are for everybody. */
      Plotly.newPlot(place, chart.data, chart.layout, chart.config).then(() => {
        for (const picture of place.querySelectorAll("svg.main-svg")) picture.setAttribute("aria-hidden", "true");
      });
    } catch (error) {
      place.innerHTML = '<p class="failed">This browser cannot draw the chart; its numbers are in the table below it.</p>';
    }
    place.dataset.drawn = "yes";
  };
  const next = () => {
    const place = flat.shift();
    if (place) { draw(place); setTimeout(next, 0); }
  };
  const drawn = () => [...document.querySelectorAll(".chart[data-drawn]")].filter((place) => place.data);
  dark.addEventListener("change", () => {
    for (const place of drawn()) if (inSpace(place)) {
      const chart = fitted(place, told(place));
      Plotly.react(place, chart.data, place.layout, chart.config);
    }
  });
  const onPaper = (printed) => {
    if (printed === paper) return;
    paper = printed;
    if (printed) for (const place of [...waiting]) if (!inSpace(place)) draw(place);
    for (const place of drawn()) Plotly.relayout(place, printed ? { width: 860, autosize: false } : { width: null, autosize: true });
  };
  window.addEventListener("beforeprint", () => onPaper(true));
  window.addEventListener("afterprint", () => onPaper(false));
  matchMedia("print").addEventListener("change", (event) => onPaper(event.matches));
  return (root) => {
    for (const place of root.querySelectorAll(".chart[data-chart]:not([data-drawn])")) {
      if (waiting.has(place)) continue;
      waiting.add(place);
      const folded = inSpace(place);
      if (folded) folded.addEventListener("toggle", () => { if (folded.open) draw(place); });
      else flat.push(place);
    }
    setTimeout(next, 0);
  };
})();
/* The workbench fetches Plotly first; a page of its own that lacks it says that it cannot draw. */
if (window.Plotly || !document.body.classList.contains("workbench")) drawCharts(document);
