"""
One job per experiment, backend, device and shard, and one for what an experiment knows exactly.
"""


rule exact:
    input:
        lambda wildcards: modules(
            f"experiments.{wildcards.experiment}", "experiments.job"
        ),
    output:
        "results/exact/{experiment}.parquet",
    log:
        "logs/exact/{experiment}.log",
    benchmark:
        "results/benchmarks/exact/{experiment}.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        config=lambda wildcards, output: CONFIG_PATH,
        settings=lambda wildcards: settings(wildcards.experiment),
    message:
        "{wildcards.experiment}: exact values"
    shell:
        "python -m attention_scaling exact {wildcards.experiment:q}"
        " --config {params.config:q} --output {output:q} >{log:q} 2>&1"


rule measure:
    input:
        lambda wildcards: modules(
            f"experiments.{wildcards.experiment}", "experiments.job"
        ),
    output:
        "results/shards/{experiment}/{backend}-{device}/{shard}-of-{shards}.parquet",
    log:
        "logs/measure/{experiment}/{backend}-{device}/{shard}-of-{shards}.log",
    benchmark:
        "results/benchmarks/measure/{experiment}/{backend}-{device}/{shard}-of-{shards}.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        # On a cluster, two Snakemakes of 170 MB run in the job as well; CUDA has libraries to load.
        mem_mb=lambda wildcards: 8000 if wildcards.device == "cuda" else 2000,
        runtime=240,
        gpu=lambda wildcards: int(
            wildcards.device in STUDY.study.devices and wildcards.device != "cpu"
        ),
    params:
        config=lambda wildcards, output: CONFIG_PATH,
        settings=lambda wildcards: settings(wildcards.experiment),
    message:
        "{wildcards.experiment}: {wildcards.backend} on {wildcards.device}, shard {wildcards.shard} of {wildcards.shards}"
    shell:
        "python -m attention_scaling run {wildcards.experiment:q}"
        " --backend {wildcards.backend:q} --device {wildcards.device:q}"
        " --shard {wildcards.shard}/{wildcards.shards}"
        " --config {params.config:q} --output {output:q} >{log:q} 2>&1"
