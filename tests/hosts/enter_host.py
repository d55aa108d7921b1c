# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What ssh would be: enter_host.py SHARED NAME WORD... gives the words to a shell on the host of that name.
With --json, the one word is a call as host_init.py reads it."""

import json
import pathlib
import socket
import sys


def enter(shared, name, call):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(pathlib.Path(shared) / f"{name}.socket"))
    except OSError as error:
        sys.exit(f"enter_host: {name}: {error}")
    socket.send_fds(connection, [json.dumps(call).encode() + b"\n"], [0, 1, 2])
    answer = b""
    while piece := connection.recv(64):
        answer += piece
    if not answer:
        sys.exit(f"enter_host: {name}: the host is gone")
    code = int(answer)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    if sys.argv[1] == "--json":
        sys.exit(enter(sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
    sys.exit(enter(sys.argv[1], sys.argv[2], {"command": ["/bin/sh", "-c", " ".join(sys.argv[3:])]}))
