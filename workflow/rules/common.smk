"""
What the rules need to know of the study: its config, its jobs, and the code that a stage uses.
"""

import json
import os
from functools import cache
from pathlib import Path

from attention_scaling.backends import NAMES as BACKENDS
from attention_scaling.errors import UserError
from attention_scaling.experiments import REGISTRY as EXPERIMENTS
from attention_scaling.figures import REGISTRY
from attention_scaling.imports import files_of
from attention_scaling.jobs import jobs
from attention_scaling.settings import load_config
from snakemake.exceptions import WorkflowError

# Rules take the config's path as `lambda wildcards, output: CONFIG_PATH`. Snakemake does not compare a
# parameter that depends on the output with that of the last run, and so it should be: the same settings
# under another file name rerun nothing. What is compared is settings().


def load_study():
    """The path of the one config file, and the validated config in it."""
    *others, path = workflow.configfiles
    if others or workflow.config_settings.config:
        raise WorkflowError(
            "The study is one config file: --configfile takes a single one, and --config is not used."
        )
    path = os.path.relpath(path)
    try:
        return path, load_config(path)
    except UserError as error:
        raise WorkflowError(str(error)) from None


CONFIG_PATH, STUDY = load_study()
FIGURES = [figure.module_name.rpartition(".")[2] for figure in REGISTRY.values()]


@cache
def modules(*names):
    """The package's files that a stage made of the named modules runs: an edit to one reruns it."""
    return [
        os.path.relpath(file)
        for file in files_of(*(f"attention_scaling.{name}" for name in names))
    ]


def settings(experiment):
    """What the config says that an experiment's numbers depend on, as canonical JSON."""
    return json.dumps(
        {"seed": STUDY.study.seed, experiment: STUDY.block(experiment)}, sort_keys=True
    )


def ledger_files():
    """The files of the ledger."""
    return [str(file) for file in sorted(STUDY.study.lessons.glob("*.yaml"))]


def page_sources():
    """What people wrote of the site: pages, style and scripts, its configuration, and Pandoc's filters."""
    written = (
        *Path("reports").glob("*.*"),
        *Path("reports/assets").rglob("*.*"),
        *Path("workflow/attention_scaling/site/pandoc").glob("*.[!p]*"),
    )
    return sorted(str(file) for file in written if file.name != "_variables.yml")


def job_files():
    """The files of all jobs of the study."""
    return [job.file for job in jobs(STUDY)]
