# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Help, misspelt words and what is generated from the options."""

import json
import shutil
import subprocess
import unittest

from program_test_case import BIN, SMALL, ProgramTest


class Help(ProgramTest):
    def told(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def names(self):
        return [command["name"] for command in json.loads(self.told("help", "--format", "json"))["commands"]]

    def test_help_lists_all_commands_and_explains_each(self):
        whole = self.told("help")
        self.assertEqual(whole, self.told("--help"))
        for name in self.names():
            with self.subTest(command=name):
                self.assertIn(f"\n  {name} ", whole)
                self.assertIn(f"Usage: ncclprobe {name}", self.told("help", name))
                self.assertEqual(self.told("help", name), self.told(name, "--help"))
        self.assertIn("'rnu' is not a command", self.refused("help", "rnu"))

    def test_what_is_misspelt_is_answered_with_the_nearest(self):
        self.assertIn("unknown command 'rnu'; did you mean run?", self.refused("rnu"))
        self.assertIn("`ncclprobe report` prints a run file", self.refused("some.h5"))
        self.assertIn("unknown option '--size'; did you mean --sizes?", self.refused("--size", "1K"))
        self.assertIn("unknown option '--rank'; did you mean --ranks?", self.refused("predict", "run.h5", "--rank", "8"))
        self.assertIn("unknown argument 'extra'", self.refused("run", "extra"))

    def test_options_may_precede_the_command(self):
        for arguments in (["-q", "run", "--backend", "synthetic"], ["--backend", "synthetic", "-q", "run"]):
            done = self.run_program(*arguments, *SMALL, "--no-sweep", "--repeat", "1", "-o", "run.h5", "--force")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_options_of_nccl_tests_are_understood(self):
        plan = self.told("plan", "--backend", "host", "--sizes", "1K:4K:x2", "--ranks", "2", "--seed", "1")
        self.assertIn("sizes = '1K,2K,4K'", plan)
        done = self.run_program("-b", "1K", "-e", "4K", "-f", "2", "-g", "2", "-n", "3", "-w", "1", "-c", "1", "--backend", "synthetic",
                                "--no-sweep", "--repeat", "1", "-o", "run.h5")
        self.assertEqual(done.returncode, 0, done.stderr)
        sizes = {row["size_bytes"] for row in self.report("json")["results"]}
        self.assertEqual(sizes, {1024, 2048, 4096})

    def test_every_command_takes_version_quiet_and_format(self):
        for command in json.loads(self.told("help", "--format", "json"))["commands"]:
            with self.subTest(command=command["name"]):
                options = {option["name"]: option for option in command["options"]}
                self.assertIn("--quiet", options)
                self.assertIn("ncclprobe", self.told(command["name"], "--version"))

    def test_manual_pages_are_without_mistakes(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not there")
        for page in (["help", "--format", "man"], *(["help", name, "--format", "man"] for name in self.names())):
            with self.subTest(page=page):
                done = subprocess.run(["groff", "-man", "-ww", "-z"], input=self.told(*page), capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def completed(self, *words):
        script = ('source <("$0" help --format bash); COMP_WORDS=(ncclprobe "$@"); COMP_CWORD=$#; _ncclprobe; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, str(BIN / "ncclprobe"), *words], capture_output=True, text=True,
                              env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual(self.completed("re"), ["record", "replay", "report"])
        self.assertEqual(self.completed("topo", "--pla"), ["--placement"])
        self.assertEqual(self.completed("run", "--backend", "h"), ["host"])
        self.assertEqual(self.completed("-c", "all_reduce,broad"), ["all_reduce,broadcast"])
        self.assertIn("--sizes", self.completed("--siz"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
