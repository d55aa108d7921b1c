# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Several hosts on one Linux machine, made of namespaces. Each has its own network interfaces, name, processes,
clock, boot id, /tmp, /dev/shm, /etc/hosts and home; programs and one shared folder are everybody's. What is
not apart is the hardware: CPUs and memory.

Nothing is left of them: no namespace has a name, so it ends with its processes, these end with the host's
first one, and that ends with the process that made it."""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PR_SET_PDEATHSIG = 1
NAMESPACES = ["--net", "--uts", "--ipc", "--mount", "--pid", "--time", "--mount-proc", "--fork", "--kill-child"]


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def why_not():
    """Why hosts cannot be made here; empty if they can."""
    for tool in ("unshare", "nsenter", "ip", "mount"):
        if shutil.which(tool) is None:
            return f"there is no {tool} (packages util-linux, iproute2)"
    trial = ["unshare", *NAMESPACES, "--monotonic", "1000", "sh", "-c",
             "mount -t sysfs sysfs /sys && mount -t tmpfs shm /dev/shm && ip link add type veth "
             "&& ip link add bridge0 type bridge"]
    done = subprocess.run(trial, capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        return f"namespaces cannot be made here, it takes root (CAP_SYS_ADMIN): {done.stderr.strip()}"
    return ""


class Host:
    """One host. Its clocks (CLOCK_MONOTONIC, its raw form, CLOCK_BOOTTIME) are ahead of the machine's."""

    def __init__(self, hosts, name, number, clock_ahead_s):
        self.hosts = hosts
        self.name = name
        self.clock_ahead_s = clock_ahead_s
        self.addresses = [f"10.{77 + network}.0.{number + 1}" for network in range(hosts.networks)]
        self.keeper = None

    def start(self):
        (self.hosts.shared / f"{self.name}.socket").unlink(missing_ok=True)
        description = self.hosts.shared / f"{self.name}.json"
        description.write_text(json.dumps({
            "name": self.name, "shared": str(self.hosts.shared), "kept": [str(path) for path in self.hosts.kept],
            "environment": {**self.hosts.environment, "HOME": "/tmp/home"}}))
        clocks = ["--monotonic", str(self.clock_ahead_s), "--boottime", str(self.clock_ahead_s)]
        self.keeper = subprocess.Popen(["unshare", *NAMESPACES, *clocks, sys.executable, str(HERE / "host_init.py"),
                                        str(description)], stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)

    def connect(self):
        """Puts its interfaces eth0, eth1, ... into the networks, and waits until commands can be given."""
        commands = []
        for network, address in enumerate(self.addresses):
            commands += [f"link add {self.name}{network} type veth peer name eth{network} netns {self.keeper.pid}",
                         f"link set {self.name}{network} master bridge{network} up"]
        self.hosts.in_switch(commands)
        self.ip(["link set lo up", *(f"link set eth{network} up" for network in range(len(self.addresses))),
                 *(f"addr add {address}/24 dev eth{network}" for network, address in enumerate(self.addresses))])
        end = time.monotonic() + 20
        while not (self.hosts.shared / f"{self.name}.socket").exists():
            if self.keeper.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"host {self.name} does not start")
            time.sleep(0.005)

    def ip(self, commands):
        run_ip(self.keeper.pid, commands)

    def cable(self, plugged, network=0):
        """Without the cable, nothing arrives, and both ends' interfaces still say that they are up."""
        word = f"master bridge{network}" if plugged else "nomaster"
        self.hosts.in_switch([f"link set {self.name}{network} {word}"])

    def call(self, command, folder=None, **environment):
        """The words of a command that runs one on this host."""
        call = {"command": command, "folder": str(folder or ""), "environment": environment}
        return [sys.executable, "-S", str(HERE / "enter_host.py"), "--json", str(self.hosts.shared), self.name,
                json.dumps(call)]

    def run(self, command, timeout=60, folder=None, **environment):
        return subprocess.run(self.call(command, folder, **environment), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)

    def shell(self, script):
        done = self.run(["sh", "-ec", script])
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {script}: {done.stdout}{done.stderr}")
        return done.stdout

    def end(self):
        """As if the power were cut."""
        if self.keeper is not None:
            self.keeper.kill()
            self.keeper.wait()

    def start_again(self):
        """After its end, with a new boot id and an empty /tmp."""
        for network in range(len(self.addresses)):  # the kernel may not have removed them yet
            subprocess.run(["nsenter", f"--target={self.hosts.switch.pid}", "--net", "ip", "link", "del", f"{self.name}{network}"],
                           capture_output=True)
        self.start()
        self.hosts.wait_for_namespaces()
        self.connect()


def run_ip(process, commands):
    subprocess.run(["nsenter", f"--target={process}", "--net", "ip", "-batch", "-"], input="\n".join(commands) + "\n",
                   text=True, check=True)


class Hosts:
    def __init__(self, shared, clocks_ahead_s, kept=(), networks=1, environment=None):
        """`clocks_ahead_s` by name; `kept`: folders below /tmp that every host sees."""
        self.shared = pathlib.Path(shared)
        self.networks = networks
        self.kept = [self.shared, *kept, HERE]
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(environment or {})}
        self.hosts = [Host(self, name, number, ahead) for number, (name, ahead) in enumerate(clocks_ahead_s.items())]
        self.switch = None

    def __enter__(self):
        self.shared.mkdir(exist_ok=True)
        lines = ["127.0.0.1 localhost"]
        for host in self.hosts:
            lines += [f"{address} {host.name}{'' if network == 0 else f'-{network}'}"
                      for network, address in enumerate(host.addresses)]
        (self.shared / "etc-hosts").write_text("\n".join(lines) + "\n")
        agent = self.shared / "agent"
        agent.write_text(f'#!/bin/sh\nexec {sys.executable} -S {HERE}/enter_host.py {self.shared} "$@"\n')
        agent.chmod(0o755)
        try:
            self.switch = subprocess.Popen(["unshare", "--net", "--fork", "--kill-child", "sleep", "infinity"],
                                           stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
            for host in self.hosts:
                host.start()
            self.wait_for_namespaces()
            self.in_switch([line for network in range(self.networks)
                            for line in (f"link add bridge{network} type bridge", f"link set bridge{network} up")])
            for host in self.hosts:
                host.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.end()
        if self.switch is not None:
            self.switch.kill()
            self.switch.wait()

    def __getitem__(self, name):
        return next(host for host in self.hosts if host.name == name)

    def wait_for_namespaces(self):
        own = os.readlink("/proc/self/ns/net")
        keepers = [self.switch, *(host.keeper for host in self.hosts)]
        end = time.monotonic() + 20
        while any(os.readlink(f"/proc/{keeper.pid}/ns/net") == own for keeper in keepers):
            if time.monotonic() > end or any(keeper.poll() is not None for keeper in keepers):
                raise RuntimeError("the namespaces of a host were not made")
            time.sleep(0.005)

    def in_switch(self, commands):
        run_ip(self.switch.pid, commands)

    def mpirun(self, ranks, *more):
        """The launcher's words, for a command on any of these hosts; `ranks` by host, in the order of ranks."""
        # Each host's mpirun daemon would bind its first rank to the same core, as the hardware is one.
        return ["mpirun", "--bind-to", "none", "--mca", "plm_rsh_agent", str(self.shared / "agent"),
                "--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0",
                "--host", ",".join(f"{name}:{count}" for name, count in ranks.items()), *more]
