"""The mean largest eigenvalue of the softmax Jacobian over widths, divisors and numbers of keys."""

from attention_scaling.figures.width_panels import WidthPanels

_PANELS = WidthPanels(
    experiment="capacity",
    quantity="top_eigenvalue",
    name="mean largest eigenvalue of the softmax Jacobian",
    axis="largest eigenvalue (mean)",
    even=lambda n_keys: 0.0 if n_keys == 1 else 1 / n_keys,
    even_words="the eigenvalue under even weights",
    limits=(0.0, 0.5),
)
draw, alt_text, caption = _PANELS.draw, _PANELS.alt_text, _PANELS.caption
