# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The first process of a host made of namespaces: sets the host up, then starts what it is asked to, as an
ssh server would. Its end is the end of everything on that host.

usage: host_init.py DESCRIPTION.json, with name, shared, kept and environment (see hosts.py)"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import uuid


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def set_up(host):
    shared = pathlib.Path(host["shared"])
    socket.sethostname(host["name"])
    boot_id = shared / f"{host['name']}.boot_id"
    boot_id.write_text(f"{uuid.uuid4()}\n")
    mount("--bind", str(boot_id), "/proc/sys/kernel/random/boot_id")
    mount("--bind", str(shared / "etc-hosts"), "/etc/hosts")
    # The network data in /sys belongs to the namespace in which /sys was mounted; the control
    # groups stay.
    mount("--rbind", "/sys/fs/cgroup", "/mnt")
    mount("-t", "sysfs", "sysfs", "/sys")
    mount("--rbind", "/mnt", "/sys/fs/cgroup")
    subprocess.run(["umount", "--recursive", "/mnt"], check=True)
    mount("-t", "tmpfs", "shm", "/dev/shm")
    # A separate /tmp, in which only the named files are shared.
    mount("-t", "tmpfs", "tmp", "/mnt")
    for kept in host["kept"]:
        inside = pathlib.PurePath(kept)
        if inside.is_relative_to("/tmp"):
            place = pathlib.Path("/mnt") / inside.relative_to("/tmp")
            place.mkdir(parents=True, exist_ok=True)
            mount("--rbind", kept, str(place))
    mount("--move", "/mnt", "/tmp")
    os.chmod("/tmp", 0o1777)
    pathlib.Path(host["environment"]["HOME"]).mkdir()


class Server:
    """Each connection is one command: a JSON line with the caller's descriptors 0, 1 and 2; its exit code
    goes back as a line once it has ended."""

    def __init__(self, host):
        self.host = host
        self.callers = {}  # by process id
        address = pathlib.Path(host["shared"]) / f"{host['name']}.socket"
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(f"{address}.new")
        self.server.listen(64)
        os.rename(f"{address}.new", address) # any process that sees it can connect

    def serve(self):
        signal.signal(signal.SIGCHLD, lambda *_: None)  # interrupts accept()
        wake, waker = socket.socketpair()
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.fileno())
        import select
        while True:
            ready, _, _ = select.select([self.server, wake], [], [])
            if wake in ready:
                wake.recv(4096)
                self.reap()
            if self.server in ready:
                self.start(self.server.accept()[0])

    def start(self, caller):
        text, descriptors, _, _ = socket.recv_fds(caller, 1 << 20, 3)
        while text and not text.endswith(b"\n"):
            more = caller.recv(1 << 20)
            if not more:
                break
            text += more
        if not text.endswith(b"\n") or len(descriptors) != 3:
            return caller.close()
        call = json.loads(text)
        pid = os.fork()
        if pid == 0:
            self.become(call, descriptors)
        self.callers[pid] = caller
        for descriptor in descriptors:
            os.close(descriptor)

    def become(self, call, descriptors):
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
            os.closerange(3, 256)
            os.chdir(call.get("folder") or self.host["environment"]["HOME"])
            environment = {**self.host["environment"], **call.get("environment", {})}
            os.execvpe(call["command"][0], call["command"], environment)
        except BaseException as error:
            os.write(2, f"{self.host['name']}: {call['command'][0]}: {error}\n".encode())
            os._exit(127)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            caller = self.callers.pop(pid, None)
            if caller is not None:
                try:
                    caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                except OSError:
                    pass  # it did not wait
                caller.close()


if __name__ == "__main__":
    description = json.loads(pathlib.Path(sys.argv[1]).read_text())
    set_up(description)
    Server(description).serve()
