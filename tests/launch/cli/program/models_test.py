# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""`ncclprobe models` as a user runs it."""

import json
import unittest

from program_test_case import ProgramTest


class Models(ProgramTest):
    def models(self, *arguments, code=0):
        done = self.run_program("models", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, *arguments):
        done = self.models(*arguments, code=2)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_the_catalogue_is_listed(self):
        self.assertIn("resnet50", self.models().stdout)
        names = [model["name"] for model in json.loads(self.models("--format", "json").stdout)["models"]]
        for name in names:
            with self.subTest(model=name):
                self.assertIn(f"{name}: ", self.models(name).stdout)

    def test_no_line_is_wider_than_a_terminal(self):
        for arguments in ([], ["llama3-70b:1"], ["mixtral-8x7b:2", "--buckets"], ["dlrm"]):
            with self.subTest(arguments=arguments):
                self.assertLessEqual(max(len(line) for line in self.models(*arguments).stdout.splitlines()), 100)

    def test_no_help_is_wider_than_a_terminal(self):
        for command in ("run", "plan", "p2p", "topo", "doctor", "models", "report", "export", "predict", "claim", None):
            with self.subTest(command=command):
                done = self.run_program(*([command] if command else []), "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 100], [])

    def test_a_model_that_was_written_is_read_again(self):
        stored = self.folder / "net.json"
        text = self.models("gpt2-124m", "--layers", "2", "--sequence", "64", "--format", "json").stdout
        self.models("gpt2-124m:2", "--sequence", "64", "--format", "json", "--output", str(stored))

        self.assertEqual(stored.read_text(), text)
        self.assertEqual(self.models(str(stored), "--format", "json").stdout, text)

    def test_buckets_follow_their_options(self):
        def sizes(*arguments):
            document = json.loads(self.models("gpt2-124m", "--buckets", "--format", "json", *arguments).stdout)
            return [bucket["bytes"] for bucket in document["buckets"]]

        self.assertEqual(sizes("--order", "first-step"), [4 * 124_439_808])
        self.assertEqual(sum(sizes()), 4 * 124_439_808)
        self.assertEqual(sum(sizes("--type", "bf16")), 2 * 124_439_808)
        self.assertGreater(len(sizes("--bucket-cap", "1M")), len(sizes()))
        self.assertGreaterEqual(sizes("--bucket-cap", "50M")[0], 50 << 20)

    def test_what_is_wrong_is_said_in_one_line(self):
        bad = self.folder / "bad.toml"
        bad.write_text('name = "net"\n[[parameters]]\nname = "w"\n')

        self.assertIn("known are resnet50, ", self.refused("resnet"))
        self.assertIn(f"{bad}: parameters[0]: give either the shape", self.refused(str(bad)))
        self.assertIn("No such file", self.refused("nowhere.json"))
        self.assertIn("a bucket holds at least a byte", self.refused("resnet50", "--buckets", "--bucket-cap", "0"))
        self.assertIn("--buckets", self.refused("resnet50", "--bucket-cap", "1M"))
        self.assertIn("is not a choice of order", self.refused("resnet50", "--buckets", "--order", "x"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
