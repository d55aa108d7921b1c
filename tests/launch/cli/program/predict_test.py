# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What follows from measured steps: the account of their scaling, predictions, claims."""

import json
import unittest

from program_test_case import ProgramTest, read_json


class Predict(ProgramTest):
    measured = None  # one run serves all tests

    def setUp(self):
        super().setUp()
        if Predict.measured is None:
            self.measure("--backend", "synthetic", "--workload", "ddp", "--model", "gpt2-124m", "--ranks", "1,2,4",
                         "--batch", "2", "--type", "bf16", "--repeat", "2")
            Predict.measured = self.run_file.read_bytes()
        self.run_file.write_bytes(Predict.measured)

    def run_well(self, *arguments, code=0):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_the_loss_account_of_real_marks_adds_up(self):
        report = json.loads(self.run_well("report", "run.h5", "--format", "json"))

        self.assertEqual([step["refused"] for step in report["steps"]], [[]] * 7)
        (scaling,) = report["scaling"]
        self.assertEqual([len(point["ranks"]) for point in scaling["points"]], [1, 2, 4])
        for point in scaling["points"]:
            terms = sum(term["share"] for term in point["account"].values())
            self.assertAlmostEqual(terms, point["lost"], places=12)
        self.assertLess(scaling["points"][2]["efficiency"]["value"], 1)
        for step in report["steps"]:
            parts = sum(step[part] for part in ("compute_ms", "uncovered_wait_ms", "uncovered_transfer_ms", "idle_ms"))
            self.assertAlmostEqual(parts, step["step_ms"], delta=1e-4 * step["step_ms"])

    def test_predictions_come_with_their_errors_first(self):
        text = self.run_well("predict", "run.h5", "--model", "gpt2-124m", "--ranks", "8,64", "--inter-node",
                             "50GB/s,5us")
        document = read_json(self.run_well("predict", "run.h5", "--model", "gpt2-124m", "--ranks", "8,64",
                                           "--inter-node", "50GB/s,5us", "--format", "json"))

        self.assertLess(text.index("How well the model fits"), text.index("Steps: computing measured at 4 ranks"))
        self.assertIn("[SYNTHETIC]", text.splitlines()[0])
        self.assertLess(abs(document["held_out_step"]["error"]), 0.1)
        self.assertLess(document["left_out_sizes"]["median_error"], 0.05)
        fewer, more = document["predicted"]
        self.assertLess(fewer["step_ms"], more["step_ms"])
        self.assertLess(more["efficiency"], fewer["efficiency"])

    def test_other_patterns_are_predicted_from_their_own_steps(self):
        self.run_file.unlink()
        self.measure("--backend", "synthetic", "--workload", "fsdp", "--model", "gpt2-124m:4", "--ranks", "1,2,4",
                     "--batch", "8", "--type", "bf16", "--repeat", "2", "--no-sweep")

        document = read_json(self.run_well("predict", "run.h5", "--ranks", "8", "--inter-node", "40-50GB/s,4-6us",
                                           "--format", "json"))

        self.assertEqual(document["workload"], "fsdp")
        self.assertLess(abs(document["held_out_step"]["error"]), 0.05)
        # From collectives on two ranks alone nobody knows how far off four are.
        self.assertIsNone(document["held_out_step"]["predicted_interval_ms"])
        (predicted,) = document["predicted"]
        self.assertGreater(predicted["half_width_inter_node"], 0)
        self.assertLess(predicted["step_interval_ms"][0], predicted["step_ms"])

    def test_another_model_computes_at_the_rates_of_the_measured_one(self):
        text = self.run_well("predict", "run.h5", "--model", "llama2-7b", "--ranks", "16,64,512", "--inter-node",
                             "50GB/s,5us")

        self.assertIn("ddp of llama2-7b, bf16, batch 2", text)
        self.assertIn("by the rates of ddp gpt2-124m, bf16, batch 2", " ".join(text.split()))
        self.assertNotIn("counts as 0", text)

    def test_what_is_missing_is_asked_for(self):
        done = self.run_program("predict", "run.h5", "--model", "llama2-7b", "--ranks", "8", "--type", "f16")

        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("give --forward and --backward", done.stderr)

    def test_a_claim_is_held_against_the_run(self):
        self.assertIn("means that 78% of the step is exposed",
                      self.run_well("claim", "--sync", "-9%", "--step", "-7%"))
        refused = self.run_well("claim", "--sync", "-50%", "--step", "-49%", "run.h5", code=9)
        self.assertIn("the claim does not fit", " ".join(refused.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
