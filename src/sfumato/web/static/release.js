/* A click on a mark of the map shows that release; the list beside it does the same by keyboard. */
(() => {
  const map = document.getElementById("tried-map");
  if (!map) return;
  const listen = (chart) => {
    if (chart.dataset.clicked || typeof chart.on !== "function") return false;
    chart.dataset.clicked = "yes";
    chart.on("plotly_click", (event) => {
      const mark = event.points?.[0];
      const told = [mark?.hovertext, mark?.customdata, mark?.text].flat().filter((one) => typeof one === "string");
      const number = told.map((one) => /^#(\d+)/.exec(one)).find(Boolean)?.[1];
      if (number) location.assign(`${map.dataset.points}${number}`);
    });
    return true;
  };
  const look = (left) => {
    const charts = [...map.querySelectorAll(".js-plotly-plot")];
    if ((!charts.length || !charts.every((one) => one.dataset.clicked || listen(one))) && left) setTimeout(() => look(left - 1), 200);
  };
  look(100);
})();
