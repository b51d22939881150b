"""The mean trace of the softmax Jacobian over widths, divisors and numbers of keys."""

from attention_scaling.figures.width_panels import WidthPanels

_PANELS = WidthPanels(
    experiment="capacity",
    quantity="capacity",
    name="mean gradient capacity (the trace of the softmax Jacobian)",
    axis="capacity (mean)",
    even=lambda n_keys: 1 - 1 / n_keys,
    even_words="the most that a row can have",
)
draw, alt_text, caption = _PANELS.draw, _PANELS.alt_text, _PANELS.caption
