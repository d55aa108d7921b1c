# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""`ncclprobe p2p` as a user sees it, without GPUs."""

import csv
import io
import json
import unittest

from program_test_case import ProgramTest, mpirun


class P2p(ProgramTest):
    def figures(self, method, direction, field="gb_per_s"):
        return {(row["from"], row["to"]): row[field] for row in self.report()
                if (row["method"], row["direction"]) == (method, direction)}

    def test_cpu_ranks_fill_the_matrices_by_messages_with_checked_data(self):
        for launcher in ((), mpirun(3)):
            with self.subTest(launcher=launcher):
                self.run_file = self.folder / f"run-{len(launcher)}.h5"
                ranks = () if launcher else ("--ranks", "3")
                done = self.measure("p2p", "--backend", "host", *ranks, "--sizes", "64K", launcher=launcher)

                self.assertIn("messages (sendrecv), one way, 64K", done.stdout)
                rows = self.report()
                self.assertEqual({(row["outcome"], row["data"]) for row in rows}, {("ok", "checked")})
                pairs = {(str(a), str(b)) for a in range(3) for b in range(3) if a != b}
                for direction in ("uni", "bi", "all"):
                    self.assertEqual(set(self.figures("sendrecv", direction)), pairs)
                self.assertEqual(set(self.figures("pingpong", "uni", "latency_ns")), pairs)
                for value in self.figures("sendrecv", "uni").values():
                    self.assertGreater(float(value), 0)
                self.assertEqual(self.processes(), [])

    def test_what_does_not_apply_to_the_cpu_is_said(self):
        done = self.measure("p2p", "--backend", "host", "--methods", "host,sendrecv", "--sizes", "4K")

        self.assertIn("host: CPU ranks only have the host's memory", done.stderr)
        self.measure("p2p", "--backend", "host", "--methods", "host", code=2)

    def test_synthetic_matrices_are_exact_and_say_so(self):
        done = self.measure("p2p", "--backend", "synthetic", "--ranks", "4", "--sizes", "1000000")

        self.assertIn("SYNTHETIC NUMBERS", done.stdout)
        priced = self.run_program("report", str(self.run_file), "--price", "30000")
        self.assertEqual(priced.returncode, 2)
        self.assertIn("this run is of P2P transfers", priced.stderr)
        expected = 1_000_000 / (2000 + 5000 + 10_000)  # launch, alpha, bytes at 100 GB/s
        for method in ("ce", "ce_read", "sm_write", "sm_read"):
            values = self.figures(method, "uni")
            self.assertEqual(len(values), 12)
            for value in values.values():
                self.assertAlmostEqual(float(value), expected, places=6)
        self.assertAlmostEqual(float(self.figures("ce", "bi", "both_ways_gb_per_s")["0", "1"]), 2 * expected, places=6)
        # A hop takes 1000 ns, the launch 2000 ns of 8192 hops.
        self.assertAlmostEqual(float(self.figures("latency", "uni", "latency_ns")["2", "3"]), 1000 + 2000 / 8192, places=4)
        self.assertEqual(set(self.figures("host", "uni")), {pair for rank in "0123" for pair in ((f"h{rank}", rank), (rank, f"h{rank}"))})

    def test_processes_of_one_host_reach_each_other_by_shared_memory(self):
        done = self.measure("p2p", "--backend", "synthetic", "--methods", "ce,latency", launcher=mpirun(2))

        self.assertIn("between processes (CUDA IPC)", done.stdout)
        self.assertEqual({row["mode"] for row in self.report()}, {"ipc"})
        self.measure("p2p", "--backend", "synthetic", "--mode", "direct", code=6, launcher=mpirun(2))

    def test_formats_go_to_standard_output_and_the_stored_run_gives_the_same(self):
        for form in ("csv", "json", "table"):
            with self.subTest(format=form):
                self.run_file = self.folder / f"{form}.h5"
                done = self.measure("p2p", "--backend", "synthetic", "--ranks", "2", "--methods", "ce", "--format", form)

                if form == "csv":
                    self.assertEqual(list(csv.DictReader(io.StringIO(done.stdout))), self.report())
                elif form == "json":
                    self.assertEqual(json.loads(done.stdout), self.report("json"))
                    self.assertEqual(json.loads(done.stdout)["schema"], "ncclprobe.p2p")
                else:
                    self.assertEqual(done.stdout, self.report("table"))

    def test_a_failure_is_stored_and_told(self):
        done = self.measure("p2p", "--backend", "host", "--methods", "sendrecv", "--sizes", "4G", "--directions", "uni",
                            "--ranks", "3", "--cell-timeout", "100ms", code=4)

        self.assertIn("sendrecv", done.stdout)
        self.assertEqual({row["gb_per_s"] for row in self.report()}, {""})

    def test_fresh_processes_are_pooled(self):
        done = self.measure("p2p", "--backend", "host", "--methods", "sendrecv", "--directions", "uni", "--sizes", "4K",
                            "--repeat", "2")

        self.assertIn("Trials       2: all ok", done.stdout)
        for row in self.report():
            self.assertIn(int(row["batches"]), range(2, 11))  # fewer where the time box ends a cell


if __name__ == "__main__":
    unittest.main()
