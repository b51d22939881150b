"""The figures as a whole: what every one of them must be, and what becomes of those without data."""

from __future__ import annotations

import functools
import re

import pandas as pd
import pytest
from reader_study import full_study

from attention_scaling.figures import REGISTRY, style
from attention_scaling.figures.slices import Tables
from attention_scaling.figures.wording import plain, short
from attention_scaling.figures.writing import missing, write_all

ALL = list(REGISTRY)
COLOUR = re.compile(r"#[0-9a-f]{6}")


def drawn(name: str, tables: Tables):
    with style.applied():
        return REGISTRY[name].module().draw(tables)


@functools.cache
def full(name: str):
    """The figure of the full study. Tests only look at it."""
    return drawn(name, full_study().tables)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    assert write_all(full_study().tables, folder) == ALL
    return folder


@pytest.mark.parametrize("name", ALL)
def test_every_axis_is_labelled(name):
    axes = full(name).axes
    columns = {round(panel.get_position().x0, 3) for panel in axes}
    for left in columns:
        column = [panel for panel in axes if round(panel.get_position().x0, 3) == left]
        lowest = min(column, key=lambda panel: panel.get_position().y0)
        assert lowest.get_xlabel()
    for panel in axes:
        categories = [tick.get_text() for tick in panel.get_yticklabels()]
        first_column = round(panel.get_position().x0, 3) == min(columns)
        if first_column and name != "verdicts":  # there the lessons stand above their bars
            assert panel.get_ylabel() or {"float16", "blocks"} & set(categories)


@pytest.mark.parametrize("name", ["saturation-entropy", "variance-size", "precision", "zscores"])
def test_labels_carry_units(name):
    labels = [panel.get_xlabel() + panel.get_ylabel() for panel in full(name).axes]
    assert any(re.search(r"\((nats|nats, mean|1|coordinates)\)", label) for label in labels)


@pytest.mark.parametrize("name", ALL)
def test_both_themes_are_one_drawing_in_the_themes_own_colours(written, name):
    light, dark = ((written / f"{name}-{theme}.svg").read_text() for theme in ("light", "dark"))
    for text, theme in ((light, style.LIGHT), (dark, style.DARK)):
        assert set(COLOUR.findall(text)) <= set(vars(theme).values())
        assert "<svg" in text and "<text" not in text  # glyphs are paths: no font is needed
    assert COLOUR.sub("", light) == COLOUR.sub("", dark)
    assert light != dark


@pytest.mark.parametrize("name", ALL)
def test_bytes_are_the_same_on_every_run(written, tmp_path, name):
    write_all(full_study().tables, tmp_path, [name])
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (written / file.name).read_bytes()


@pytest.mark.parametrize("name", ALL)
def test_the_background_is_transparent(written, name):
    patch = re.search(r'<g id="patch_1">.*?</g>', (written / f"{name}-light.svg").read_text(), re.S)
    assert patch is None or "opacity: 0" in patch[0] or "fill: none" in patch[0]


def weight_ends(divisor):
    tables = full_study().tables
    rows = tables.rows(
        "saturation", "top_weight", n_keys=32, divisor=divisor, method="quadrature"
    ).sort_values("d_k")
    return [short(rows["value"].iloc[0]), short(rows["value"].iloc[-1])]


def trained_ends(name):
    """What the last step left at the ends of the study's widths."""
    rows = full_study().tables.rows("training").set_index(["quantity", "cell", "variant", "d_k"])
    if name == "training-rates":
        losses = {
            rate: rows.loc[("loss", f"transfer, rate={rate:g}", "root", 128), "value"].item()
            for rate in (0.004, 0.008)
        }
        return [plain(min(losses, key=losses.get))]
    quantity, cell, widths = {
        "coordinate-check": ("right_logit", "adam", (8, 128)),
        "training-loss": ("loss", "adam", (128,)),
        "recall-accuracy": ("accuracy", "recall", (8, 16)),
    }[name]
    digits = 2 if name == "recall-accuracy" else 3
    ends = [rows.loc[(quantity, cell, "root", d_k)].sort_values("step").iloc[-1] for d_k in widths]
    return [short(row["value"], digits) for row in ends]


