"""The mean largest weight of a row over widths, divisors and numbers of keys."""

from attention_scaling.figures.width_panels import WidthPanels

_PANELS = WidthPanels(
    experiment="saturation",
    quantity="top_weight",
    name="mean largest weight of a row",
    axis="largest weight (mean)",
    even=lambda n_keys: 1 / n_keys,
    even_words="the even share",
)
draw, alt_text, caption = _PANELS.draw, _PANELS.alt_text, _PANELS.caption
