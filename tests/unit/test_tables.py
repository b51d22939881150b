"""The measurement table is checked on writing and reading, and written whole or not at all."""

import pandas as pd
import pytest

from attention_scaling import parquet, shards, tables
from attention_scaling.collect import collect
from attention_scaling.errors import UserError
from attention_scaling.measurement import Measurement
from attention_scaling.moments import Moments
from attention_scaling.provenance import JobClock
from attention_scaling.settings import Config, Study

ROW = Measurement(
    experiment="correlation", quantity="top_weight", method="collapsed", d_k=4, value=0.5
)


SETTINGS = {"correlations": [0.5], "widths": [4], "key_counts": [8], "samples": 100}


def study(tmp_path, seed=1):
    config_path = tmp_path / "config.yaml"
    config_path.write_text("seed: 1")
    return Config(config_path, Study(seed=seed), {"correlation": SETTINGS})


def clock(tmp_path):
    digest = study(tmp_path).digest("correlation")
    return JobClock("correlation", "numpy-cpu 0 of 1", "numpy", "cpu", "c0de", digest)


def write_rows(path, *rows):
    shards.write(path, map(shards.ShardRow, rows), clock(path.parent))
    return path


def collected(tmp_path, *rows, seed=1):
    output = tmp_path / "measurements.parquet"
    file = write_rows(tmp_path / "shard.parquet", *rows)
    collect(study(tmp_path, seed), [file], output)
    return tables.read_measurements(output)


def changed(**fields):
    return Measurement(**(vars(ROW) | fields))


def test_rows_come_back_as_they_were(tmp_path):
    table = collected(tmp_path, ROW, changed(d_k=None, variant="x", value=None, skipped="no GPU"))
    assert len(table) == 2
    first = table[table["d_k"] == 4].iloc[0]
    assert first["value"] == 0.5
    assert pd.isna(first["rho"])
    assert list(table.columns) == tables.MEASUREMENT_SCHEMA.names


def test_times_and_memory_leave_the_other_table_as_it_is_to_the_last_byte(tmp_path):
    files = []
    for folder, seconds in (("first", 0.25), ("second", 0.75)):
        (tmp_path / folder).mkdir()
        time, peak = (changed(method=method, value=seconds) for method in tables.VARYING_METHODS)
        table = collected(tmp_path / folder, time, ROW, peak)
        assert sorted(table["value"]) == sorted([ROW.value, seconds, seconds])
        files.append(
            [
                (tmp_path / folder / f"measurements.{kind}").read_bytes()
                for kind in ("parquet", "csv")
            ]
        )
    assert files[0] == files[1]


def test_the_exact_value_of_a_cell_is_put_beside_every_measured_one(tmp_path):
    exact = changed(method="quadrature", value=0.49, stderr=0.0)
    other_cell = changed(d_k=8, value=0.7)
    table = collected(tmp_path, ROW, exact, other_cell)
    theory = table.set_index(["method", "d_k"])["theory"]
    assert theory["collapsed", 4] == 0.49
    assert pd.isna(theory["collapsed", 8])


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"method": "guessing"}, "method"),
        ({"value": None}, "value or the reason"),
        ({"skipped": "but it has a value"}, "value or the reason"),
        ({"rho": 1.5}, "rho"),
        ({"stderr": -1.0}, "stderr"),
        ({"divisor": "cube"}, "divisor"),
    ],
)
def test_a_bad_row_is_refused_in_one_line(tmp_path, fields, word):
    with pytest.raises(UserError, match=word) as caught:
        collected(tmp_path, changed(**fields))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "measurements.parquet").exists()


def test_two_rows_with_the_same_labels_are_refused(tmp_path):
    with pytest.raises(UserError, match="measurements.parquet"):
        collected(tmp_path, ROW, changed(value=0.6))


def test_a_damaged_file_is_one_line_that_names_it(tmp_path):
    path = tmp_path / "shard.parquet"
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(UserError, match=r"shard\.parquet: not a readable Parquet file"):
        shards.read(path)


def test_a_file_of_other_columns_is_refused(tmp_path):
    path = tmp_path / "other.parquet"
    pd.DataFrame({"x": [1]}).to_parquet(path)
    with pytest.raises(UserError, match="columns"):
        shards.read(path)


def test_a_failed_write_leaves_the_earlier_file(tmp_path):
    path = write_rows(tmp_path / "shard.parquet", ROW)

    def rows_that_break():
        yield shards.ShardRow(ROW)
        raise RuntimeError("in the middle")

    before = path.read_bytes()
    with pytest.raises(RuntimeError):
        shards.write(path, rows_that_break(), clock(tmp_path))
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [tmp_path / "config.yaml", path]


def test_a_file_of_another_study_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"shard\.parquet: .*another seed"):
        collected(tmp_path, ROW, seed=2)


def test_files_that_hold_the_same_samples_are_refused(tmp_path):
    """As shard 0 of 1 and shard 1 of 2 do: their samples would count twice."""
    row = shards.ShardRow(changed(value=None), run=0, moments=Moments(100, 0.5, 1.0))
    config, files = study(tmp_path), [tmp_path / "0-of-1.parquet", tmp_path / "1-of-2.parquet"]
    for file in files:
        shards.write(file, [row], clock(tmp_path))
    with pytest.raises(UserError, match="correlation, numpy on cpu: .*same samples"):
        collect(config, files, tmp_path / "measurements.parquet")
    assert len(collect(config, files[:1], tmp_path / "measurements.parquet")) == 1


@pytest.mark.parametrize("metadata", [{}, {b"job": b"{}"}, {b"job": b"not JSON"}])
def test_a_file_that_does_not_say_what_it_is_of_is_refused(tmp_path, metadata):
    parquet.write(tmp_path / "shard.parquet", [], shards.SHARD_SCHEMA, metadata)
    with pytest.raises(UserError, match=r"shard\.parquet: does not say"):
        shards.read(tmp_path / "shard.parquet")
