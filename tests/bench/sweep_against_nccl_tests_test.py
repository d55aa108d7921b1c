# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""The comparison of a sweep with a loop of nccl-tests: what it reads and computes, and once whole, on synthetic ranks beside a
stand-in for nccl-tests."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import sweep_against_nccl_tests as bench

SCRIPT = pathlib.Path(bench.__file__)
OUTPUT = """# nThread 1 nGpus 2 minBytes 4096 maxBytes 8192 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        4096          1024     float     sum      -1    12.34    0.33    0.33      0    11.60    0.35    0.35      0
        8192          2048     float     sum      -1     1640    0.01    0.01    N/A   1638.9    0.01    0.01    N/A
# Out of bounds values : 0 OK
"""
STAND_IN = f"""#!/bin/sh
case "$*" in *"-b 8192 "*) exit 3;; esac
cat <<'END'
{OUTPUT}END
"""


class Reading(unittest.TestCase):
    def test_times_are_those_out_of_place(self):
        self.assertEqual(bench.times_of_nccl_tests(OUTPUT), {4096: 12.34, 8192: 1640.0})

    def test_only_cells_with_a_setting_that_ran_count(self):
        text = ("size_bytes,setting,outcome,is_default,time_us\n1024,default,ok,true,9\n1024,algorithm=Ring,ok,false,7.5\n"
                "2048,algorithm=Ring,skipped,false,\n")
        self.assertEqual(bench.times_of_sweep(text), {(1024, "algorithm=Ring"): 7.5})

    def test_the_loop_has_each_cell_under_its_variables(self):
        options = types.SimpleNamespace(nccl_tests=pathlib.Path("/t"), one_gpu=False, ranks=2, iterations=20, warmups=5)
        command, environment = bench.loop_command(options, 4096, {"NCCL_ALGO": "Ring"})
        self.assertEqual(command, ["/t/all_reduce_perf", "-b", "4096", "-e", "4096", "-n", "20", "-w", "5", "-c", "1", "-g", "2"])
        self.assertEqual(environment, {"NCCL_ALGO": "Ring"})
        options.one_gpu = True
        command, _ = bench.loop_command(options, 4096, {"NCCL_ALGO": "Ring"})
        self.assertEqual([word for word in command if word.startswith("NCCL_HOSTID")], ["NCCL_HOSTID=sweep-0", "NCCL_HOSTID=sweep-1"])
        self.assertEqual(command.count("NCCL_ALGO=Ring"), 2)

    def test_a_part_of_the_loop_is_scaled_and_said_so(self):
        figures = bench.compared(2.0, {(1, "a"): 2.0, (2, "a"): 4.0}, 10.0, 9, {(1, "a"): 3.0})
        self.assertEqual((figures["loop_s"], figures["times_faster"], figures["loop_is_scaled"]), (100.0, 50.0, True))
        self.assertEqual(figures["median_time_ratio"], 1.5)
        self.assertFalse(bench.compared(2.0, {}, 10.0, 90, {})["loop_is_scaled"])


class Whole(unittest.TestCase):
    def test_both_sides_run_90_cells_and_a_failed_program_costs_only_its_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "all_reduce_perf"
            program.write_text(STAND_IN)
            program.chmod(0o755)
            done = subprocess.run([sys.executable, SCRIPT, "--bin", os.environ["NCCLPROBE_BIN"], "--nccl-tests", folder, "--backend",
                                   "synthetic", "--json"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = json.loads(done.stdout)
        self.assertEqual((figures["cells"], figures["sweep_cells"], figures["loop_cells_started"]), (90, 90, 90))
        self.assertEqual(figures["loop_cells"], 6) # of 4096 bytes: the stand-in knows no other size
        self.assertAlmostEqual(figures["times_faster"], figures["loop_s"] / figures["sweep_s"])

    def test_missing_programs_are_named(self):
        done = subprocess.run([sys.executable, SCRIPT, "--bin", "/nowhere", "--nccl-tests", "/nowhere"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 77)
        self.assertIn("/nowhere/ncclprobe", done.stderr)


if __name__ == "__main__":
    unittest.main()