def expected_in_alt_text(name):
    """Numbers that the alt text must name, taken from the table by other means than the figure's own."""
    tables = full_study().tables
    if name in ("story", "saturation-weight"):
        return weight_ends("none")
    if name == "variance-enumeration":
        walked = tables.rows("variance", "score_fourth_mean", method="enumeration")
        return [plain(walked["value"].max())]
    if name == "precision":
        return ["11.09", "88.72", "709.8"]
    if name == "six-scores":
        return ["0.68", "0.92", "0.99", "0.43", "0.29", "0.23", "0.20"]
    if name == "correlation-score":
        rows = tables.rows(
            "correlation", "score_mean", rho=0.6, divisor="root", method="closed_form"
        )
        return [short(rows["value"].max()), short(rows["value"].min())]
    if name == "zscores":
        return [r"standard deviation"]
    if name == "memory":
        peaks = tables.rows("memory", "peak_bytes", cell="backward", n_keys=128)
        return [short(peak / 2**20) for peak in peaks["value"]]
    if name == "cost-ratio":
        ratios = tables.rows("cost", "time_ratio", variant="plain", n_keys=32, d_k=16)
        return ["2.00", *map(short, ratios["value"])]
    if name == "jacobian-cost":
        seconds = tables.rows("cost", "row_seconds", n_keys=512).groupby("variant")["value"].mean()
        return [short(seconds["matrix"] / seconds["product"])]
    if name == "kernel-errors":
        errors = tables.rows("kernels", cell="bare", variant="tiled", dtype="float16")
        errors = errors[errors["quantity"] != "error_ratio"]["value"]
        return ["float32", "bfloat16", short(errors.max(), 2)]
    if name == "tiny-scores":
        sizes = tables.rows("gradient", "tiny_derivative_size").groupby("n_keys")["value"].mean()
        return [short(sizes[32]), short(sizes[2048])]
    if name == "cross-entropy":
        rows = tables.rows("gradient", divisor="none", d_k=1024)
        means = rows.groupby("quantity")["value"].mean()
        return [short(means["attention_gradient"]), short(means["cross_entropy_gradient"])]
    if name == "closing-rho":
        rows = tables.rows("correlation", "closing_rho", divisor="root", n_keys=8)
        return [short(rows["value"].max()), short(rows["value"].min())]
    if name == "continuum":
        return ["for p = 0.5 it stays put", "for p = 0 it rises from 2.00 to 32.0"]
    if name == "remedies-size":
        slopes = tables.rows("remedies", "score_size_slope", method="derived", variant="none")
        return [short(slopes["value"].mean(), 2), "QK-norm", "additive"]
    if REGISTRY[name].page == "training":
        return trained_ends(name)
    if name == "verdicts":
        counts = tables.verdicts.drop_duplicates("claim")["lesson"].value_counts()
        return list(counts.index)
    quantity = REGISTRY[name].needs[0]
    rows = tables.rows(REGISTRY[name].experiment, quantity)
    keys = rows["n_keys"].dropna().unique()
    rows = rows[(rows["n_keys"] == 32) | (len(keys) == 0)]
    last = rows[(rows["d_k"] == rows["d_k"].max()) & (rows["divisor"] == "none")]
    exact = last[last["method"] == "quadrature"]
    if name == "gradient-norms" or name == "capacity-eigenvalue":
        return [short(last["value"].mean())]
    if name == "variance-size":
        rows = last[(last["distribution"] == "gaussian") & (last["method"] == "direct")]
        return [short(rows["value"].mean())]
    if name == "variance-laws":
        return ["Gaussian", "signs", "Student's t"]
    if name == "correlation-weight":
        exact = exact[exact["rho"] == 0.6]
        return [short(exact["value"].iloc[0])]
    return [short(exact["value"].iloc[0])]


@pytest.mark.parametrize("name", ALL)
def test_alt_text_says_what_was_found(written, name):
    alt = REGISTRY[name].module().alt_text(full_study().tables)
    for text in expected_in_alt_text(name):
        assert text in alt
    block = (written / f"{name}.md").read_text()
    assert block.startswith(f"::: {{#fig-{name}}}\n")
    assert block.count("fig-alt=") == 2
    assert REGISTRY[name].module().caption(full_study().tables) in block


