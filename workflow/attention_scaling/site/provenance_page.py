"""Where the numbers come from, as tables: the libraries, the machines, the jobs, the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_scaling.figures.wording import listing, short
from attention_scaling.site.markdown import code, escape, table


def provenance_parts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Markdown of the parts of the provenance page, by the name under which it includes them."""
    return {
        "versions": _versions(provenance),
        "machines": _machines(provenance["jobs"]),
        "jobs": _jobs(provenance["jobs"]),
        "config": f"```yaml\n{provenance['config_text'].rstrip()}\n```\n",
    }


def _versions(provenance: Mapping[str, Any]) -> str:
    versions = {"Python": provenance["python"], **provenance["versions"]}
    return table(
        ["Package", "Version"],
        "ll",
        [[escape(name), escape(version)] for name, version in versions.items()],
        caption="Versions where the tables were joined",
        label="versions",
    )


def _machines(jobs: list[Mapping[str, Any]]) -> str:
    libraries: dict[tuple[str, ...], set[str]] = {}
    for job in jobs:
        machine = (
            job["host"],
            job["cpu"],
            job["accelerator"] or "none",
            f"{job['platform']}, Python {job['python']}",
            str(job["threads"]),
        )
        libraries.setdefault(machine, set()).update(job["blas"])
    return table(
        ["Machine", "CPU", "GPU", "System", "Threads a job", "BLAS"],
        "llllrl",
        [
            [*map(escape, machine), escape(listing(sorted(blas)) if blas else "none loaded")]
            for machine, blas in libraries.items()
        ],
        caption="The machines that ran jobs, and the BLAS that the jobs loaded",
        label="machines",
    )


def _jobs(jobs: list[Mapping[str, Any]]) -> str:
    return table(
        ["Experiment", "Part", "Machine", "Seconds", "Peak memory (MiB)", "Code"],
        "lllrrl",
        [
            [
                escape(job["experiment"]),
                escape(job["part"]),
                escape(
                    job["host"] + (f" ({job['scheduler_job']})" if job["scheduler_job"] else "")
                ),
                short(job["seconds"]),
                short(job["peak_bytes"] / 2**20),
                code(job["code"][:10]),
            ]
            for job in jobs
        ],
        caption="Every job: where it ran, how long, its peak memory, and a digest of the code that it ran",
        label="jobs",
    )
