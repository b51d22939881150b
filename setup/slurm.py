"""What SLURM says of a job that failed, and what a killed run left with it: jobs that run for nobody."""

import re
import subprocess
import time
from pathlib import Path

ANNOUNCED = re.compile(r"SLURM run ID: (\S+)")
"""How Snakemake says the name that all jobs of a run have."""

STATE = re.compile(r"    message: (SLURM-job '\d+' failed, SLURM status is: '\w+')")
LOG = re.compile(r"    log: .*?([^ ]*/slurm_logs/[^ ]*\.log)")
"""How Snakemake names the log that SLURM kept of a job that failed."""

CAUSE = re.compile(r"error: .*(?:memory limit|oom|CANCELLED).*", re.IGNORECASE)
"""What SLURM writes into that log when it ends a job."""

PATIENCE_SECONDS = 120


def reasons(line: str) -> list[str]:
    """Why SLURM ended a job, as far as this line of Snakemake's report on it tells, or the log that it names."""
    if state := STATE.match(line):
        return [state[1]]
    if not (log := LOG.match(line)):
        return []
    try:
        text = Path(log[1]).read_text(errors="replace")
    except OSError:
        return []
    return list(dict.fromkeys(CAUSE.findall(text)))


def cancel(run: str) -> str | None:
    """Cancel the jobs of that name and wait for their end. What is in the way of it, or None.

    A job that is being ended still clears its output away, and would do so to the job that does its work again.
    """
    try:
        subprocess.run(["scancel", "--name", run], check=True)
        for _ in range(PATIENCE_SECONDS):
            left = subprocess.run(
                ["squeue", "--noheader", "--format=%A", "--name", run],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout.split()
            if not left:
                return None
            time.sleep(1)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{error}; where SLURM is at hand, type: scancel --name {run}"
    return f"SLURM still runs {', '.join(left)}, jobs of a run that was killed"
