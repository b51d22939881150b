"""
The tables that everything else reads: the measurements, and the verdicts on the lessons' claims.

The same study gives the same measurements to the last bit. Times and peaks of memory, which no two runs measure
alike, are a table of their own beside them; every command that is given the one reads both.

Snakemake deletes a job's old output before the job runs. So the tables are made in results/staged/ and take
the place of the earlier ones together, when both are whole: a job that fails leaves a pair that fits.
"""


rule collect:
    input:
        modules("collect"),
        jobs=job_files(),
    output:
        table="results/staged/measurements.parquet",
        csv="results/staged/measurements.csv",
        timings="results/staged/timings.parquet",
        timings_csv="results/staged/timings.csv",
        provenance="results/staged/provenance.json",
    log:
        "logs/collect.log",
    benchmark:
        "results/benchmarks/collect.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=lambda wildcards, output: CONFIG_PATH,
        settings=[settings(experiment) for experiment in STUDY.experiments],
    message:
        "the table of measurements"
    shell:
        # Not {input.jobs}: a command that names thousands of files is longer than the system takes.
        "python -m attention_scaling collect"
        " --config {params.config:q} --output {output.table:q} >{log:q} 2>&1"


rule judge:
    input:
        modules("ledger.loading", "ledger.judging", "ledger.verdicts"),
        ledger_files(),
        measurements=rules.collect.output.table,
        timings=rules.collect.output.timings,
    output:
        table="results/staged/verdicts.parquet",
        csv="results/staged/verdicts.csv",
    log:
        "logs/judge.log",
    benchmark:
        "results/benchmarks/judge.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=lambda wildcards, output: CONFIG_PATH,
        unmatched_claims=STUDY.study.unmatched_claims,
    message:
        "the verdicts"
    shell:
        "python -m attention_scaling judge --measurements {input.measurements:q}"
        " --config {params.config:q} --output {output.table:q} >{log:q} 2>&1"


rule publish:
    input:
        rules.collect.output,
        rules.judge.output,
    output:
        measurements="results/measurements.parquet",
        measurements_csv="results/measurements.csv",
        timings="results/timings.parquet",
        timings_csv="results/timings.csv",
        provenance="results/provenance.json",
        verdicts="results/verdicts.parquet",
        verdicts_csv="results/verdicts.csv",
    log:
        "logs/publish.log",
    conda:
        "../envs/attention-scaling.yaml"
    message:
        "the tables take their place in results/"
    shell:
        "cp {input:q} results/ >{log:q} 2>&1"