def test_series_differ_without_colour():
    axes = full("saturation-weight").axes[0]
    curves = [line for line in axes.get_lines() if line.get_marker() in ("None", None, "")]
    # The first line is the even share.
    styles = {str(line._dash_pattern) for line in curves[1:]}
    markers = {container[0].get_marker() for container in axes.containers}
    assert len(styles) == 3
    assert markers == {"o", "s", "^"}


def test_points_and_bars_are_the_measured_values_with_two_standard_errors():
    tables = full_study().tables
    axes = full("saturation-weight").axes[0]
    rows = tables.rows(
        "saturation", "top_weight", n_keys=8, divisor="none", backend="numpy", method="collapsed"
    ).sort_values("d_k")
    line, _, (bars,) = axes.containers[0]
    assert list(line.get_xdata()) == list(rows["d_k"])
    assert list(line.get_ydata()) == list(rows["value"])
    for (low, high), row in zip(bars.get_segments(), rows.itertuples(), strict=True):
        assert high[1] - low[1] == pytest.approx(4 * row.stderr)


def test_curves_are_the_exact_values():
    tables = full_study().tables
    axes = full("capacity-trace").axes[1]
    rows = tables.rows(
        "capacity", "capacity", n_keys=32, divisor="root", method="quadrature"
    ).sort_values("d_k")
    assert any(list(line.get_ydata()) == list(rows["value"]) for line in axes.get_lines())


def test_the_story_marks_what_the_lessons_print():
    verdicts = pd.DataFrame(
        {
            "quantity": ["top_weight", "top_weight", "capacity"],
            "printed": ["0.35", "0.96", None],
            "where": ['{"d_k": 4, "n_keys": 32}', '{"d_k": 1024, "n_keys": 8}', None],
        }
    )
    tables = Tables(full_study().tables.measurements, verdicts)
    stars = [
        (line.get_xdata()[0], line.get_ydata()[0])
        for axes in drawn("story", tables).axes
        for line in axes.get_lines()
        if line.get_marker() == "*"
    ]
    assert stars == [(4, 0.35)]  # the other one speaks of rows of another length


@pytest.mark.parametrize("name", [name for name in ALL if REGISTRY[name].experiment])
def test_a_figure_without_data_says_so_and_leaves_no_image(tmp_path, name):
    whole = full_study().tables
    others = whole.measurements["experiment"] != REGISTRY[name].experiment
    tables = Tables(whole.measurements[others], whole.verdicts)
    for theme in style.THEMES:
        (tmp_path / f"{name}-{theme}.svg").write_text("of an earlier study")
    assert write_all(tables, tmp_path, [name]) == []
    assert [file.name for file in tmp_path.iterdir()] == [f"{name}.md"]
    block = (tmp_path / f"{name}.md").read_text()
    assert block.startswith(f"::: {{#fig-{name}}}\n")
    assert f"did not run the experiment `{REGISTRY[name].experiment}`" in block


DRAWINGS = [
    name
    for name in ALL
    # The same drawing as saturation-weight and capacity-trace.
    if not re.fullmatch(r"saturation-(closed|entropy)|capacity-derivative", name)
]


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize(
    "keep",
    [
        lambda table: (table["d_k"].fillna(4) == 4) & (table["n_keys"].fillna(32) == 32),
        lambda table: table["divisor"].fillna("root") == "root",
        lambda table: ~table["method"].isin(["closed_form", "quadrature"]),
        lambda table: table["stderr"].fillna(0) == 0,
    ],
    ids=["one cell", "one divisor", "nothing exact", "nothing sampled"],
)
def test_a_poorer_study_gives_a_figure_or_says_why_not(tmp_path, name, keep):
    whole = full_study().tables
    tables = Tables(whole.measurements[keep(whole.measurements)], whole.verdicts)
    reason = missing(REGISTRY[name], tables)
    assert write_all(tables, tmp_path, [name]) == ([] if reason else [name])
