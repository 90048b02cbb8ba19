/* Charts one after the other, so that the page can be used meanwhile; those in space, which take
   longest, when they come into sight. Before printing all are drawn. */
{
  const waiting = new Set(document.querySelectorAll(".chart[data-chart]"));
  const draw = (place) => {
    if (!waiting.delete(place)) return;
    try {
      const told = JSON.parse(document.getElementById(place.dataset.chart).textContent);
      Plotly.newPlot(place, told.data, told.layout, told.config);
    } catch (error) {
      place.innerHTML = '<p class="failed">This browser cannot draw the chart; its numbers are in the table below it.</p>';
    }
    place.dataset.drawn = "yes";
  };
  const inSpace = (place) => document.getElementById(place.dataset.chart).textContent.includes('"scatter3d"');
  const flat = [...waiting].filter((place) => !inSpace(place));
  const next = () => {
    const place = flat.shift();
    if (place) { draw(place); setTimeout(next, 0); }
  };
  const watch = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watch.unobserve(one.target); draw(one.target); }
  }, { rootMargin: "300px" });
  for (const place of waiting) if (inSpace(place)) watch.observe(place);
  window.addEventListener("beforeprint", () => { for (const place of [...waiting]) draw(place); });
  setTimeout(next, 0);
}
