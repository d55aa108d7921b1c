# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Starts programs as torchrun does, on one host and without PyTorch: N processes that know their places from variables.

usage: env_launcher.py [--leave] N PROGRAM WORD...   runs PROGRAM with each word in turn
       env_launcher.py [--leave] N -- PROGRAM WORD...   runs it once, with all words
--leave: do not end the others when one fails."""

import os
import signal
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def variables(rank, size, port):
    return os.environ | {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size),
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def launch(size, command, leave):
    port = free_port()
    ranks = [subprocess.Popen(command, env=variables(rank, size, port)) for rank in range(size)]
    signal.signal(signal.SIGTERM, lambda *_: [os.kill(rank.pid, signal.SIGTERM) for rank in ranks if rank.returncode is None])
    worst = 0
    for _ in range(size):
        pid, status = os.wait()
        done = next(rank for rank in ranks if rank.pid == pid)
        done.returncode = os.waitstatus_to_exitcode(status)
        if done.returncode != 0 and worst == 0:
            worst = done.returncode
            for rank in ranks if not leave else []:
                if rank.returncode is None:
                    os.kill(rank.pid, signal.SIGTERM)  # terminate() would wait for it too
    return worst


def main(words):
    leave = words[0] == "--leave"
    size, rest = int(words[leave]), words[leave + 1:]
    commands = [rest[1:]] if rest[0] == "--" else [[rest[0], word] for word in rest[1:]]
    for command in commands:
        print(" ".join(command[1:]), flush=True)
        if code := launch(size, command, leave):
            return abs(code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
