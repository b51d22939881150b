"""Run the workflow as `make` does: `workflow.py --config FILE --cores N --profile NAME [Snakemake's options]`.

Runs on .venv's Python. Around Snakemake it adds what a person at a terminal would have to know: the
study is checked first, one run at a time works in this folder, a killed run leaves no lock and no jobs
behind for the next one to stumble over, and of Snakemake's report on each job the lines that say
something stay.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import slurm

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / ".snakemake" / "run.lock"
PROFILES = Path("workflow", "profiles")
WRITTEN = ("reports", ".snakemake", "logs", "results", "reports/_generated")
"""Folders that a run writes in; in all but the first, which has the pages' sources, in their folders too."""

LOST_AFTER_SECONDS = 1.0
"""An interrupt that Snakemake has not answered by then, and goes on talking, did not reach it."""

# What Snakemake says of every job beside its message and the count of steps.
CHATTER = re.compile(
    r"\s*$|\[\w{3} \w{3} .*\]$|(Select jobs to execute|Building DAG of jobs)\.\.\.$|Execute \d+ jobs"
    r"|Finished jobid: |Using (shell|workflow specific profile)|Provided cores|Rules claiming more threads"
    r"|Touching output file|Assuming unrestricted shared filesystem|Conda environments: ignored"
    r"|Complete log\(s\): |Using profiles |Provided remote nodes|SLURM run ID|Job \d+ has been submitted"
    r"|Submitted (array |group )?job|Cleaning up SLURM log files|No SLURM account given|No account was given"
    r"|Unable to guess SLURM account"
)

# What it says of a job that failed beside the job's rule, its log file, and the lines in that.
FAILURE = re.compile(
    r"RuleException:|CalledProcessError in file |Command '|Logfile .*:$|={20}|Shutting down"
    r"|    (message|jobid|input|output|shell|conda-env|benchmark): ?|        (python|cp|export) "
    r"|        \(command exited|At least one job did not complete|WorkflowError:$"
)


def main() -> int:
    """Check the study, then run it; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--cores", required=True, help="a number, or all")
    parser.add_argument("--profile", default="default", help="where jobs run (default: here)")
    options, others = parser.parse_known_args()
    # With 0 cores Snakemake waits for ever.
    if options.cores != "all" and not (options.cores.isdecimal() and int(options.cores)):
        print(
            f"error: CORES: must be a number from 1 on, or all (given: {options.cores})",
            file=sys.stderr,
        )
        return 2
    if wrong := {*"{}:"} & {*str(ROOT)}:
        print(
            f"error: {ROOT}: Snakemake and PATH allow no {' or '.join(sorted(wrong))} in the project's path",
            file=sys.stderr,
        )
        return 2
    os.chdir(ROOT)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    paths = [str(ROOT / "workflow"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ.pop("SNAKEMAKE_PROFILE", None)  # the profile is what --profile names

    validate = [sys.executable, "-m", "attention_scaling", "validate", "--config", options.config]
    if status := subprocess.run(validate, stdout=subprocess.DEVNULL).returncode:
        return status
    if problem := unwritable():
        print(f"error: {problem}", file=sys.stderr)
        return 2
    snakemake = [
        *(sys.executable, "-m", "snakemake"),
        *("--configfile", options.config),
        *("--workflow-profile", PROFILES / "default"),
        *profile(options.profile),
        *("--cores", options.cores),
    ]
    with only_run() as lock:
        if os.fstat(lock).st_size:
            print("the last run was killed; this one goes on from what it finished", flush=True)
            if (run := left_with_slurm(lock)) and (problem := slurm.cancel(run)):
                print(f"error: {problem}", file=sys.stderr)
                return 2
            subprocess.run([*snakemake, "--unlock", "--quiet", "all"], check=True)
            os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
        status = follow(
            subprocess.Popen(
                [*snakemake, *others],
                # A shell's background job ignores interrupts; Snakemake must not, see `follow`.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                process_group=0,  # so that its jobs can be stopped with it
                pass_fds=[lock],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ),
            lock,
        )
        if status >= 0:  # not killed: Snakemake has cleared up behind itself
            os.ftruncate(lock, 0)
    if status == 0 and not others:
        tell()
    return abs(status)


def profile(name: str) -> list[str | Path]:
    """Snakemake's options for a profile: one of the project's, else one that Snakemake finds for the name."""
    if name == "default":
        return []
    own = PROFILES / name
    return ["--profile", own if own.is_dir() else name]


def left_with_slurm(lock: int) -> str | None:
    """The name of the jobs that the killed run had with SLURM; see `follow`."""
    _, *runs = os.pread(lock, 1000, 0).decode().split()
    return runs[-1] if runs else None


def tell() -> None:
    """Say what there is to see, in the words of the stages that made it."""
    for log in ("verify", "render"):
        path = Path("logs", f"{log}.log")
        if path.is_file():
            print(path.read_text(encoding="utf-8").rstrip())
    print(
        "the site is in reports/_site; `make serve` shows it at http://127.0.0.1:8000/", flush=True
    )


def unwritable() -> str | None:
    """What stands in the way of writing a folder of the project; Snakemake answers with a traceback."""
    for folder in WRITTEN:
        try:
            Path(folder).mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            return f"{folder}: cannot be written ({error.strerror})"
        for inner, _, _ in os.walk(folder) if folder != WRITTEN[0] else ():
            if not os.access(inner, os.W_OK | os.X_OK):
                return f"{inner}: cannot be written (Permission denied)"
    return None


@contextmanager
def only_run() -> Iterator[int]:
    """The locked file that a run holds, as a descriptor; empty, unless the run before was killed.

    Snakemake inherits the descriptor, so the lock lasts as long as one of the two lives.
    """
    LOCK.parent.mkdir(exist_ok=True)
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process = os.read(descriptor, 1000).decode().split()[:1]
        raise SystemExit(
            f"another run works in this folder (process {' '.join(process)})"
        ) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def follow(snakemake: subprocess.Popen[str], lock: int) -> int:
    """Pass on what Snakemake says, but for the chatter; its exit status, negative when killed.

    A run whose output nobody reads any more goes on without saying so.

    The name of its jobs with SLURM is written into the lock: whoever clears up behind a killed run needs it.
    """
    # An interrupt stops Snakemake and its jobs, whichever way this run is told to stop. SIGTERM would not
    # do: Snakemake's handler waits for a lock that the interrupted code may hold, and then for ever.
    interrupted = None

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = time.monotonic()
        os.killpg(snakemake.pid, signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, interrupt)
    for line in snakemake.stderr:
        if line.startswith("Terminating processes"):
            interrupted = None
        elif interrupted is not None and time.monotonic() - interrupted > LOST_AFTER_SECONDS:
            interrupt()  # Snakemake loses one now and then
        if announced := slurm.ANNOUNCED.match(line):
            os.write(lock, f"{announced[1]}\n".encode())
        try:
            if not CHATTER.match(line) and not FAILURE.match(line):
                print(line, end="", flush=True)
            for reason in slurm.reasons(line):
                print(f"    SLURM: {reason}", flush=True)
        except BrokenPipeError:
            say_no_more()
    return snakemake.wait()


def say_no_more() -> None:
    """Let what is printed go nowhere: the reader of the pipe, such as `head`, has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        say_no_more()
        sys.exit(141)
