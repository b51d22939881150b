// What a page of the Pandoc-rendered site does in the browser. Everything here is an addition: without
// scripts the site is readable, with all tabs shown one under the other.
(function () {
  "use strict";
  const body = document.body;
  const siteRoot = new URL("..", document.currentScript.src);

  // ## Light and dark
  const schemeToggle = document.querySelector(".quarto-color-scheme-toggle");
  function showScheme(dark) {
    body.classList.toggle("quarto-dark", dark);
    body.classList.toggle("quarto-light", !dark);
    schemeToggle.setAttribute("aria-pressed", String(dark));
  }
  showScheme(body.classList.contains("quarto-dark"));
  schemeToggle.addEventListener("click", () => {
    const dark = !body.classList.contains("quarto-dark");
    showScheme(dark);
    try { localStorage.setItem("color-scheme", dark ? "dark" : "light"); } catch (error) { /* storage is off */ }
  });

  // ## Menu on narrow screens
  const menuToggle = document.querySelector(".menu-toggle");
  function showMenu(open) {
    body.classList.toggle("menu-open", open);
    menuToggle.setAttribute("aria-expanded", String(open));
  }
  menuToggle.addEventListener("click", () => showMenu(!body.classList.contains("menu-open")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && body.classList.contains("menu-open")) {
      showMenu(false);
      menuToggle.focus();
    }
  });

  // ## Tabs, by the ARIA pattern: one stop for Tab, arrow keys between them
  for (const list of document.querySelectorAll(".panel-tabset > .nav-tabs")) {
    const tabs = [...list.querySelectorAll("[role=tab]")];
    const choose = (chosen) => {
      for (const tab of tabs) {
        const selected = tab === chosen;
        tab.setAttribute("aria-selected", String(selected));
        tab.tabIndex = selected ? 0 : -1;
        tab.classList.toggle("active", selected);
        document.getElementById(tab.getAttribute("aria-controls")).classList.toggle("active", selected);
      }
    };
    choose(tabs[0]);
    list.addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (!tab) return;
      event.preventDefault();
      choose(tab);
    });
    list.addEventListener("keydown", (event) => {
      const last = tabs.length - 1;
      const at = tabs.indexOf(document.activeElement);
      const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1,
                   Home: 0, End: last, " ": at }[event.key];
      if (at < 0 || to === undefined) return;
      event.preventDefault();
      choose(tabs[to]);
      tabs[to].focus();
    });
    // A link to something inside a closed tab opens it.
    const openTarget = () => {
      const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const pane = target && target.closest(".tab-pane");
      const tab = pane && tabs.find((each) => each.getAttribute("aria-controls") === pane.id);
      if (tab) { choose(tab); target.scrollIntoView(); }
    };
    addEventListener("hashchange", openTarget);
    openTarget();
  }

  // ## A link to every heading
  const headings = [...document.querySelectorAll("main :is(h2, h3, h4)[id]")];
  for (const heading of headings) {
    const link = document.createElement("a");
    link.className = "heading-anchor";
    link.href = "#" + heading.id;
    link.setAttribute("aria-label", "Link to this section");
    heading.append(link);
  }

  // ## Where the reader is, in the table of contents
  const tocLinks = new Map([...document.querySelectorAll("#TOC a")].map((a) => [a.hash.slice(1), a]));
  if (tocLinks.size) {
    const listed = headings.filter((heading) => tocLinks.has(heading.id));
    const mark = () => {
      const passed = listed.filter((heading) => heading.getBoundingClientRect().top < 120);
      const current = passed.length ? passed[passed.length - 1] : listed[0];
      for (const [id, link] of tocLinks) link.classList.toggle("active", current && id === current.id);
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  // ## Search. The index is read with fetch, which browsers allow over http only.
  const form = document.querySelector(".site-search");
  const input = form.querySelector("input");
  const results = form.querySelector(".site-search-results");
  form.hidden = false;
  if (location.protocol === "file:") {
    input.disabled = true;
    input.placeholder = "Search (when served)";
    input.title = "Search works when the site is read over http";
    return;
  }
  let engine = null;
  async function search() {
    const query = input.value.trim();
    if (!query) { results.replaceChildren(); return; }
    try {
      if (!engine) {
        engine = await import(new URL("pagefind/pagefind.js", siteRoot).href);
        await engine.options({ baseUrl: siteRoot.pathname, excerptLength: 14 });
      }
      const found = await engine.debouncedSearch(query, {}, 150);
      if (!found) return; // a later keystroke has taken over
      const pages = await Promise.all(found.results.slice(0, 8).map((result) => result.data()));
      show(query, pages.flatMap((page) => page.sub_results.slice(0, 3).map((part) => [page, part])));
    } catch (error) {
      note("Search is not available here.");
    }
  }
  function note(text) {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    results.replaceChildren(paragraph);
  }
  function show(query, found) {
    if (!found.length) { note(`Nothing found for “${query}”.`); return; }
    const list = document.createElement("ul");
    for (const [page, part] of found) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = part.url;
      link.textContent = part.title === page.meta.title ? part.title : `${page.meta.title}: ${part.title}`;
      const excerpt = document.createElement("p");
      excerpt.innerHTML = part.excerpt; // escaped by Pagefind, with <mark> around the words
      item.append(link, excerpt);
      list.append(item);
    }
    results.replaceChildren(list);
  }
  input.addEventListener("input", search);
  form.addEventListener("submit", (event) => { event.preventDefault(); search(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { input.value = ""; results.replaceChildren(); }
  });
})();
