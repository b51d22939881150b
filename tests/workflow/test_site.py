"""What the workflow leaves for readers, and what stays of it when the next render fails."""

SITE = "reports/_site"


def test_the_run_says_what_it_found_and_where_the_site_is(finished):
    said = finished.run().stdout
    assert "2 claims" in said
    assert f"{SITE}: " in said
    assert "make serve" in said
    assert finished.path(f"{SITE}/index.html").is_file()


def test_the_site_offers_the_tables_that_it_was_made_from(finished):
    offered = {
        path.name: path.read_bytes() for path in finished.folder.glob(f"{SITE}/**/*.parquet")
    }
    for table in ("measurements.parquet", "timings.parquet", "verdicts.parquet"):
        assert offered[table] == finished.path(f"results/{table}").read_bytes()


def test_a_failed_render_leaves_the_old_site_and_says_why(workspace):
    before = workspace.contents(SITE)
    assert len(before) > 10
    page = workspace.path("reports/method.qmd")
    text = page.read_text()
    page.write_text(text + "\n{{< include /_generated/nothing.md >}}\n")
    run = workspace.run()
    assert run.returncode != 0
    assert "Traceback" not in run.stdout
    (error,) = [line for line in run.stdout.splitlines() if "error: " in line]
    assert "method.qmd" in error
    assert "nothing.md" in error
    assert workspace.contents(SITE) == before

    page.write_text(text)
    assert workspace.planned() == {"the site", "the verdicts against the expected ones"}


def test_an_unexpected_verdict_fails_the_run_after_the_site_is_made(workspace):
    workspace.edit(workspace.ledger, 'printed: "4"', 'printed: "5"')
    before = workspace.contents(SITE)
    run = workspace.run()
    assert run.returncode != 0
    assert "unexpected: signs-square-mean" in run.stdout
    assert "Traceback" not in run.stdout
    assert workspace.contents(SITE) != before
    assert workspace.planned() == {"the verdicts against the expected ones"}
