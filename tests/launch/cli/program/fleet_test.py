# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""`ncclprobe fleet check` as a user sees it, on simulated nodes and on real ranks of the CPU."""

import csv
import io
import unittest

from program_test_case import ProgramTest, read_json

SIMULATED = ["--backend", "synthetic", "--ranks-per-node", "1", "--seed", "3", "--ranks"]
NODES = [*SIMULATED, "8"]
SLOW = ["--rank-set", "5:NCCLPROBE_SYNTHETIC_GB_PER_S=70"]


def states(report):
    return {one["node"].split("/")[1]: one["state"] for one in report["nodes"] if one["state"] != "good"}


class Fleet(ProgramTest):
    def test_a_slow_node_is_named_and_a_crashing_and_a_hanging_one_too(self):
        failing = ["--rank-set", "2:NCCLPROBE_SYNTHETIC_FAIL=crash", "--rank-set", "6:NCCLPROBE_SYNTHETIC_FAIL=hang",
                   "--cell-timeout", "3s"]
        done = self.measure("fleet", "check", *NODES, *SLOW, *failing, "--format", "json", code=14)

        report = read_json(done.stdout)
        self.assertEqual(states(report), {"rank 5": "bad", "rank 2": "failed", "rank 6": "failed"})
        by_name = {one["node"].split("/")[1]: one for one in report["nodes"]}
        self.assertAlmostEqual(by_name["rank 5"]["ratio"], 0.7, delta=0.03)
        self.assertEqual(by_name["rank 5"]["slow"], by_name["rank 5"]["measurements"])
        self.assertEqual({name: one["reason_id"] for name, one in by_name.items() if one["reason_id"] != "none"},
                         {"rank 5": "slow", "rank 2": "crashed", "rank 6": "never_finished"})
        self.assertIn("signal 6", by_name["rank 2"]["reason"])
        self.assertIn("did not finish with any of 2 partners", by_name["rank 6"]["reason"])
        self.assertEqual(report["why_incomplete"], "")
        self.assertEqual(self.processes(), [])

    def test_good_nodes_are_counted_and_an_earlier_check_tells_a_slower_fleet(self):
        done = self.measure("fleet", "check", *NODES, "--at-once", "4", "--quiet")
        self.assertIn("Fleet check [SYNTHETIC]: 8 nodes, 8 good", done.stdout)
        self.assertLess(len(done.stdout.splitlines()), 12)

        slower = self.run_program("fleet", "check", *NODES, "--baseline", str(self.run_file), "--output", "now.csv",
                                  "--format", "csv", NCCLPROBE_SYNTHETIC_GB_PER_S="85")
        self.assertEqual(slower.returncode, 14, slower.stderr)
        rows = list(csv.DictReader(io.StringIO((self.folder / "now.csv").read_text())))
        self.assertEqual([row["state"] for row in rows], ["good"] * 8)

    def test_each_node_is_compared_with_an_earlier_check_of_the_same_nodes(self):
        self.measure("fleet", "check", *NODES, *SLOW, code=14)
        again = ["fleet", "check", *NODES, "--baseline", str(self.run_file), "--format", "json", "--output"]
        now = self.run_program(*again, "now.json", *SLOW, "--rank-set", "2:NCCLPROBE_SYNTHETIC_GB_PER_S=80")
        self.assertEqual(now.returncode, 14, now.stderr)
        report = read_json((self.folder / "now.json").read_text())
        ratios = {one["node"].split("/")[1]: one["baseline_ratio"] for one in report["nodes"]}
        self.assertAlmostEqual(ratios.pop("rank 2"), 0.8, delta=0.03)
        for name, ratio in ratios.items():  # rank 5 was slow already
            self.assertAlmostEqual(ratio, 1, delta=0.03, msg=name)
        self.assertEqual(report["baseline"]["unknown_nodes"], 0)
        self.assertIn("of the baseline", {one["node"].split("/")[1]: one for one in report["nodes"]}["rank 2"]["reason"])

        for nodes, size in [("1", "1M"), ("2", "64M")]:
            refused = self.run_program("fleet", "check", "--backend", "synthetic", "--ranks", "8", "--ranks-per-node", nodes,
                                       "--size", size, "--baseline", str(self.run_file), "--output", "other.h5")
            self.assertEqual(refused.returncode, 6, refused.stderr)
            self.assertIn("not a fleet check of the same", refused.stderr)

    def test_good_nodes_are_measured_in_larger_groups_unless_that_is_refused(self):
        nodes = [*SIMULATED, "12"]
        done = self.measure("fleet", "check", *nodes, "--format", "json")
        report = read_json(done.stdout)
        self.assertEqual(report["large_groups"]["nodes"], 3)
        self.assertGreater(report["large_groups"]["usual_us"], report["usual_us"][0])

        for more in [["--large-group", "0"], ["--at-once", "2"]]:
            pairs = self.run_program("fleet", "check", *nodes, *more, "--format", "json", "--output", more[0] + ".h5")
            self.assertEqual(read_json(pairs.stdout)["large_groups"]["nodes"], 0, more)
        for size, at_once, why in [("5", [], "too few for three such groups"), ("2", [], "have 2 nodes already"),
                                   ("4", ["--at-once", "3"], "--at-once permits only 3 nodes")]:
            refused = self.run_program("fleet", "check", *nodes, *at_once, "--large-group", size)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(why, refused.stderr)

    def test_ranks_on_the_cpu_are_checked_and_three_nodes_are_too_few(self):
        cpu = ["fleet", "check", "--backend", "host", "--size", "4K", "--ranks-per-node"]
        done = self.run_program(*cpu, "2", "--ranks", "8", "--rounds", "1", "--time", "100ms", "--format", "json")
        report = read_json(done.stdout)
        self.assertEqual(report["counts"]["nodes"], 4)
        self.assertEqual(len(report["usual_us"]), 3)  # the whole, and two rails
        self.assertEqual(report["measured"]["measurements"], 2)

        few = self.run_program(*cpu, "1", "--ranks", "3")
        self.assertEqual(few.returncode, 6, few.stderr)
        self.assertIn("3 nodes cannot be told apart: a check needs at least 4", few.stderr)


if __name__ == "__main__":
    unittest.main()
