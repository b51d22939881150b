"""The figures of the site: one module each, drawn from the measurement table and the verdicts alone.

A figure's module defines `draw(tables)`, the matplotlib figure; `alt_text(tables)`, what it shows in words; and
`caption(tables)`, Markdown; where the registry cannot say whether there is anything to draw, also
`drawable(tables)`. All numbers in them are computed from the tables. `style` holds what the figures
share in looks, `slices` what they share in selecting rows, `writing` puts them on disk.

The registry names the modules without importing them, so that listing the figures costs no matplotlib. A new
figure is one module and one line here.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class FigureEntry:
    """What must be known of a figure before it is drawn.

    `needs` are the quantities of `experiment` that must have values for there to be anything to draw; an empty
    `experiment` means that the figure reads all experiments, or the verdicts.
    """

    name: str
    page: str
    experiment: str = ""
    needs: tuple[str, ...] = ()

    @property
    def module_name(self) -> str:
        """The dotted name of the figure's module."""
        return f"attention_scaling.figures.{self.name.replace('-', '_')}"

    @property
    def address(self) -> str:
        """Where the figure stands in the site's source."""
        return f"{self.page}.qmd#fig-{self.name}"

    def module(self) -> ModuleType:
        """The figure's module, imported."""
        return importlib.import_module(self.module_name)


REGISTRY: dict[str, FigureEntry] = {
    entry.name: entry
    for entry in (
        FigureEntry("story", "index", "saturation", ("top_weight",)),
        FigureEntry("verdicts", "index"),
        FigureEntry("variance-size", "variance", "variance", ("score_size",)),
        FigureEntry("variance-laws", "variance", "variance", ("score_size",)),
        FigureEntry("variance-enumeration", "variance", "variance", ("score_fourth_mean",)),
        FigureEntry("six-scores", "saturation", "reconstruction", ("weight",)),
        FigureEntry("saturation-weight", "saturation", "saturation", ("top_weight",)),
        FigureEntry("saturation-closed", "saturation", "saturation", ("closed_share",)),
        FigureEntry("saturation-entropy", "saturation", "saturation", ("entropy",)),
        FigureEntry("correlation-score", "correlation", "correlation", ("score_mean",)),
        FigureEntry("correlation-weight", "correlation", "correlation", ("aligned_weight",)),
        FigureEntry("closing-rho", "correlation", "correlation", ("closing_rho",)),
        FigureEntry("capacity-trace", "capacity", "capacity", ("capacity",)),
        FigureEntry("capacity-derivative", "capacity", "capacity", ("top_derivative",)),
        FigureEntry("capacity-eigenvalue", "capacity", "capacity", ("top_eigenvalue",)),
        FigureEntry("gradient-norms", "capacity", "gradient", ("gradient_ratio_query",)),
        FigureEntry("tiny-scores", "capacity", "gradient", ("tiny_derivative_size",)),
        FigureEntry(
            "cross-entropy",
            "capacity",
            "gradient",
            ("cross_entropy_gradient", "attention_gradient"),
        ),
        FigureEntry("continuum", "training", "continuum", ("score_size", "aligned_score_mean")),
        FigureEntry("remedies-size", "training", "remedies", ("score_size_slope",)),
        FigureEntry("coordinate-check", "training", "training", ("logit_size", "right_logit")),
        FigureEntry("training-loss", "training", "training", ("loss", "frozen_share")),
        FigureEntry("training-rates", "training", "training", ("best_rate",)),
        FigureEntry("recall-accuracy", "training", "training", ("accuracy",)),
        FigureEntry("kernel-errors", "attention", "kernels", ("error_O",)),
        FigureEntry("memory", "attention", "memory", ("peak_bytes",)),
        FigureEntry("cost-ratio", "attention", "cost", ("time_ratio",)),
        FigureEntry("jacobian-cost", "attention", "cost", ("row_seconds",)),
        FigureEntry("precision", "precision", "precision", ("overflow_cutoff",)),
        FigureEntry("zscores", "method"),
    )
}
