"""A SLURM of one node, as tests need it: munged, slurmctld and slurmd of one's own, in one folder.

    python tests/cluster/slurm.py FOLDER        starts one, says how to use it, and ends it on Ctrl-C

Needs Debian's packages slurmctld, slurmd, slurm-client and munge; no systemd, no cgroups, no database, and no
root. The node has six cores, whatever the machine has, and one GPU that is none: /dev/null stands for it, so
that requests can be seen.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "squeue", "scancel", "sinfo", "srun")
# Debian keeps daemons where only root looks for them.
SEARCHED = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
PATIENCE_SECONDS = 30

SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
# Without cgroups, memory is watched every second, and a job over its request is ended.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=600
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
GresTypes=gpu
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs=6 RealMemory={memory} Gres=gpu:1
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=256
PartitionName=gpus Nodes=ALL MaxTime=INFINITE State=UP DefMemPerCPU=256
"""

# "disabled" is not known to every version; cgroup/v1 is, and touches nothing while nothing asks it to.
CGROUP_CONF = """
CgroupPlugin=cgroup/v1
CgroupMountpoint=/nonexistent
"""

GRES_CONF = """
AutoDetect=off
Name=gpu File=/dev/null
"""

# Snakemake's job step drops all SLURM_* variables, and with them the only word of where slurm.conf is.
SRUN = """#!/bin/sh
SLURM_CONF={folder}/slurm.conf exec {srun} "$@"
"""


def missing() -> list[str]:
    """The programs that a cluster needs and this machine lacks."""
    return [name for name in (*DAEMONS, *COMMANDS) if shutil.which(name, path=SEARCHED) is None]


class Cluster:
    """A running cluster, as a context manager; `environment` is what its users' processes need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        commands = os.pathsep.join([str(self.folder / "bin"), SEARCHED])
        self.environment = os.environ | {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": commands,
        }
        self._stack = ExitStack()

    def __enter__(self) -> Cluster:
        self._write()
        folder = self.folder
        with ExitStack() as started:
            self._start(
                started,
                *("munged", "--force", f"--key-file={folder}/munge.key"),
                *(f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid"),
                *(f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"),
            )
            self._start(started, "slurmctld", "-c")
            self._start(started, "slurmd", "-N", "localhost")
            self._wait_for_node()
            self._stack = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.run("scancel", "--user", getpass.getuser())
        self._stack.close()

    def run(self, *command: str) -> str:
        """What a command of SLURM prints."""
        return subprocess.run(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
        ).stdout

    def jobs(self, *options: str, show: str = "JobID") -> list[str]:
        """What squeue shows of the jobs that the options choose; by default those that wait or run."""
        return self.run("squeue", "--noheader", f"--Format={show}:500", *options).split()

    def _write(self) -> None:
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        controller_port, node_port = free_ports(2)
        settings = SLURM_CONF.format(
            folder=self.folder,
            host=socket.gethostname().partition(".")[0],
            user=getpass.getuser(),
            memory=memory_mb() * 9 // 10,
            controller_port=controller_port,
            node_port=node_port,
        )
        (self.folder / "slurm.conf").write_text(settings)
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        (self.folder / "gres.conf").write_text(GRES_CONF)
        wrapper = self.folder / "bin" / "srun"
        wrapper.write_text(SRUN.format(folder=self.folder, srun=shutil.which("srun")))
        wrapper.chmod(0o755)

    def _start(self, stack: ExitStack, *command: str) -> None:
        """Start a daemon, which goes into the background by itself, and have it ended by its number."""
        said = self.run(*command)
        pid_file = self.folder / f"{command[0]}.pid"
        if not eventually(lambda: pid_file.is_file() and pid_file.read_text().strip()):
            raise RuntimeError(f"{command[0]} did not start: {said}{self._logs()}")
        stack.callback(end, int(pid_file.read_text()))

    def _wait_for_node(self) -> None:
        if not eventually(lambda: self.run("sinfo", "-h", "-o", "%T").split()[:1] == ["idle"]):
            raise RuntimeError(f"the node does not get ready: {self._logs()}")

    def _logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))


def eventually(condition, seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether the condition comes to hold within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def end(pid: int) -> None:
    """End a process and wait until it is gone: a new controller must not meet the old one."""

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # What nobody waits for stays a zombie where process 1 does not reap.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"

    for number in (signal.SIGTERM, signal.SIGKILL):
        if not gone():
            os.kill(pid, number)
            eventually(gone, 10)


def free_ports(count: int) -> list[int]:
    """Ports of this machine on which nobody listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [opened.getsockname()[1] for opened in sockets]


def memory_mb() -> int:
    """This machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


if __name__ == "__main__":
    with Cluster(Path(sys.argv[1])) as cluster:
        print(f"export SLURM_CONF={cluster.environment['SLURM_CONF']}")
        print(f"export PATH={cluster.folder}/bin:$PATH", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
