# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""A fleet of four hosts, one of them with a slow network: the check names it, and no other."""

import json

from hosts_test_case import HostsTest, main
from shaped_network import CHECK, shape

NAMES = ("alpha", "beta", "gamma", "delta")


class FourHosts(HostsTest):
    names = NAMES
    ranks = {name: 1 for name in NAMES}

    def check(self, *arguments, code):
        done = self.succeed("fleet", "check", *CHECK, *arguments, ranks=self.ranks, export=("GLOO_SOCKET_IFNAME",),
                            timeout=180, code=code, GLOO_SOCKET_IFNAME="eth1")
        return done.stdout

    def test_the_slow_one_is_named_with_lines_to_paste(self):
        for name in self.names:
            shape(self.hosts[name], "eth1", 40 if name == "gamma" else 100)

        text = self.check("--slower", "30%", "--seed", "1", "--output", "/tmp/home/fleet.h5", code=14)

        self.assertIn("Fleet check: 4 nodes, 1 bad, 3 good", text)
        self.assertIn("scontrol update NodeName=gamma State=DRAIN Reason='ncclprobe: 0.", text)
        self.assertIn("kubectl cordon gamma", text)

    def test_a_host_with_another_number_of_ranks_is_left_out_and_named(self):
        for name in self.names:
            shape(self.hosts[name], "eth1", 100)
        ranks = {name: 1 if name == "beta" else 2 for name in self.names}
        done = self.run_program("fleet", "check", *CHECK, "--rounds", "1", "--format", "json", "--output",
                                "/tmp/home/ranks.h5", ranks=ranks, export=("GLOO_SOCKET_IFNAME",), timeout=180,
                                GLOO_SOCKET_IFNAME="eth1")

        report = json.loads(done.stdout[:done.stdout.rindex("}") + 1])
        self.assertEqual(done.returncode, 14, done.stderr)
        self.assertEqual({one["node"]: one["reason"] for one in report["nodes"] if one["state"] == "failed"},
                         {"beta": "has 1 rank, most nodes have 2"})


if __name__ == "__main__":
    main()
