"""
Figures, drawn from the tables alone.
"""


rule figures:
    input:
        modules("figures.writing", *(f"figures.{name}" for name in FIGURES)),
        measurements=rules.publish.output.measurements,
        timings=rules.publish.output.timings,
        verdicts=rules.publish.output.verdicts,
    output:
        directory("reports/_generated/figures"),
    log:
        "logs/figures.log",
    benchmark:
        "results/benchmarks/figures.tsv"
    conda:
        "../envs/attention-scaling.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=lambda wildcards, output: CONFIG_PATH,
    message:
        "the figures"
    shell:
        "python -m attention_scaling figures --measurements {input.measurements:q}"
        " --verdicts {input.verdicts:q} --config {params.config:q} --output {output:q} >{log:q} 2>&1"
