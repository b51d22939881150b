"""The mean of a row's largest a (1 - a) over widths, divisors and numbers of keys."""

from attention_scaling.figures.width_panels import WidthPanels

_PANELS = WidthPanels(
    experiment="capacity",
    quantity="top_derivative",
    name="mean of a row's largest derivative a(1 − a)",
    axis=r"largest $a(1-a)$ (mean)",
    even=lambda n_keys: (1 - 1 / n_keys) / n_keys,
    even_words="the derivative under even weights",
    limits=(0.0, 0.25),
)
draw, alt_text, caption = _PANELS.draw, _PANELS.alt_text, _PANELS.caption
