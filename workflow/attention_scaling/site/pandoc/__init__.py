"""Quarto's website format for the part of it that the pages use, by Pandoc alone.

`build.lua` renders many pages in one Pandoc process: `subset.lua` is the Markdown, `page.html` the page
around it, `shell.css` and `shell.js` what Quarto takes from Bootstrap and its own scripts.
"""
