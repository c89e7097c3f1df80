"use strict";
(() => {
  const rows = [...document.querySelectorAll(".e")];
  const bars = [...document.querySelectorAll(".scrub path")];
  const chips = [...document.querySelectorAll("[data-filter]")];
  const [find, found, none, at, then, lasted, unfold] =
    ["find", "found", "none", "at", "then", "lasted", "unfold"].map((id) => document.getElementById(id));
  const turns = [...document.querySelectorAll(".side ol a")];
  const marks = typeof Highlight === "function" && CSS.highlights;
  let hits = [], hit = -1, now = -1, held = 0;

  const clock = (s) => new Date(s * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

  function place(index) {
    if (index === now || !rows[index]) return;
    if (rows[now]) rows[now].classList.remove("now");
    now = index;
    const row = rows[now];
    row.classList.add("now");
    at.value = now;
    bars.forEach((bar, i) => bar.classList.toggle("past", i <= now));
    const turn = Number(row.dataset.turn);
    then.textContent = `${clock(Number(row.dataset.at))} · ${turn ? `turn ${turn}` : "before the first turn"}`;
    lasted.textContent = `${row.dataset.elapsed} of ${lasted.dataset.whole}`;
    at.setAttribute("aria-valuetext", then.textContent);
    let here = -1;
    turns.forEach((link, i) => { if (Number(link.hash.slice(2)) <= now) here = i; });
    turns.forEach((link, i) => link.classList.toggle("here", i === here));
  }

  function go(index, block = "start") {
    let near = index;
    while (rows[near] && rows[near].hidden) near += 1;
    if (!rows[near]) { near = index; while (rows[near] && rows[near].hidden) near -= 1; }
    if (!rows[near]) return;
    held = performance.now() + 250;
    rows[near].scrollIntoView({ block });
    place(near);
  }

  function follow() {
    if (performance.now() < held) return;
    const shown = rows.filter((row) => !row.hidden);
    if (!shown.length) return;
    const doc = document.documentElement;
    const end = doc.scrollHeight - innerHeight;
    const reach = Math.min(300, end);  // near the end the place runs ahead, so that the last rows can be it too
    const line = 72 + (reach > 0 ? Math.max(0, scrollY - (end - reach)) / reach : 0) * (innerHeight - 200);
    let low = 0, high = shown.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (shown[middle].getBoundingClientRect().top <= line) low = middle; else high = middle - 1;
    }
    place(rows.indexOf(shown[low]));
  }

  function filter() {
    const wanted = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.filter);
    let left = 0;
    rows.forEach((row, i) => {
      const tags = row.dataset.tags.split(" ");
      row.hidden = wanted.length > 0 && !wanted.some((tag) => tags.includes(tag));
      bars[i].classList.toggle("off", row.hidden);
      left += !row.hidden;
    });
    none.hidden = left > 0;
    search(false);
    if (rows[now] && rows[now].hidden) go(now);
  }

  function search(jump) {
    const words = find.value.trim().toLowerCase();
    hits = []; hit = -1;
    if (words) {
      for (const row of rows) {
        if (row.hidden) continue;
        const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
        for (let node = walk.nextNode(); node; node = walk.nextNode()) {
          const text = node.data.toLowerCase();
          for (let i = text.indexOf(words); i >= 0; i = text.indexOf(words, i + words.length)) {
            if (text.length !== node.data.length || hits.length >= 20000) break;
            const range = new Range();
            range.setStart(node, i);
            range.setEnd(node, i + words.length);
            hits.push(range);
          }
        }
      }
    }
    if (marks) CSS.highlights.set("found", new Highlight(...hits));
    if (marks) CSS.highlights.delete("current");
    found.textContent = words ? (hits.length ? `${hits.length}` : "nothing") : "";
    if (jump && hits.length) next(1);
  }

  function next(way) {
    if (!hits.length) return;
    hit = (hit + way + hits.length) % hits.length;
    if (way < 0 && hit < 0) hit = hits.length - 1;
    const range = hits[hit], inside = range.startContainer.parentElement;
    for (let fold = inside.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (marks) CSS.highlights.set("current", new Highlight(range));
    found.textContent = `${hit + 1} of ${hits.length}`;
    held = performance.now() + 250;
    inside.scrollIntoView({ block: "center" });
    place(rows.indexOf(inside.closest(".e")));
  }

  function foldAll() {
    const folds = [...document.querySelectorAll("details")];
    const open = folds.some((fold) => !fold.open);
    folds.forEach((fold) => { fold.open = open; });
    unfold.textContent = open ? "Close all" : "Open all";
  }

  function move(way) {
    let index = now + way;
    while (rows[index] && rows[index].hidden) index += way;
    if (rows[index]) go(index);
  }

  function turn(way) {
    const firsts = rows.flatMap((row, i) => "first" in row.dataset ? [i] : []);
    const index = way > 0 ? firsts.find((i) => i > now) : firsts.reverse().find((i) => i < now);
    if (index !== undefined) go(index);
  }

  chips.forEach((chip) => chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    filter();
  }));
  unfold.addEventListener("click", foldAll);
  at.addEventListener("input", () => go(Number(at.value)));
  document.querySelector(".scrub svg").addEventListener("click", (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    go(Math.max(0, Math.min(rows.length - 1, Math.round((event.clientX - box.left) / box.width * (rows.length - 1)))));
  });
  find.addEventListener("input", () => search(true));
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); next(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { find.value = ""; search(false); find.blur(); }
  });
  document.querySelectorAll(".side a").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    go(Number(link.hash.slice(2)));
  }));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("#find")) return;
    if (event.key === "/") { event.preventDefault(); find.focus(); find.select(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "]") turn(1);
    else if (event.key === "[") turn(-1);
    else if (event.key === "n") next(1);
    else if (event.key === "N") next(-1);
    else if (event.key === "o") foldAll();
    else if (chips[Number(event.key) - 1]) chips[Number(event.key) - 1].click();
  });
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  }, { passive: true });
  const asked = /^#e(\d+)$/.exec(location.hash);
  if (asked) go(Number(asked[1])); else place(0);
})();
