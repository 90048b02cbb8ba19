/* What makes an open page hard to read, as a list of sentences: nothing where all is well.
   Asked at one width and in one colour scheme; `files` are those that the page may lead to. Without
   `all`, colours only. */
({ files, terms, all }) => {
  const problems = new Set();
  const where = (element) => {
    const section = element.closest("section")?.querySelector("h2")?.textContent ?? "head";
    return `${section.trim()}, ${element.tagName.toLowerCase()}`;
  };
  const clip = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);

  /* Nothing but what scrolls by itself is wider than the page. */
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  for (const table of document.querySelectorAll(".wide:has(> table)")) {
    if (table.scrollWidth > table.clientWidth + 1 && getComputedStyle(table, "::before").content === "none") {
      problems.add(`a table goes on to the right and does not say so (${where(table)})`);
    }
  }
  if (all && wide > 0) {
    const scrolls = (element) => element.closest(".wide") && getComputedStyle(element.closest(".wide")).overflowX !== "visible";
    const widest = [...document.body.querySelectorAll("*")]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(element));
    problems.add(`the page is ${wide} pixels too wide (${widest.slice(0, 3).map(where).join("; ")})`);
  }

  /* The title of an axis stands beside its numbers, not on them. */
  for (const chart of all ? document.querySelectorAll(".chart[data-drawn]") : []) {
    for (const side of ["x", "y"]) {
      const title = chart.querySelector(`.g-${side}title text`)?.getBoundingClientRect();
      const covered = (mark) => title.left < mark.right && mark.left < title.right && title.top < mark.bottom && mark.top < title.bottom;
      const marks = title ? [...chart.querySelectorAll(`.${side}tick text`)].map((mark) => mark.getBoundingClientRect()) : [];
      if (marks.some(covered)) problems.add(`the title of an axis covers its numbers (${where(chart)})`);
    }
  }

  /* Colours as they are seen: what is half transparent lets through what is behind it. */
  const parse = (colour) => {
    const parts = colour.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
    return colour.startsWith("color(srgb") ? [...parts.slice(0, 3).map((part) => part * 255), parts[3] ?? 1] : [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const grounds = new Map();
  const ground = (element) => {
    if (!element) return [255, 255, 255];
    if (!grounds.has(element)) {
      const own = parse(getComputedStyle(element).backgroundColor);
      grounds.set(element, own[3] === 1 ? own.slice(0, 3) : over(own, ground(element.parentElement)));
    }
    return grounds.get(element);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dim, bright] = [light(one), light(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dim + 0.05);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, .modebar-container, title")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    seen.push(node.data);
    const style = getComputedStyle(element);
    const drawn = element.closest("svg") && style.fill !== "none";
    const ink = parse(drawn ? style.fill : style.color);
    for (let at = element; at; at = at.parentElement) ink[3] *= Number(getComputedStyle(at).opacity);
    const behind = ground(element.closest("svg")?.parentElement ?? element);
    const ratio = contrast(over(ink, behind), behind);
    if (ratio < 4.5) problems.add(`contrast ${ratio.toFixed(1)}: "${clip(node.data)}" (${where(element)})`);

    /* A word of usual length stands on one line; after a hyphen or a slash a line may end. */
    if (!all || drawn || style.whiteSpace === "nowrap") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size < 2) continue;
    for (const word of node.data.matchAll(/[\p{L}\p{N}]{2,24}/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = [...range.getClientRects()].filter((box) => box.width > 0).map((box) => box.top);
      if (tops.length > 1 && Math.max(...tops) - Math.min(...tops) > 4) {
        problems.add(`"${word[0]}" is broken (${where(element)})`);
      }
    }
  }
  if (!all) return [...problems];
  const text = seen.join(" ");

  /* Links lead somewhere, and files that are named are there. */
  for (const link of document.querySelectorAll("[href], [src]")) {
    const to = link.getAttribute("href") ?? link.getAttribute("src");
    if (to.startsWith("#")) {
      if (!document.getElementById(decodeURIComponent(to.slice(1)))) problems.add(`${to} leads nowhere`);
    } else if (!to.startsWith("data:") && !files.includes(to)) problems.add(`${to} is not there`);
  }
  for (const [name] of text.matchAll(/[\w./-]*\w\.(?:html|json|csv|toml|parquet|md|sqlite|txt)\b/g)) {
    if (!/^[A-Z]+\./.test(name) && !files.some((file) => file === name || file.endsWith(`/${name}`))) problems.add(`${name} is named and is not there`);
  }

  /* Words of ours and of the papers are explained. */
  for (const [sign] of text.matchAll(/[Α-Ωα-ω]|\b[A-Z]{1,4}_[A-Z]{1,2}\b|\b[A-Z]{2,5}\b/gu)) {
    if (!terms.some((term) => term.includes(sign))) problems.add(`${sign} is not explained`);
  }
  return [...problems];
}
