# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Files and programs that cannot be used: one exception says what, where and what to do."""
import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

from python_test_case import HAS_MATPLOTLIB, MISSING, PACKAGE, REAL_LINKS, ROOT, changed, scratch, setUpModule, sweep, training

if not MISSING:
    import ncclprobe

DATA = ROOT / "tests/store/data"


class Errors(unittest.TestCase):
    def error_of(self, call):
        with self.assertRaises(ncclprobe.Error) as found:
            call()
        return found.exception

    def test_files_that_are_no_run_files(self):
        (scratch() / "text.h5").write_text("not HDF5\n")
        (scratch() / "unfinished.h5.parts").mkdir(exist_ok=True)
        trace = ncclprobe.load(training()).trace().path
        truncated = scratch() / "truncated.h5"
        truncated.write_bytes(sweep().read_bytes()[:20_000])
        for path, what, hint in (
                (scratch() / "text.h5", "not an HDF5 file", "HDF5"),
                (truncated, "cannot be read", ""),
                (scratch() / "none.h5", "no such file", ""),
                (scratch() / "unfinished.h5", "not finished", "--fold"),
                (scratch(), "this is a folder", "ncclprobe report FOLDER"),
                (trace, "this is a trace", ""),
                (DATA / "newer_schema.h5", r"schema version 3", "newer ncclprobe"),
                (DATA / "older_schema.h5", r"schema version 1", "older ncclprobe"),
                (DATA / "foreign.h5", "no run file of ncclprobe", "")):
            error = self.error_of(lambda path=path: ncclprobe.load(path))
            self.assertIn(what, error.what)
            self.assertEqual(error.where, str(path))
            self.assertIn(hint, error.hint)
            self.assertIn(error.what, str(error))

    def test_plots_come_with_the_package_and_need_matplotlib(self):
        program = ("import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
                   "import ncclprobe\n"
                   "assert 'matplotlib' not in sys.modules\n"
                   "if sys.argv[2] == 'without': sys.modules['matplotlib'] = None\n"
                   "try: print(ncclprobe.plots.busbw.__name__)\n"
                   "except ncclprobe.Error as error: print(error)\n")
        def said(how):
            return subprocess.run([sys.executable, "-c", program, PACKAGE, how], capture_output=True, text=True, check=True).stdout
        self.assertIn("python3-matplotlib", said("without"))
        if HAS_MATPLOTLIB:
            self.assertEqual(said("with"), "busbw\n")

    def test_a_run_file_is_no_trace(self):
        self.assertIn("ncclprobe.load()", self.error_of(lambda: ncclprobe.load_trace(sweep())).what)

    def test_a_part_of_a_run_is_no_run(self):
        part = changed(sweep(), "part", lambda file: file.attrs.modify("kind", "trial"))
        self.assertIn("part of an unfinished run", self.error_of(lambda: ncclprobe.load(part)).what)

    def test_a_damaged_table_is_named(self):
        def damage(file):
            file["settings/name"][0] = 10**6 # no such text
        run = ncclprobe.load(changed(sweep(), "damaged", damage))
        self.assertIn("the table settings", self.error_of(lambda: run.samples).what)
        def remove(file):
            del file["samples"]
        run = ncclprobe.load(changed(sweep(), "removed", remove))
        self.assertIn("no table samples", self.error_of(lambda: run.samples).what)

    def read_in_a_child(self, path):
        """ "read", "refused", or the exception's name; "library" where HDF5 itself crashes or hangs."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(2)
            os.close(reader)
            try:
                run = ncclprobe.load(path)
                for name in ("trials", "cells", "samples", "environment", "conditions"):
                    getattr(run, name)
                said = "read"
            except ncclprobe.Error:
                said = "refused"
            except BaseException as error:
                said = type(error).__name__
            os.write(writer, said.encode())
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader) as pipe:
            return pipe.read() or "library"

    def test_whatever_byte_is_damaged_no_other_exception_is_raised(self):
        whole = sweep().read_bytes()
        path = scratch() / "one_byte.h5"
        ends = set()
        for place in range(48, len(whole), len(whole) // 60):
            damaged = bytearray(whole)
            damaged[place] ^= 0xff
            path.write_bytes(damaged)
            ends.add(self.read_in_a_child(path))
        self.assertIn("refused", ends)
        self.assertLessEqual(ends, {"read", "refused", "library"})

    def test_a_missing_program_is_named_only_when_it_is_needed(self):
        with mock.patch.dict(os.environ, {"PATH": str(scratch())}):
            del os.environ["NCCLPROBE_REPORT"]
            run = ncclprobe.load(sweep())
            self.assertGreater(len(run.samples), 0)
            error = self.error_of(lambda: run.results)
        self.assertIn("ncclprobe-report", error.where)
        self.assertIn("NCCLPROBE_REPORT=", error.hint)

    def test_the_program_is_found_by_argument_variable_and_path(self):
        program = os.environ["NCCLPROBE_REPORT"]
        with mock.patch.dict(os.environ, {"NCCLPROBE_REPORT": "/no/such/program"}):
            self.assertIn("no such program", self.error_of(lambda: ncclprobe.load(sweep()).results).what)
            self.assertEqual(len(ncclprobe.load(sweep(), report_program=program).results), 18)
        with mock.patch.dict(os.environ, {"PATH": os.path.dirname(program)}):
            del os.environ["NCCLPROBE_REPORT"]
            self.assertEqual(len(ncclprobe.load(sweep()).results), 18)

    def test_a_program_that_fails_or_is_another_is_named(self):
        fails = scratch() / "fails"
        fails.write_text("#!/bin/sh\necho it is full >&2\nexit 7\n")
        says_nothing = scratch() / "nothing"
        says_nothing.write_text("#!/bin/sh\necho hello\n")
        newer = scratch() / "newer"
        newer.write_text("#!/bin/sh\necho '{\"version\": 2}'\n")
        for program, what in ((fails, "exit code 7: it is full"), (says_nothing, "no JSON"), (newer, "version 2")):
            program.chmod(0o700)
            error = self.error_of(lambda program=program: ncclprobe.load(sweep(), report_program=str(program)).results)
            self.assertIn(what, error.what)
            self.assertEqual(error.where, str(program))

    def test_frames_that_such_a_run_does_not_have(self):
        self.assertIn("use links", self.error_of(lambda: ncclprobe.load(REAL_LINKS).results).hint)
        self.assertIn("ncclprobe p2p", self.error_of(lambda: ncclprobe.load(sweep()).links).hint)

    def test_frames_stay_after_the_file_is_closed(self):
        with ncclprobe.load(sweep()) as run:
            samples = run.samples
        self.assertGreater(len(samples), 0)
        self.assertIn("closed", self.error_of(lambda: run.conditions).what)


if __name__ == "__main__":
    unittest.main(verbosity=2)
