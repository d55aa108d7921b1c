# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The comparison of tune with a grid: what it computes, and once whole, on synthetic ranks."""

import os
import re
import subprocess
import sys
import unittest

import tune_against_grid as bench

NOTHING = frozenset()


class TuneAgainstGrid(unittest.TestCase):
    def test_a_grid_has_every_combination_and_the_defaults(self):
        self.assertEqual(bench.combinations(["A=1", "B=2,3"]),
                         [NOTHING, {"B=2"}, {"B=3"}, {"A=1"}, {"A=1", "B=2"}, {"A=1", "B=3"}])

    def test_values_within_a_process_are_told_from_those_of_the_process(self):
        self.assertEqual(bench.split_setting("NCCL_MIN_CTAS=32 algorithm=Ring channels=8", "nvidia"),
                         ({"NCCL_MIN_CTAS=32"}, {"algorithm=Ring", "channels=8"}))
        self.assertEqual(bench.split_setting("default", "nvidia"), (NOTHING, NOTHING))

    def test_the_grid_and_the_first_half_choose_its_best(self):
        lucky, steady = frozenset({"algorithm=Ring"}), frozenset({"algorithm=Tree"})
        grid = {NOTHING: {1024: {lucky: [8.0], steady: [10.0]}}}
        first = {NOTHING: {1024: {lucky: [11.5, 11.5], steady: [10.0, 10.0]}}}

        self.assertEqual(bench.best_of_grid(grid, first, [NOTHING]), (NOTHING, {1024: steady}))

    def test_the_fastest_combinations_of_each_size_run_again(self):
        def of(text):
            return frozenset(text.split())
        grids = [{"algorithm": "Ring,Tree", "protocol": "LL,Simple"}, {"algorithm": "Ring,Tree", "protocol": "LL,Simple", "channels": "8,16"}]
        grid = {NOTHING: {1: {of("algorithm=Ring protocol=LL"): [1.0], of("algorithm=Tree protocol=LL"): [2.0], NOTHING: [9.0]},
                          2: {NOTHING: [1.0], of("algorithm=Tree protocol=LL"): [2.0], of("algorithm=Ring channels=8 protocol=LL"): [3.0]}}}

        self.assertEqual(bench.promising(grid, [NOTHING], grids), [{"algorithm": "Ring,Tree", "protocol": "LL"}])
        self.assertEqual(bench.promising({NOTHING: {1: {NOTHING: [1.0]}}}, [NOTHING], grids), [{}])

    def test_tune_finds_the_best_of_a_synthetic_grid(self):
        done = subprocess.run([sys.executable, "-B", bench.__file__, "--bin", os.environ["NCCLPROBE_BIN"], "--backend", "synthetic",
                               "--sizes", "1M,4M", "--process", "NCCLPROBE_SYNTHETIC_COPY_PPM=100000", "--share", "3"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        reached, gain = map(float, re.search(r"reaches ([\d.]+) of .* and ([\d.]+)x", done.stdout).groups())
        self.assertAlmostEqual(reached, 1, delta=0.01)
        self.assertGreater(gain, 1.9)


if __name__ == "__main__":
    unittest.main()
