# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What jobs_on_gpus.py and training_job.py compute. Their jobs need PyTorch and GPUs."""

import math
import unittest

import jobs_on_gpus as bench
import training_job


class JobsOnGpus(unittest.TestCase):
    def test_a_ratio_is_the_geometric_mean_of_pairs_and_one_pair_has_no_interval(self):
        ratio, low, high = bench.ratio_with_interval([2.0, 8.0], [1.0, 2.0])
        self.assertAlmostEqual(ratio, math.sqrt(8))
        self.assertLess(low, ratio)
        self.assertGreater(high, ratio)
        self.assertTrue(math.isnan(bench.ratio_with_interval([2.0], [1.0])[1]))

    def test_lines_of_a_job_stand_among_lines_of_others(self):
        text = 'W1128 torchrun: a warning\n{"torch": "2.11", "ranks": []}\nbare_cupti: 0 records\nbare_cupti: 41 records\nbare_cupti: 42 records\n'
        self.assertEqual(bench.line_of_job(text), {"torch": "2.11", "ranks": []})
        self.assertEqual(bench.records_of_bare_cupti(text), [41, 42])

    def test_times_of_a_job_are_means_over_ranks(self):
        said = {"ranks": [{"step_ms": [1.0, 2.0, 9.0]}, {"step_ms": [3.0, 4.0, 5.0]}]}
        self.assertEqual(bench.step_ms(said), 3.0)
        self.assertEqual(bench.mean_step_ms(said), 4.0)

    def test_what_a_plant_costs_is_the_mean_step_beside_steps_far_from_planted_ones(self):
        period = [12.0, 10.0, 10.0, 11.0, 17.0] # the last is planted; its neighbours do not count
        said = {"ranks": [{"step_ms": period * 2 + [99.0]}, {"step_ms": [10.0] * 11}]}
        self.assertAlmostEqual(bench.planted_cost_ms(said), 1.0)

    def test_a_report_is_divided_by_its_most_frequent_kind_of_steps(self):
        cells = [{"cell": 0, "steps": 2, "compute_ns": 8e6, "hidden_ns": 2e6, "exposed_wait_ns": 1e6, "exposed_transfer_ns": 3e6},
                 {"cell": 1, "steps": 1, "compute_ns": 99e6, "hidden_ns": 0, "exposed_wait_ns": 0, "exposed_transfer_ns": 0}]
        report = {"job": {"kinds": [{"cell": 1, "steps": 1}, {"cell": 0, "steps": 2}]}, "ranks": [{"cells": cells}, {"cells": cells}]}
        self.assertEqual(bench.division_of_report(report), {"computing_ms": 4.0, "hidden_ms": 1.0, "exposed_ms": 2.0})

    def test_a_plant_is_due_on_its_rank_in_every_nth_step(self):
        plant = training_job.Plant("host:1:3", 5, 1)
        self.assertEqual([step for step in range(12) if plant.is_due("host", step)], [4, 9])
        self.assertFalse(plant.is_due("copies", 4))
        self.assertFalse(training_job.Plant("host:1:3", 5, 0).is_due("host", 4))
        self.assertEqual([step for step in range(40) if training_job.Plant("mismatch:1:20", 5, 1).is_due("mismatch", step)], [20])

    def test_each_plant_of_the_bench_is_one_of_the_job(self):
        for plant in [*bench.PLANTS, bench.LINK_PLANT, *bench.WHAT_IF_PLANTS]:
            self.assertIn(f"  {plant.split(':')[0]}:RANK:", training_job.__doc__)


if __name__ == "__main__":
    unittest.main()
