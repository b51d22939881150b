"""
Why attention divides its scores by the square root of d_k: experiments, tables, figures, site.

    snakemake --cores 2                                          the study of config/config.yaml
    snakemake --cores 2 --configfile config/quick.yaml           another study
    snakemake --cores 2 --workflow-profile workflow/profiles/default     as `make report` runs it
"""

import sys
from pathlib import Path
from shlex import quote

from snakemake.utils import min_version

min_version("9.0")

# The code beside this file is what runs, whatever environment is active and wherever it was installed from.
PACKAGES = Path(workflow.basedir, "workflow")
sys.path.insert(0, str(PACKAGES))
shell.prefix(f"export PYTHONPATH={quote(str(PACKAGES))}; ")

# One whole file says what to run: jobs read it themselves, so nothing may be merged into it on the way.
if not workflow.overwrite_configfiles:

    configfile: "config/config.yaml"


include: "workflow/rules/common.smk"


wildcard_constraints:
    experiment="|".join(EXPERIMENTS),
    backend="|".join(BACKENDS),
    device="cpu|cuda",
    shard=r"\d+",
    shards=r"\d+",


include: "workflow/rules/experiments.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/site.smk"


# On a cluster, too, these run where Snakemake does: they take seconds.
localrules:
    all,
    collect,
    judge,
    publish,
    figures,
    pages,
    render,
    verify,


rule all:
    default_target: True
    input:
        rules.publish.output,
        rules.render.output,
        rules.verify.output,
    message:
        "everything is up to date"


# Before the first job, and only when there is one: the experiments' own settings and the ledger.
onstart:
    shell("python -m attention_scaling validate --config {CONFIG_PATH:q} >/dev/null")
