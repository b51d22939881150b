"""A configuration that cannot be run is refused in one line that names file, key and what is allowed."""

from pathlib import Path
from typing import get_origin

import pytest
from pydantic import AfterValidator

from attention_scaling.errors import UserError
from attention_scaling.experiments import REGISTRY
from attention_scaling.settings import check_config

ROOT = Path(__file__).parents[2]

GOOD = """
seed: 1
backends: [numpy]
experiments:
  correlation:
    correlations: [0.5]
    widths: [4, 16]
    key_counts: [8]
    samples: 100
"""


def refused(tmp_path, text):
    path = tmp_path / "my.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        check_config(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def test_a_good_config_is_taken(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(GOOD)
    config = check_config(path)
    assert config.experiments == ["correlation"]
    assert config.experiment("correlation").widths == [4, 16]
    assert config.devices("numpy") == ["cpu"]
    assert config.devices("torch") == ["cpu", "cuda"]


@pytest.mark.parametrize("name", ["config.yaml", "quick.yaml"])
def test_the_shipped_configs_are_valid(name):
    assert check_config(ROOT / "config" / name).experiments


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seed: 1", "sede: 1", ["sede", "seed"]),
        ("seed: 1", "seed: one", ["seed", "integer"]),
        ("seed: 1", "seed: -1", ["seed", "greater than or equal to 0"]),
        ("[4, 16]", "[4, -16]", ["experiments.correlation.widths.1", "greater than 0", "-16"]),
        ("[4, 16]", "[]", ["widths", "at least 1"]),
        ("seed: 1", "seed: 1\nshards: 1000000000", ["shards", "10000", "1000000000"]),
        ("samples: 100", f"samples: 1{'0' * 40}", ["correlation.samples", "less than or equal to"]),
        ("[4, 16]", f"[4, 1{'0' * 30}]", ["correlation.widths.1", "less than or equal to"]),
        ("[4, 16]", "[4, 4]", ["widths", "twice"]),
        ("[4, 16]", "many", ["widths", "list"]),
        ("[0.5]", "[1.5]", ["correlations.0", "less than or equal to 1", "1.5"]),
        ("[0.5]", "[.nan]", ["correlations.0", "finite"]),
        ("samples: 100", "samples: yes", ["correlation.samples", "True"]),
        ("[4, 16]", "[on, 16]", ["correlation.widths", "True"]),
        ("seed: 1", "seed: true", ["seed", "True"]),
        ("[numpy]", "[numpy, numpy]", ["backends", "twice"]),
        ("[numpy]", "[jax]", ["backends.0", "'numpy' or 'torch'", "jax"]),
        ("[numpy]", "[numpy", ["not valid YAML"]),
        ("samples: 100", "samples: 0", ["samples", "greater than 0"]),
        ("samples: 100", "samples: 100\n    smaples: 3", ["smaples", "unknown key", "samples"]),
        ("samples: 100", "samples: 100\n    samples: 3", ["samples", "twice"]),
        ("  correlation:", "  correlations:", ["experiments.correlations", "allowed are"]),
        ("seed: 1", "seed: {{ seed }}", ["my.yaml:2:", "as a key", "quotes"]),
        ("seed: 1", "seed: 2020-13-45", ["my.yaml:2:", "'2020-13-45' is no valid timestamp"]),
        ("seed: 1", f"seed: {'9' * 5000}", ["my.yaml:2:", "no valid int"]),
        ("seed: 1", "seed: !!bool maybe", ["my.yaml:2:", "'maybe' is no valid bool"]),
        ("seed: 1", "seed: !!timestamp now", ["my.yaml:2:", "no valid timestamp"]),
        (GOOD, "!!map [1, 2]", ["not valid YAML", "mapping"]),
        (GOOD, "[" * 3000, ["not valid YAML", "nest"]),
        (GOOD, "", ["mapping"]),
        (GOOD, "seed: 1", ["experiments"]),
    ],
)
def test_a_mistake_is_named(tmp_path, old, new, words):
    message = refused(tmp_path, GOOD.replace(old, new, 1))
    for word in words:
        assert word in message


def test_a_yaml_mistake_names_its_line(tmp_path):
    message = refused(tmp_path, "seed: 1\nexperiments: {a: [}\n")
    assert "my.yaml:2:" in message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        check_config(tmp_path / "none.yaml")


def test_counts_may_be_written_as_powers_of_ten(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(GOOD.replace("samples: 100", "samples: 1e6"))
    assert check_config(path).experiment("correlation").samples == 10**6


def test_settings_that_are_shared_by_a_merge_key_are_taken(tmp_path):
    shared = "  correlation: &grid\n"
    path = tmp_path / "my.yaml"
    path.write_text(GOOD.replace("  correlation:\n", shared) + MERGED)
    assert check_config(path).experiment("continuum").widths == [4, 16]
    assert check_config(path).experiment("continuum").samples == 50


MERGED = """
  continuum:
    <<: *grid
    samples: 50
"""


@pytest.mark.parametrize("experiment", REGISTRY)
def test_no_list_names_a_cell_twice(experiment):
    """What is named twice would be drawn twice, from the same stream, and count as twice the samples."""
    for name, field in REGISTRY[experiment].module().Settings.model_fields.items():
        if get_origin(field.annotation) is list and (experiment, name) != ("reconstruction", "row"):
            assert any(isinstance(part, AfterValidator) for part in field.metadata), name
