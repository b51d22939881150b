"""Where the numbers come from, as tables: the libraries, the machines, the jobs, the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_scaling.figures.wording import listing, short
from attention_scaling.site.markdown import code, escape, table

MOST_ROWS = 200
"""Most jobs that the page lists one by one."""


def provenance_parts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Markdown of the parts of the provenance page, by the name under which it includes them."""
    return {
        "versions": _versions(provenance),
        "machines": f"{sameness(provenance['jobs'])}\n\n{_machines(provenance['jobs'])}",
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


def sameness(jobs: list[Mapping[str, Any]]) -> str:
    """Whether all jobs ran on machines alike, in a sentence: on unlike ones, last digits may differ."""
    kinds: dict[str, set[str]] = {}

    def note(kind: str, value: str | None) -> None:
        if value is not None:
            kinds.setdefault(kind, set()).add(value)

    for job in jobs:
        note("processors", job["cpu"])
        note("GPUs", job["accelerator"])
        note("systems", job["platform"])
        note("versions of Python", job["python"])
        for name, version in job["versions"].items():
            note(f"versions of {name}", version)
        note(f"states of the code of {job['experiment']}", job["code"][:10])
    unlike = [
        f"{len(found)} {kind} ({listing(sorted(found))})"
        for kind, found in kinds.items()
        if len(found) > 1
    ]
    if not unlike:
        return "All jobs ran on machines alike, with the same versions of everything."
    return escape(
        f"The jobs did not run alike: {'; '.join(unlike)}. On unlike machines, and under unlike versions, "
        "values may differ in their last digits."
    )


def _jobs(jobs: list[Mapping[str, Any]]) -> str:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for job in jobs:
        part = job["part"] if len(jobs) <= MOST_ROWS else job["part"].partition(" ")[0]
        groups.setdefault((job["experiment"], part), []).append(job)
    together = (
        "" if len(jobs) <= MOST_ROWS else " Shards are taken together, the JSON file has each."
    )
    return table(
        [
            "Experiment",
            "Part",
            "Jobs",
            "Machine",
            "Seconds",
            "Of a core",
            "Peak memory (MiB)",
            "Code",
        ],
        "llrlrrrl",
        [_job_row(*names, group) for names, group in groups.items()],
        caption="Every job: where it ran, how long, the time of a core that its process took, its peak memory, "
        f"and a digest of the code that it ran.{together}",
        label="jobs",
    )


def _job_row(experiment: str, part: str, jobs: list[Mapping[str, Any]]) -> list[str]:
    """One job, or many: the sum of their times, the largest of their peaks."""
    hosts = listing(sorted({job["host"] for job in jobs}))
    if len(jobs) == 1 and jobs[0]["scheduler_job"]:
        hosts += f" ({jobs[0]['scheduler_job']})"
    processes = [job["process"] for job in jobs]
    cores = "" if None in processes else short(sum(process["cpu_seconds"] for process in processes))
    peak = max(
        max(job["peak_bytes"], job["process"]["peak_bytes"] if job["process"] else 0)
        for job in jobs
    )
    return [
        escape(experiment),
        escape(part),
        str(len(jobs)),
        escape(hosts),
        short(sum(job["seconds"] for job in jobs)),
        cores,
        short(peak / 2**20),
        ", ".join(code(digest[:10]) for digest in sorted({job["code"] for job in jobs})),
    ]
