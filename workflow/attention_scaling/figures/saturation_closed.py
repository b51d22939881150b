"""The share of rows whose largest weight is above 0.9 over widths, divisors and numbers of keys."""

from attention_scaling.figures.width_panels import WidthPanels

_PANELS = WidthPanels(
    experiment="saturation",
    quantity="closed_share",
    name="share of closed rows",
    axis="closed rows (share)",
    even=lambda n_keys: 1.0 if n_keys == 1 else 0.0,
    even_words="the share among even rows",
)
draw, alt_text, caption = _PANELS.draw, _PANELS.alt_text, _PANELS.caption
