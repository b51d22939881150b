"""Quarto's website format for the part of it that the pages use, by Pandoc alone.

`build.lua` renders many pages in one Pandoc process: `subset.lua` is the Markdown, `page.html` the page
around it, `shell.css` and `shell.js` what Quarto takes from Bootstrap and its own scripts.

Of Quarto's Markdown, on top of Pandoc's own: variables and includes (`attention_scaling.site.sources`);
figures `::: {#fig-x}`, `![Caption](x.svg){#fig-x}`, with `fig-alt`; tables with `: Caption {#tbl-x}` or in
`::: {#tbl-x}`; equations `$$...$$ {#eq-x}`; references `@fig-x`, `@tbl-x`, `@eq-x`, `@sec-x` within a page;
`layout-ncol` with or without parts; callouts with `collapse`; `.panel-tabset`; links to `page.qmd#anchor`.

Of the front matter: `title`, `subtitle`, `description`, `toc`, `page-layout: full`. Of `_quarto.yml`: `lang`,
`project: resources`; under `website`: `title`, `description`, `favicon`, `navbar` (links), `sidebar: contents`
(pages and one level of sections), `page-navigation`, `page-footer`; under `format: html`: `css`, `toc`,
`toc-depth`, `toc-title`, `include-after-body`. Themes, code cells, citations, listings, margin columns,
theorems, code listings with captions and all other shortcodes are not part of it.
"""
