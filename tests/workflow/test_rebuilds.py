"""What a run does again after a change: what is needed, and no more."""

import os
import time

EXACT = "{}: exact values"
SAMPLED = "{}: {} on cpu, shard {} of 2"
TABLES = {"the table of measurements", "the verdicts", "the tables take their place in results/"}
AFTER_TABLES = {"the figures", "the pages", "the site", "the verdicts against the expected ones"}


def jobs_of(experiment: str) -> set[str]:
    sampled = (
        SAMPLED.format(experiment, backend, shard)
        for backend in ("numpy", "torch")
        for shard in (0, 1)
    )
    return {EXACT.format(experiment), *sampled}


def test_a_fresh_clone_runs_everything(fresh):
    assert fresh.planned() == jobs_of("variance") | jobs_of("saturation") | TABLES | AFTER_TABLES


def test_the_code_that_runs_is_the_code_beside_the_snakefile(workspace):
    # The environment's editable install points elsewhere.
    module = workspace.path("workflow/attention_scaling/figures/writing.py")
    module.write_text(module.read_text() + "\nprint('edited here')\n")
    assert workspace.run().returncode == 0
    assert "edited here" in workspace.path("logs/figures.log").read_text()


def test_a_second_run_does_nothing(workspace):
    before = workspace.contents("results")
    again = workspace.run()
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout
    assert workspace.contents("results") == before


def test_touching_files_reruns_nothing(workspace):
    later = time.time() + 10
    for pattern in ("workflow/**/*.py", "config/**/*", "tests/workflow/**/*", "Snakefile"):
        for path in workspace.folder.glob(pattern):
            os.utime(path, (later, later))
    for path in workspace.folder.glob("results/**/*"):
        os.utime(path, (later + 10, later + 10))
    assert workspace.planned() == set()


def test_an_edited_ledger_entry_is_judged_again_and_nothing_measured(workspace):
    workspace.edit("tests/workflow/lessons/tiny.yaml", 'printed: "4"', 'printed: "4.0"')
    assert workspace.planned() == AFTER_TABLES | TABLES - {"the table of measurements"}


def test_an_edited_page_is_rendered_and_nothing_else_done(workspace):
    page = workspace.path("reports/method.qmd")
    page.write_text(page.read_text() + "\nOne more sentence.\n")
    assert workspace.planned() == {"the site", "the verdicts against the expected ones"}


def test_an_edited_experiment_runs_again_and_no_other(workspace):
    module = workspace.path("workflow/attention_scaling/experiments/saturation.py")
    module.write_text(module.read_text() + "\nEDITED = True\n")
    assert workspace.planned() == jobs_of("saturation") | TABLES | AFTER_TABLES


def test_an_edit_that_is_taken_back_leaves_nothing_to_do(workspace):
    module = workspace.path("workflow/attention_scaling/experiments/saturation.py")
    original = module.read_text()
    module.write_text(original + "\nEDITED = True\n")
    assert workspace.planned()
    module.write_text(original)
    assert workspace.planned() == set()


def test_an_edit_of_the_command_line_reruns_nothing(workspace):
    module = workspace.path("workflow/attention_scaling/cli.py")
    module.write_text(module.read_text() + "\nEDITED = True\n")
    assert workspace.planned() == set()


def test_a_changed_block_runs_its_experiment_and_no_other(workspace):
    workspace.edit("tests/workflow/tiny.yaml", "samples: 400", "samples: 401")
    assert workspace.planned() == jobs_of("variance") | TABLES | AFTER_TABLES


def test_a_changed_seed_runs_all_experiments(workspace):
    workspace.edit("tests/workflow/tiny.yaml", "seed: 1", "seed: 2")
    assert (
        workspace.planned() == jobs_of("variance") | jobs_of("saturation") | TABLES | AFTER_TABLES
    )


def test_the_same_study_under_another_name_reruns_nothing(workspace):
    text = workspace.path("tests/workflow/tiny.yaml").read_text()
    workspace.path("my.yaml").write_text(f"# a copy with a comment\n{text}")
    assert workspace.planned(config="my.yaml") == set()


def test_a_lost_table_is_made_again_from_what_is_there(workspace):
    workspace.path("results/verdicts.csv").unlink()
    assert workspace.planned() == {"the tables take their place in results/"} | AFTER_TABLES


def test_a_lost_site_is_rendered_again(workspace):
    site = workspace.path("reports/_site")
    site.rename(site.with_name("elsewhere"))
    assert workspace.planned() == {"the site", "the verdicts against the expected ones"}
