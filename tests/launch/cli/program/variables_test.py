# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What is said of NCCL's variables and of their values, before anything runs."""

import json
import unittest

from program_test_case import SMALL, ProgramTest, mpirun

ON_CPU = ["--backend", "host", *SMALL, "--repeat", "1"]


class Variables(ProgramTest):
    def refused(self, *arguments, **options):
        done = self.run_program(*arguments, "--output", str(self.run_file), **options)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertFalse(self.run_file.exists())
        self.assertNotIn("trials of", done.stderr)
        return done.stderr

    def test_variables_and_their_values_are_explained(self):
        def explained(*arguments, code=0):
            done = self.run_program("variables", *arguments, "--format", "json")
            self.assertEqual(done.returncode, code, done.stderr)
            return json.loads(done.stdout)["variables"]

        known = {one["variable"]: one for one in explained("--nccl", "2.19.3")}
        self.assertNotIn("PAT", known["NCCL_ALGO"]["values"])
        self.assertNotIn("NCCL_CTA_POLICY", known)  # it came later
        readings = explained("NCCL_ALGO=Rng", "NCCL_PROTO=LL128", "NCCL_MIN_CTAS=99", "NCCL_ALGOS", code=9)
        self.assertEqual([one["reading"] for one in readings], ["refused", "as written", "limited", None])
        self.assertIn("did you mean NCCL_ALGO=Ring?", readings[0]["meaning"])
        self.assertIn("NCCL_ALGO", readings[3]["meaning"])

    def test_what_nccl_refuses_is_refused_before_anything_starts(self):
        for setting, meant in (("NCCL_ALGO=Rng", "NCCL_ALGO=Ring"), ("NCCL_PROTO=LL129", "NCCL_PROTO=LL128"),
                               ("NCCL_ALGO=[ring,tree2]", "NCCL_ALGO=ring,Tree"),
                               ("NCCL_NET=Sockets", "NCCL_NET=Socket")):
            with self.subTest(setting):
                message = self.refused("run", *ON_CPU, "--set", setting)

                self.assertIn(f"refuses {setting.replace('[', '').replace(']', '')}: ", message)
                self.assertIn(f"did you mean {meant}?", message)

    def test_a_misspelt_name_is_refused_unless_it_is_overridden(self):
        message = self.refused("run", *ON_CPU, "--set", "NCCL_ALOG=Ring")
        self.assertIn("does not read NCCL_ALOG, which is probably misspelt", message)
        self.assertIn("--override NCCL_ALOG measures it anyway", message)

        self.measure(*ON_CPU, "--ranks", "2", "--set", "NCCL_ALOG=Ring", "--override", "NCCL_ALOG")

    def test_several_ranks_are_refused_with_one_message(self):
        message = self.refused("run", *ON_CPU, "--set", "NCCL_ALGO=Rng", launcher=mpirun(3))

        self.assertEqual(message.count("refuses NCCL_ALGO=Rng"), 1, message)

    def test_plan_refuses_the_same(self):
        for arguments in (["--dry-run"], []):
            done = self.run_program("plan", *arguments, "--backend", "host", "--set", "NCCL_PROTO=LL129")
            self.assertEqual(done.returncode, 2)
            self.assertIn("refuses NCCL_PROTO=LL129", done.stderr)

    def test_that_a_variable_does_nothing_here_is_said_before_the_run(self):
        done = self.measure(*ON_CPU, "--ranks", "2", "--set", "NCCL_PROTO=LL")

        self.assertIn("NCCL_PROTO has no effect on the host backend", done.stderr)
        self.assertLess(done.stderr.index("NCCL_PROTO has no effect"), done.stderr.index("[1/"), done.stderr)
        dry = self.run_program("plan", "--dry-run", "--backend", "host", "--set", "NCCL_PROTO=LL")
        self.assertIn("NCCL_PROTO has no effect on the host backend", " ".join(dry.stdout.split()))

    def test_the_environment_is_looked_at_too(self):
        done = self.measure(*ON_CPU, "--ranks", "2", "--no-sweep", NCCL_ALOG="Ring", NCCL_TIMEOUT="5",
                            NCCL_FASTRAK_IFNAME="eth1")

        self.assertIn("does not read NCCL_ALOG, which is probably misspelt", done.stderr)
        self.assertIn("init_process_group(timeout=", done.stderr)
        self.assertNotIn("NCCL_IB_TIMEOUT", done.stderr)
        self.assertNotIn("NCCL_FASTRAK_IFNAME is probably", done.stderr)


if __name__ == "__main__":
    unittest.main()
