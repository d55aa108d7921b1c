# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Ctrl-C when the trials are over: exit code 130, and a sound run file."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from program_test_case import ProgramTest, mpirun

# Whose report is longer than a pipe holds, so that printing it waits for a reader.
MANY_CELLS = ["--backend", "synthetic", "--no-sweep", "--repeat", "1", "--collectives",
              "all_reduce,all_gather,reduce_scatter,broadcast", "--types", "f32,f16,f64,i8,i32,i64", "--sizes", "8:64M:x2",
              "--placement", "in_place,out_of_place", "--iterations", "1"]


class CtrlC(ProgramTest):
    def start(self, *arguments, launcher=()):
        """In a process group of its own, as a shell starts it. Its messages go to a file: reading it never blocks."""
        messages = self.folder / f"messages-{len(self.started)}"
        with messages.open("w") as stderr:
            program = subprocess.Popen(self.command(*arguments, launcher=launcher), cwd=self.folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
                                       process_group=0)
        program.messages = messages
        self.started.append(program)
        self.addCleanup(program.stdout.close)
        return program

    def expect_interrupted(self, program, how_long=10):
        program.wait(timeout=how_long)
        words = program.messages.read_text()
        self.assertEqual(program.returncode, 130, words)
        self.assertIn(f"`ncclprobe report {self.run_file}` shows the report", words)
        self.assertNotIn("damaged", words)
        self.assertEqual(self.processes(), [])

    def readers_of(self, pid):
        """Processes that it has forked to read a file."""
        found = []
        for entry in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                found += [int(entry)] if pathlib.Path(f"/proc/{entry}/comm").read_text().strip() == "ncclprobe" else []
            except OSError:
                pass
        return found

    def test_while_the_report_is_printed(self):
        program = self.start(*MANY_CELLS, "--output", str(self.run_file))
        self.wait_until(self.run_file.exists, what="the run file")
        self.wait_until(lambda: pathlib.Path(f"/proc/{program.pid}/wchan").read_text() == "pipe_write"
                        or pathlib.Path(f"/proc/{program.pid}/syscall").read_text().startswith("1 "), what="a full pipe")

        os.killpg(program.pid, signal.SIGINT)

        self.expect_interrupted(program)
        self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})

    def test_while_the_run_file_is_read_for_the_report(self):
        self.measure(*MANY_CELLS, "--batches", "500")
        for _ in range(2):
            program = self.start("--resume", str(self.run_file))
            self.wait_until(lambda: "are done" in program.messages.read_text(), what="the run that goes on")
            reader = self.wait_until(lambda: self.readers_of(program.pid), what="a process that reads the file")

            os.killpg(program.pid, signal.SIGINT)

            self.assertTrue(reader)
            self.expect_interrupted(program)
        self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})

    def test_at_any_moment_after_the_trials(self):
        """Two hundredths of a second later each time."""
        for delay in range(0, 10, 2):
            self.run_file = self.folder / f"run-{delay}.h5"
            program = self.start(*MANY_CELLS, "--output", str(self.run_file))
            part = pathlib.Path(str(self.run_file) + ".parts") / "trial-000000.h5"
            self.wait_until(lambda: part.exists() or self.run_file.exists(), what="the finished trial")
            time.sleep(delay / 100)
            os.killpg(program.pid, signal.SIGINT)

            output, _ = program.communicate(timeout=20)
            words = program.messages.read_text()
            self.assertIn(program.returncode, (130, 0), words)
            self.assertTrue(program.returncode == 130 or "run file: " in output, words)
            self.assertNotIn("damaged", words)
            self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})

    def test_under_mpirun_nothing_stays(self):
        program = self.start(*MANY_CELLS, "--output", str(self.run_file), launcher=mpirun(2))
        self.wait_until(self.run_file.exists, what="the run file")

        os.killpg(program.pid, signal.SIGINT)

        program.communicate(timeout=20)
        self.assertNotIn("damaged", program.messages.read_text())
        self.wait_until(lambda: not self.processes(), 10, "no process left")
        self.assertEqual({row["outcome"] for row in self.report()}, {"ok"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
