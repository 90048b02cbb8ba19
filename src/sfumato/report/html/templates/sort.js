/* Tables sort by any column: a heading is a button, so the keyboard will do. */
const sortTables = (root) => {
  for (const table of root.querySelectorAll("table.sortable:not([data-sorts])")) {
    const headings = [...table.tHead.rows[0].cells];
    table.dataset.sorts = "yes";
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          return "sort" in cell.dataset ? (cell.dataset.sort === "" ? null : Number(cell.dataset.sort)) : cell.textContent;
        };
        const compare = (one, other) => {
          const [a, b] = [key(one), key(other)];
          if (a === null || b === null) return (a === null) - (b === null); /* what does not apply is last */
          const order = typeof a === "number" && typeof b === "number" ? (a > b) - (a < b) : String(a).localeCompare(String(b));
          return down ? -order : order;
        };
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort(compare));
      });
    });
  }
};
/* A table or list wider than its place says that it goes on. */
const markWide = (root) => {
  const look = (place) => place.classList.toggle("goes-on", place.scrollWidth > place.clientWidth + 1);
  const watch = new ResizeObserver((seen) => { for (const one of seen) look(one.target); });
  for (const place of root.querySelectorAll(".wide")) watch.observe(place);
};
sortTables(document);
markWide(document);
