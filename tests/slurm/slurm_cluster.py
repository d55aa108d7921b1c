# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A Slurm cluster of two nodes on this machine: its own munge key, controller and slurmd of each node, as root."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

NODES = ("n1", "n2")
DAEMONS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=16 Gres=gpu:8
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=16 Gres=gpu:8
PartitionName=all Nodes=n1,n2 Default=YES State=UP
"""


def why_not():
    if os.geteuid() != 0:
        return "the daemons of Slurm need root"
    missing = [name for name in DAEMONS if not find(name)]
    return f"no {', '.join(missing)}; launch/setup.sh --full installs them" if missing else ""


def find(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmCluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []

    def __enter__(self):
        for name in ("state", *(f"spool.{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder,
                                                      ports=free_ports(3)))
        for number in range(8):
            (self.folder / f"gpu{number}").touch()
        (self.folder / "gres.conf").write_text(f"NodeName=n1,n2 Name=gpu File={self.folder}/gpu[0-7]\n")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        self.environment["SLURM_CONF"] = str(configuration)
        try:
            files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
            self.start("munged", "--force", "--foreground", f"--socket={self.folder}/munge.socket", *files)
            self.wait_until(lambda: (self.folder / "munge.socket").exists(), "munged")
            self.start("slurmctld", "-D")
            for node in NODES:
                self.start("slurmd", "-D", "-N", node)
            self.wait_until(lambda: self.run("sinfo", "-h", "-o", "%t %D").stdout.strip() == "idle 2", "two idle nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def start(self, program, *arguments):
        with open(self.folder / f"{program}.{len(self.daemons)}.out", "w") as output:
            self.daemons.append(subprocess.Popen([find(program), *arguments], stdin=subprocess.DEVNULL, stdout=output,
                                                 stderr=subprocess.STDOUT, env=self.environment, start_new_session=True))

    def wait_until(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                words = "".join(file.read_text(errors="replace")[-2000:] for file in sorted(self.folder.glob("*.out")))
                raise AssertionError(f"{what} not reached within {seconds} s\n{words}")
            time.sleep(0.1)

    def run(self, *command, **more):
        environment = self.environment | more
        return subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=240)

    def submit(self, file, **more):
        """Submits a batch script and waits for its end: its state, exit code and output."""
        done = self.run("sbatch", "--parsable", str(file), **more)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        job = done.stdout.strip()
        shown = {}

        def ended():
            nonlocal shown
            words = self.run("scontrol", "show", "job", job).stdout.split()
            shown = dict(word.split("=", 1) for word in words if "=" in word)
            return shown.get("JobState") not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")

        self.wait_until(ended, f"the end of job {job}", 240)
        output = (self.folder / f"ncclprobe-{job}.log").read_text()
        return shown["JobState"], int(shown["ExitCode"].split(":")[0]), output
