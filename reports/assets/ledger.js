// Filters the rows of a table. Pages write
//
//   ::: {.filterable filter="Lesson Kind Verdict"}
//   (a table)
//   :::
//
// and get, above the table, a field for text and a list of choices for each column so named. The state
// is in the fragment of the address, as in ledger.html#verdict=differs&q=root, so a filtered view can be
// linked to. Without scripts the table is a plain one.
(function () {
  "use strict";

  function element(name, properties, ...children) {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  }

  // "#verdict=differs&q=root" as parameters; a fragment without "=" names a place in the page.
  function stateOfAddress() {
    return new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  }

  function setUp(container) {
    const table = container.querySelector("table");
    const rows = [...table.tBodies[0].rows].map((row) => ({
      row,
      text: row.textContent.toLowerCase(),
      cells: [...row.cells].map((cell) => cell.textContent.trim()),
    }));
    const headers = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());

    const search = element("input", { type: "search", autocomplete: "off", spellcheck: false });
    const count = element("output");
    const clear = element("button", { type: "button", textContent: "Show all" });
    const bar = element("form", { className: "filter-bar" }, element("label", {}, "Text", search));
    bar.setAttribute("role", "search");
    bar.setAttribute("aria-label", "Filter the rows of the table");

    const choices = [];
    for (const header of (container.dataset.filter || "").split(" ").filter((name) => headers.includes(name))) {
      const column = headers.indexOf(header);
      const select = element("select", {}, element("option", { value: "", textContent: "all" }));
      for (const value of new Set(rows.map(({ cells }) => cells[column]))) {
        select.append(element("option", { value, textContent: value }));
      }
      choices.push({ key: header.toLowerCase(), column, select });
      bar.append(element("label", {}, header, select));
    }
    bar.append(clear, count);
    container.before(bar);

    function apply() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { row, text, cells } of rows) {
        const fits = words.every((word) => text.includes(word))
          && choices.every(({ column, select }) => !select.value || cells[column] === select.value);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
      clear.disabled = shown === rows.length;
    }

    function applyAddress() {
      const state = stateOfAddress();
      search.value = state.get("q") || "";
      for (const { key, select } of choices) {
        const wanted = state.get(key) || "";
        select.value = [...select.options].some((option) => option.value === wanted) ? wanted : "";
      }
      apply();
    }

    function changed() {
      const state = new URLSearchParams();
      if (search.value) state.set("q", search.value);
      for (const { key, select } of choices) if (select.value) state.set(key, select.value);
      const fragment = state.toString();
      history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
      apply();
    }

    bar.addEventListener("input", changed);
    bar.addEventListener("submit", (event) => event.preventDefault());
    clear.addEventListener("click", () => { bar.reset(); changed(); search.focus(); });
    addEventListener("hashchange", () => {
      applyAddress();
      const target = document.getElementById(location.hash.slice(1));
      if (target) target.scrollIntoView();
    });
    applyAddress();
  }

  document.querySelectorAll(".filterable").forEach(setUp);
})();
