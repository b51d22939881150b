"""
The site: what the pages include, one render, and the verdicts held against the expected ones at the very end.
"""


rule pages:
    input:
        modules("site.pages"),
        ledger_files(),
        "reports/bench/ratios.csv",
        **rules.publish.output,
    output:
        variables="reports/_variables.yml",
        measurements="reports/_generated/measurements.md",
        downloads=directory("reports/_generated/downloads"),
    log:
        "logs/pages.log",
    benchmark:
        "results/benchmarks/pages.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=lambda wildcards, output: CONFIG_PATH,
    message:
        "the pages"
    shell:
        "python -m attention_scaling pages --measurements {input.measurements:q}"
        " --verdicts {input.verdicts:q} --provenance {input.provenance:q}"
        " --config {params.config:q} >{log:q} 2>&1"


# Snakemake would delete the old site before the new one is made, and after a failure, if the site were the
# output. The mark in it says that this site is the result of the last render; with the site it goes.
rule render:
    input:
        modules("site.render"),
        page_sources(),
        rules.figures.output,
        rules.pages.output,
    output:
        touch("reports/_site/.rendered"),
    log:
        "logs/render.log",
    benchmark:
        "results/benchmarks/render.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "the site"
    shell:
        "python -m attention_scaling render >{log:q} 2>&1"


rule verify:
    input:
        modules("ledger.judging", "ledger.verdicts"),
        rules.render.output,
        verdicts=rules.publish.output.verdicts,
    output:
        touch("results/verified"),
    log:
        "logs/verify.log",
    conda:
        "../envs/attention-scaling.yaml"
    params:
        config=lambda wildcards, output: CONFIG_PATH,
    message:
        "the verdicts against the expected ones"
    shell:
        "python -m attention_scaling verify --verdicts {input.verdicts:q}"
        " --config {params.config:q} >{log:q} 2>&1"
