# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests of faults share: a row of docs/faults.md for each, and what must hold after it. With --all on the command line, slow
rows run too."""

import collections
import re
import sys

from program_test_case import ProgramTest

ALL = "--all" in sys.argv and not sys.argv.remove("--all")

Fault = collections.namedtuple("Fault", "name happens said code kept test slow")
FAULTS = []

OTHERS = "the other trials; the failed one runs again with `--retry-failed`"
FINISHED = "all finished trials; the rest runs with `--resume`"
WHOLE = "the whole run"
OTHER_CELLS = "the other cells"
NOTHING = "nothing"
CANNOT_RESUME, ALL_FAILED = 2, 4  # exit codes


def fault(name, happens, said, code, kept, slow=False):
    """A row of the table. The test returns the process that ended, or what it said and its exit code; `said` must be in it,
    with ... for anything."""
    def note(test):
        FAULTS.append(Fault(name, happens, said, code, kept, test.__qualname__, slow))
        row = FAULTS[-1]

        def run(self):
            if slow and not ALL:
                self.skipTest("slow: runs with --all")
            self.check(row, test(self))
        run.__name__ = test.__name__
        return run
    return note


def elsewhere(name, happens, said, kept, test):
    """A row whose test is in another file: FILE::CLASS.METHOD. It asserts the words, and no exit code."""
    FAULTS.append(Fault(name, happens, said, None, kept, test, True))


class FaultTest(ProgramTest):
    trials = 3
    anew = []  # a run without the fault

    def setUp(self):
        super().setUp()
        self.again = []  # what --resume must be given again
        self.launcher = ()
        self.place = self.folder

    def check(self, row, ended):
        text, code = (ended.stdout + ended.stderr, ended.returncode) if hasattr(ended, "stdout") else ended
        self.assertEqual(code, row.code, text)
        words = ".*".join(re.escape(" ".join(part.split())) for part in row.said.split("..."))
        self.assertRegex(" ".join(text.split()), words)
        self.assertNotIn("bug in ncclprobe", text)
        self.wait_until(lambda: not self.processes(), 15, "no process left")
        if row.kept == NOTHING:
            self.start_anew(row)
        elif row.kept == OTHER_CELLS:
            self.resume_without_some_cells(row)
        else:
            before = self.finished()
            self.assertGreaterEqual(len(before), 1)
            self.resume(row.code if row.kept == WHOLE else 0)
            after = self.finished()
            self.assertEqual({trial: after[trial] for trial in before}, before)
            if row.kept != WHOLE:
                self.assertEqual(sorted(after), list(range(self.trials)))
        self.assertEqual(self.processes(), [])
        self.assertEqual([path.name for path in self.place.glob("run*")], ["run.h5"])

    def resume(self, code):
        done = self.run_program("--resume", str(self.run_file), "--retry-failed", *self.again, launcher=self.launcher)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("bug in ncclprobe", done.stdout + done.stderr)

    def start_anew(self, row):
        """There is nothing to resume, or the fault is still there. Once it is gone, the file can be replaced."""
        self.resume(row.code if row.code == ALL_FAILED else CANNOT_RESUME)
        done = self.run_program(*self.anew, "--output", str(self.run_file), "--force")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(self.finished()), list(range(self.trials)))

    def resume_without_some_cells(self, row):
        """What was impossible is not tried again."""
        before = self.report()
        outcomes = [cell["outcome"] == "ok" for cell in before]
        self.assertTrue(any(outcomes) and not all(outcomes), outcomes)
        self.resume(row.code)
        self.assertEqual(self.report(), before)

    def finished(self):
        failed = {one["trial"] for one in self.report("json")["problems"]}
        rows = collections.defaultdict(list)
        for row in self.report():
            rows[int(row["trial"])].append(row)
        return {trial: cells for trial, cells in rows.items()
                if trial not in failed and {cell["outcome"] for cell in cells} == {"ok"}}

    def ended(self, run):
        code = run.wait(timeout=60)
        return (self.folder / "stderr").read_text(), code
