# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of the process (ulimit) and closed descriptors end in clear words."""

import os
import shutil
import subprocess
import unittest

from program_test_case import BIN, SMALL, ProgramTest

RUN = ["--backend", "host", *SMALL, "--no-sweep", "--repeat", "1", "--output", "run.h5"]
NOBODY = 65534


class Limits(ProgramTest):
    def shell(self, before, *arguments, after=""):
        """The program with what the shell does before it (`ulimit`) and how its streams are (`>&-`)."""
        return subprocess.run(["bash", "-c", f'{before}; exec "$@" {after}', "bash", *self.command(*arguments)],
                              cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60)

    def expect(self, code, words, *arguments, before=":", after=""):
        done = self.shell(before, *arguments, after=after)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(words, done.stderr)
        self.assertNotIn("bug in ncclprobe", done.stderr)
        self.assertEqual(self.processes(), [])
        return done

    def measure_once(self):
        self.expect(0, "", *RUN)

    def test_files_of_a_limited_size(self):
        self.expect(7, "File too large (`ulimit -f` allows files of at most 1 KiB)", *RUN, before="ulimit -f 1")
        self.measure_once()
        self.expect(7, "File too large (`ulimit -f` allows files of at most 1 KiB)", "report", "run.h5", "--format", "json",
                    "--output", "report.json", before="ulimit -f 1")
        self.assertFalse((self.folder / "report.json").exists())

    def test_a_run_that_outgrows_the_limit_goes_on_without_it(self):
        # The run's header has 18 KiB, a trial 33 KiB.
        done = self.expect(7, "`ulimit -f` allows files of at most 25 KiB", "--backend", "host", *SMALL, "--no-sweep",
                           "--repeat", "3", "--output", "run.h5", before="ulimit -f 25")
        self.assertIn("ncclprobe --resume run.h5", done.stderr)
        self.expect(0, "continuing run.h5", "--resume", "run.h5")

    def test_too_few_processes(self):
        if os.geteuid() != 0:
            self.skipTest("another user's limit on processes takes root")
        shutil.chown(self.folder, NOBODY)
        self.measure_once()
        self.run_file.chmod(0o644)
        as_nobody = f'exec setpriv --reuid={NOBODY} --clear-groups bash -c "ulimit -u 0; exec \\"\\$@\\"" bash "$@" #'
        self.expect(6, "Resource temporarily unavailable (`ulimit -u` allows this user 0 processes and threads)",
                    "report", "run.h5", before=as_nobody)
        self.expect(6, "cannot start", *RUN[:-1], "other.h5", before=as_nobody)

    def test_too_little_memory(self):
        """Down to where the loader itself finds no room."""
        if b"__asan_init" in (BIN / "ncclprobe").read_bytes():
            self.skipTest("AddressSanitizer's shadow memory rules out a limit on memory")
        failed = 0
        for kib in range(120_000, 30_000, -8_000):
            with self.subTest(kib=kib):
                done = self.shell(f"ulimit -v {kib}", *RUN[:-1], f"run-{kib}.h5")
                if done.returncode == 127:
                    break
                self.assertIn(done.returncode, (0, 3, 4, 6), done.stderr)  # 3: no room for a buffer
                if done.returncode != 0:
                    failed += 1
                    self.assertIn("`ulimit -v` allows", done.stderr)
        self.assertGreater(failed, 0)

    def test_closed_standard_streams(self):
        self.measure_once()
        whole = self.shell(":", "report", "run.h5").stdout
        self.expect(7, "cannot write to standard output", *RUN[:-1], "second.h5", after=">&-")
        self.assertTrue((self.folder / "second.h5").exists())
        for arguments in (["report", "run.h5"], ["topo"], ["doctor", "--no-run"], ["models"], ["plan", "--dry-run"],
                          ["claim", "--sync", "-9%", "--step", "-7%"]):
            with self.subTest(arguments=arguments):
                self.expect(7, "cannot write to standard output", *arguments, after=">&-")
        for arguments in (["--version"], ["--help"], ["report", "--help"]):
            with self.subTest(arguments=arguments):
                self.expect(7, "", *arguments, after=">&-")
        self.assertEqual(self.shell(":", "report", "run.h5", after="<&- 2>&-").stdout, whole)
        self.expect(0, "", "report", "run.h5", "--output", "report.txt", after="<&- >&- 2>&-")
        self.assertEqual((self.folder / "report.txt").read_text(), whole)
        self.expect(7, "", *RUN[:-1], "third.h5", after="<&- >&- 2>&-")
        self.assertEqual(self.run_program("report", "third.h5").returncode, 0)  # no message went into it

    def test_too_few_descriptors(self):
        self.expect(6, "Too many open files", *RUN, before="ulimit -n 4")
        self.measure_once()
        self.expect(6, "Too many open files", "report", "run.h5", before="ulimit -n 4")


if __name__ == "__main__":
    unittest.main(verbosity=2)
