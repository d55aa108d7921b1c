# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Networks of hosts that are slow on purpose: so slow that the machine's own speed does not matter."""

CHECK = ["--backend", "host", "--size", "256K", "--iterations", "4", "--batches", "5", "--time", "4s",
         "--quiet"]


def shape(host, interface, mbit_per_s):
    """What this host sends. The queue holds more than is ever on its way, so nothing is dropped."""
    host.shell(f"tc qdisc replace dev {interface} root tbf rate {mbit_per_s}mbit burst 16kb limit 16mb")
