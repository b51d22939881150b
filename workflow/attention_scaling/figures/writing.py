"""Figures onto disk: two SVG variants each, and the Markdown block that a page includes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from attention_scaling.atomic import write_text
from attention_scaling.figures import REGISTRY, FigureEntry, style
from attention_scaling.figures.slices import Tables
from attention_scaling.figures.wording import in_plain_text

ADDRESS = "/_generated/figures"
"""Where the pages find the figures, from the root of the website project."""


def write_all(tables: Tables, out_dir: Path, names: Iterable[str] | None = None) -> list[str]:
    """Write the figures (default: all) to `out_dir` as NAME-light.svg, NAME-dark.svg and NAME.md.

    A figure of something that the study did not measure becomes a block that says so, without an image, so
    that pages and references to it stand. Returns the names of the figures that were drawn. Raises `UserError`
    when a file cannot be written.
    """
    drawn = []
    for name in REGISTRY if names is None else names:
        entry = REGISTRY[name]
        reason = missing(entry, tables)
        if reason is None:
            module = entry.module()
            with style.applied():
                text = style.svg(module.draw(tables))
            for theme, colours in style.THEMES.items():
                write_text(out_dir / f"{name}-{theme}.svg", style.recoloured(text, colours))
            block = _block(entry, module.alt_text(tables), module.caption(tables))
            drawn.append(name)
        else:
            for theme in style.THEMES:
                (out_dir / f"{name}-{theme}.svg").unlink(missing_ok=True)
            block = _empty_block(entry, reason)
        write_text(out_dir / f"{name}.md", block)
    return drawn


def missing(entry: FigureEntry, tables: Tables) -> str | None:
    """Why there is nothing to draw for a figure; None where there is."""
    if entry.experiment and not len(tables.rows(entry.experiment)):
        return f"this study did not run the experiment `{entry.experiment}`"
    for quantity in entry.needs:
        if not len(tables.rows(entry.experiment, quantity)):
            return f"this study did not measure `{quantity}`"
    drawable = getattr(entry.module(), "drawable", None)
    if drawable is not None and not drawable(tables):
        return "this study has nothing to show here"
    return None


def _block(entry: FigureEntry, alt_text: str, caption: str) -> str:
    alt = in_plain_text(alt_text).replace('"', "'")
    images = "\n\n".join(
        f'![]({ADDRESS}/{entry.name}-{theme}.svg){{.fig-{theme} fig-alt="{alt}"}}'
        for theme in style.THEMES
    )
    data = f" [Data](measurements.qmd#{entry.experiment})." if entry.experiment else ""
    return f"::: {{#fig-{entry.name}}}\n{images}\n\n{caption}{data}\n:::\n"


def _empty_block(entry: FigureEntry, reason: str) -> str:
    return f"::: {{#fig-{entry.name}}}\n*No figure: {reason}.*\n\nNot part of this study.\n:::\n"
