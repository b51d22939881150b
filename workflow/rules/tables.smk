"""
The two tables that everything else reads: the measurements, and the verdicts on the lessons' claims.
"""


rule collect:
    input:
        modules("collect"),
        jobs=list(job_files()),
    output:
        table="results/measurements.parquet",
        csv="results/measurements.csv",
        provenance="results/provenance.json",
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
        "python -m attention_scaling collect {input.jobs:q}"
        " --config {params.config:q} --output {output.table:q} >{log:q} 2>&1"
