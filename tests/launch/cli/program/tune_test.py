# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""tune: what it searches, finds, proves and writes."""

import json
import signal
import subprocess
import unittest

from program_test_case import ProgramTest, mpirun, read_json

# Two parameters of the model make it faster: there is something to win.
SYNTHETIC = ["--backend", "synthetic", "--ranks", "2", "--for", "all_reduce:64K-4M", "--seed", "5"]
ON_CPU = ["--backend", "host", "--ranks", "2", "--for", "all_reduce:64K,1M", "--seed", "5"]


class Tune(ProgramTest):
    def tune(self, *arguments, code=0, **more):
        done = self.run_program("tune", *arguments, "--format", "json", timeout=200, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return read_json(done.stdout)

    def files(self, folder="tuned"):
        return sorted(path.name for path in (self.folder / folder).iterdir())

    def test_what_would_be_tried_is_shown_and_nothing_is_measured(self):
        shown = self.tune(*ON_CPU, "--dry-run")
        self.assertFalse(shown["measured"])
        self.assertEqual([one["parameter"] for one in shown["parameters"]], ["algorithm", "chunk_bytes"])
        self.assertTrue(all(one["in_process"] and one["why_tried"] and one["values"][0] == "" for one in shown["parameters"]))
        self.assertFalse((self.folder / "tuned").exists())
        self.assertGreater(shown["forecast"]["trial_seconds"], 0)
        stages = {one["part"]: one for one in shown["forecast"]["stages"]}
        self.assertEqual(list(stages), ["floor", "screen", "confirm", "delivery"])
        self.assertGreater(stages["screen"]["combinations"], 0)
        self.assertLess(sum(one["seconds"] for one in stages.values()), 600)
        shown = self.tune(*ON_CPU, "--dry-run", "--budget", "1s")
        self.assertIn("budget_too_short", [one["id"] for one in shown["findings"]])

    def test_a_variable_of_the_environment_is_pinned(self):
        pinned = {"NCCLPROBE_GLOO_ALGORITHM": "ring"}
        shown = self.tune(*ON_CPU, "--dry-run", **pinned)
        self.assertEqual([one["parameter"] for one in shown["parameters"]], ["chunk_bytes"])
        self.assertEqual(shown["pinned"], [{"name": "NCCLPROBE_GLOO_ALGORITHM", "value": "ring"}])
        shown = self.tune(*ON_CPU, "--dry-run", "--override", "NCCLPROBE_GLOO_ALGORITHM", **pinned)
        self.assertEqual([one["parameter"] for one in shown["parameters"]],
                         ["NCCLPROBE_GLOO_ALGORITHM", "algorithm", "chunk_bytes"])

    def test_what_a_file_of_nccl_sets_is_part_of_the_environment(self):
        (self.folder / "nccl.conf").write_text("NCCL_ALGO=Ring\nNCCL_PROTO=LL\n")
        shown = self.tune(*SYNTHETIC, "--dry-run", NCCL_CONF_FILE=str(self.folder / "nccl.conf"), NCCL_PROTO="Simple")
        seen = {one["variable"]: (one["value"], one["file"]) for one in shown["environment"]}
        self.assertEqual(seen["NCCL_ALGO"], ("Ring", str(self.folder / "nccl.conf")))
        self.assertEqual(seen["NCCL_PROTO"], ("Simple", None))

    def test_a_variable_that_harms_is_found_and_the_others_are_not_accused(self):
        environment = {"NCCLPROBE_SYNTHETIC_GB_PER_S": "50", "NCCLPROBE_SYNTHETIC_COPY_PPM": "0",
                       "NCCLPROBE_SYNTHETIC_ALPHA_NS": "2000", "NCCL_ALGO": "Ring"}
        found = self.tune(*SYNTHETIC, "--check-environment", "--budget", "5m", **environment)
        effects = {one["variable"]: one["effect"] for one in found["environment"]}
        self.assertEqual(effects, {"NCCLPROBE_SYNTHETIC_GB_PER_S": "harms", "NCCL_ALGO": "none",
                                   "NCCLPROBE_SYNTHETIC_COPY_PPM": "not shown to harm",
                                   "NCCLPROBE_SYNTHETIC_ALPHA_NS": "not shown to harm"})
        self.assertEqual(found["remove"], ["NCCLPROBE_SYNTHETIC_GB_PER_S"])
        self.assertEqual(found["settings"], [])
        self.assertGreater(found["proof"]["interval"][0], 1.4)
        subprocess.run(["sh", "-eu", "-c", ". tuned/settings.sh; test -z \"${NCCLPROBE_SYNTHETIC_GB_PER_S:-}\""],
                       cwd=self.folder, check=True, env={**environment, "PATH": "/usr/bin:/bin"})
        self.assertEqual(self.files(), ["proof.h5", "settings.sh", "tune.h5", "tuning.json"])

    def test_an_environment_without_an_effect_is_told_before_anything_runs(self):
        nothing = {"NCCL_ALGO": "Ring"}
        shown = self.tune(*SYNTHETIC, "--check-environment", "--dry-run", **nothing)
        self.assertEqual([one["effect"] for one in shown["environment"]], ["none"])
        refused = self.run_program("tune", *SYNTHETIC, "--check-environment", **nothing)
        self.assertNotEqual(refused.returncode, 0)
        self.assertFalse((self.folder / "tuned").exists())

    def test_a_training_step_has_options_of_its_own_and_compression_only_if_asked_for(self):
        step = ["--backend", "synthetic", "--ranks", "2", "--for", "ddp:linear:256x4", "--dry-run"]
        usual = [one["parameter"] for one in self.tune(*step)["parameters"]]
        self.assertEqual(usual[:2], ["bucket", "comm-priority"])
        asked = [one["parameter"] for one in self.tune(*step, "--with-compression")["parameters"]]
        self.assertEqual(set(asked) - set(usual), {"compress"})

    def test_the_proof_of_a_step_is_about_its_options_too(self):
        found = self.tune("--backend", "synthetic", "--ranks", "2", "--for", "ddp:linear:256x4", "--seed", "2",
                          "--budget", "5m")
        self.assertTrue(found["recommended"], found)
        self.assertEqual(len(found["targets"]), 1)
        parts = {one["side"]: one for one in found["step_parts"]}
        self.assertEqual(list(parts), ["default", "delivered", "difference"])
        self.assertLess(parts["difference"]["exposed_transfer_ns"], 0)
        for one in parts.values():
            self.assertAlmostEqual(one["step_ns"], sum(one[key] for key in one if key.endswith("_ns") and key != "step_ns"),
                                   delta=1)
        self.assertTrue(all(one["computing_ns"] > 0 for one in found["candidates"] if one["fate"] == "won"))
        self.assertIn("proof.h5", self.files())

    def test_a_gain_is_found_proven_and_delivered(self):
        found = self.tune(*SYNTHETIC, "--budget", "5m")
        self.assertTrue(found["recommended"], found)
        self.assertTrue(found["synthetic"])
        self.assertTrue(found["proof"]["holds"])
        self.assertGreater(found["proof"]["interval"][0], 1 + found["min_gain"])
        self.assertEqual([one["target"] for one in found["regret"]], [one["target"] for one in found["targets"]])
        for regret in found["regret"]:
            self.assertAlmostEqual(regret["regret"], max(one["gain"] for one in regret["by_choice"]))
            self.assertEqual(regret["best"], "alpha_ns=2000 gb_per_s=200")
        self.assertEqual(self.files(), ["launch.txt", "proof.h5", "settings.sh", "tune.h5", "tuning.json"])
        settings = (self.folder / "tuned/settings.sh").read_text()
        self.assertIn("SYNTHETIC", settings)
        words = " ".join(f"{one['name']}={one['value']}" for one in found["settings"])
        self.assertIn(f"export {words}\n", settings)
        subprocess.run(["sh", "-eu", "-c", ". tuned/settings.sh; test $" + found["settings"][0]["name"]],
                       cwd=self.folder, check=True)
        for name in "tune.h5", "proof.h5":
            self.assertEqual(self.run_program("report", f"tuned/{name}", "--brief").returncode, 0)
        proof = read_json(self.run_program("report", "tuned/proof.h5", "--format", "json").stdout)
        (proven,) = proof["run"]["proven"]
        self.assertEqual(proven["setting"], words)
        for limit, stored in zip(found["proof"]["interval"], (proven["low"], proven["high"])):
            self.assertAlmostEqual(limit, stored, delta=1e-5)
        self.assertEqual(found["files"], ["tune.h5", "proof.h5", "settings.sh", "launch.txt", "tuning.json"])
        self.check_ran(found, "tune.h5", "proof.h5")
        for one in found["candidates"]:
            self.assertTrue(one["result"])
            self.assertIn(one["fate"], ["won", "not_proven", "not_chosen", "stopped", "halved", "unfinished"])
        self.assertGreaterEqual(len(found["candidates"]), found["candidates_tried"])

    def check_ran(self, found, *files):
        """The stored report has each trial of the run files, with its reason."""
        stored = json.loads((self.folder / "tuned/tuning.json").read_text())
        self.assertEqual(stored, found)
        for file in files:
            self.run_file = self.folder / "tuned" / file
            self.assertEqual([one["trial"] for one in stored["ran"] if one["file"] == file],
                             list(range(self.report("json")["run"]["finished_trials"])))
        self.assertEqual(sum(one["role"] != "companion" for one in stored["ran"]), stored["trials"])
        self.assertTrue(all(one["why_run"] and one["outcome"] == "ok" for one in stored["ran"]), stored["ran"])

    def test_every_trial_is_stored_with_its_reason_even_if_nothing_is_found(self):
        found = self.tune(*SYNTHETIC, "--check-environment", "--budget", "5m", NCCLPROBE_SYNTHETIC_ALPHA_NS="2000")
        self.assertFalse(found["recommended"])
        self.check_ran(found, "tune.h5")
        self.assertNotIn("settings.sh", self.files())
        explored = [one for one in found["ran"] if one["stage"] == "explore"]
        self.assertIn("NCCLPROBE_SYNTHETIC_ALPHA_NS=(not set)", [one["settings"] for one in explored])

    def test_on_the_cpu_the_whole_way_is_gone_and_the_answer_agrees_with_the_files(self):
        # On a busy machine the trials of the default alone can use up a short budget.
        for budget in "20s", "60s", "180s":
            found = self.tune(*ON_CPU, "--budget", budget, "--force")
            if found["candidates_tried"] > 0:
                break
        self.assertGreater(found["candidates_tried"], 0)
        self.assertFalse(found["synthetic"])
        self.assertEqual(found["recommended"], "settings.sh" in self.files())
        self.assertIn("tune.h5", self.files())
        stored = read_json(self.run_program("report", "tuned/tune.h5", "--format", "json").stdout)
        self.assertEqual(stored["run"]["trials"] if "trials" in stored["run"] else found["trials"], found["trials"])

    def test_on_the_cpu_a_slow_setting_is_found_and_the_delivery_is_proven(self):
        # 1,024 pieces of 1 KiB take many times as long as one.
        slow = {"NCCLPROBE_GLOO_CHUNK_BYTES": "1024"}
        for budget in "60s", "180s": # on a busy machine the first may not suffice
            found = self.tune("--backend", "host", "--ranks", "2", "--for", "reduce_scatter:1M", "--seed", "5", "--check-environment",
                              "--budget", budget, "--force", **slow)
            if found["recommended"]:
                break
        self.assertEqual(found["remove"], list(slow), found["findings"])
        self.assertGreater(found["proof"]["interval"][0], 1 + found["min_gain"])
        self.assertFalse(found["proof"]["wrong_data"])
        self.assertIn("unset NCCLPROBE_GLOO_CHUNK_BYTES", (self.folder / "tuned/settings.sh").read_text())
        self.assertEqual(self.files(), ["proof.h5", "settings.sh", "tune.h5", "tuning.json"])

    def test_it_runs_under_mpirun(self):
        found = self.tune(*SYNTHETIC[:2], *SYNTHETIC[4:], "--budget", "5m", launcher=mpirun(2))
        self.assertTrue(found["recommended"])

    def test_results_are_replaced_only_if_asked(self):
        self.tune(*SYNTHETIC, "--budget", "5m")
        refused = self.run_program("tune", *SYNTHETIC, "--budget", "5m")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("tuned/tune.h5", refused.stderr)
        stale = self.folder / "tuned/nccl.conf"
        stale.write_text("NCCL_ALGO=Ring\n")
        self.tune(*SYNTHETIC, "--budget", "5m", "--force")
        self.assertFalse(stale.exists())

    def test_a_target_that_is_none_is_refused(self):
        for target, words in (("all_redcue:1M", "all_redcue"), ("all_reduce:4M-1M", "4M-1M"), ("all_reduce:x", "x")):
            refused = self.run_program("tune", "--backend", "synthetic", "--for", target)
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn(words, refused.stderr)
            self.assertFalse((self.folder / "tuned").exists())

    def test_a_check_of_a_table_is_another_command(self):
        refused = self.run_program("tune", "check", "table.csv", "--ranks", "2")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("help tune", refused.stderr)
        self.assertIn("tuner check", self.run_program("help", "tune").stdout)

    def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(self):
        refused = self.run_program("tune", *SYNTHETIC, "-o", "/proc/nowhere")
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("/proc/nowhere", refused.stderr)

    def test_a_stop_keeps_what_was_measured(self):
        program = self.start_program("tune", *ON_CPU, "--budget", "5m")
        self.run_file = self.folder / "tuned/tune.h5"
        self.wait_for_parts(2)
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(timeout=30), 130)
        self.assertGreaterEqual(len(self.report()), 2)
        self.assertNotIn("settings.sh", self.files())


if __name__ == "__main__":
    unittest.main()
