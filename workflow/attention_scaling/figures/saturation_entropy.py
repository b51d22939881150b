"""The mean entropy of a row of weights over widths, divisors and numbers of keys."""

import math

from attention_scaling.figures.width_panels import WidthPanels

_PANELS = WidthPanels(
    experiment="saturation",
    quantity="entropy",
    name="mean entropy of a row in nats",
    axis="entropy (nats, mean)",
    even=lambda n_keys: math.log(n_keys),
    even_words="the entropy of even weights",
    limits=None,
)
draw, alt_text, caption = _PANELS.draw, _PANELS.alt_text, _PANELS.caption
