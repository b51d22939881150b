"""The same study gives the same measurements to the last byte, however it is cut up and run.

Times and peaks of memory are not among them: they have a table of their own, and the verdicts about them vary.
"""

TABLES = ("results/staged/measurements.parquet", "results/staged/measurements.csv")


def test_one_core_and_one_shard_give_the_bytes_of_two_cores_and_two_shards(finished, fresh):
    fresh.edit(fresh.tiny, "shards: 2", "shards: 1")
    run = fresh.run(TABLES[0], cores=1)
    assert run.returncode == 0, run.stdout
    assert not list(fresh.folder.glob("results/shards/*/*/1-of-2.parquet"))
    for table in TABLES:
        assert fresh.path(table).read_bytes() == finished.path(table).read_bytes()
