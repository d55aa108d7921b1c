# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""faults_test.py [--all]: each fault of docs/faults.md, with real processes. The page's table is made from the rows here,
so no row lacks a test and no test lacks a row. Without --all, slow rows only keep their line in the table."""

import ast
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from fault_test_case import FAULTS, FINISHED, NOTHING, OTHERS, WHOLE, FaultTest, elsewhere, fault
from program_test_case import BIN, SMALL, mpirun

WORKERS = pathlib.Path(os.environ["NCCLPROBE_TEST_WORKERS"])
SOURCES = pathlib.Path(__file__).parents[4]
PAGE = SOURCES / "docs/faults.md"
HEAD = "| fault | what happens | how it is said | exit code | what is kept |\n|---|---|---|---|---|\n"
RUN = ["--backend", "host", *SMALL, "--repeat", "1"]
# Of short trials, so that a fault between them hits a run that is going on.
REPEATED = ["--backend", "synthetic", *SMALL, "--no-sweep", "--repeat"]
MANY = [*REPEATED, "6"]


class CpuFaultTest(FaultTest):
    """Faults on the CPU backend, or between trials that take no time."""

    anew = MANY

    def with_worker(self, worker, how="yes", *arguments, **more):
        """A run of three trials. In the last one a worker does one thing wrong, once."""
        self.again = ["--compare-library", f"worker={WORKERS / worker}"]
        self.environment.update(MISBEHAVE=how, MISBEHAVE_ONCE=str(self.folder / "once"))
        return self.run_program(*RUN, *self.again, "--output", str(self.run_file), *arguments, **more)

    def hold(self, launcher=()):
        """Starts a run of six trials and stops it when one is stored. Returns the stopped process."""
        self.trials, self.launcher = 6, launcher
        run = self.start_program(*MANY, "--output", str(self.run_file), launcher=launcher)
        self.wait_for_parts(1)
        os.kill(run.pid, signal.SIGSTOP)
        self.assertFalse(self.run_file.exists(), "the run was over too soon")
        return run

    def go_on(self, run):
        os.kill(run.pid, signal.SIGCONT)
        return self.ended(run)

    def parts(self):
        return pathlib.Path(str(self.run_file) + ".parts")

    def disk(self, options):
        """A small disk of its own for the run file."""
        self.place = self.folder / "disk"
        self.place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(self.place)], capture_output=True).returncode != 0:
            self.skipTest("a small tmpfs takes root")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.place)], check=True)
        self.run_file = self.place / "run.h5"

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.place)], check=True)

    def on_a_failing_system(self, **how):
        if b"__asan_init" in (BIN / "ncclprobe").read_bytes():
            self.skipTest("AddressSanitizer must be the first library that is loaded")
        self.trials = 6
        self.environment["LD_PRELOAD"] = str(WORKERS / "ncclprobe_failing_system.so")  # also when the run is resumed
        return self.run_program(*MANY, "--output", str(self.run_file), **how)

    def with_failing_writes(self, number):
        """From the fourth file in the folder on, the system refuses to write there."""
        return self.on_a_failing_system(FAIL_UNDER=str(self.folder), FAIL_AFTER="4", FAIL_WITH=str(number))


class Worker(CpuFaultTest):
    @fault("a worker dies of SIGSEGV", "its trial ends at once, the next one runs", "ended with signal 11 (Segmentation fault)", 3, OTHERS)
    def test_segv(self):
        return self.with_worker("crash_in_cell", "SEGV")

    @fault("a worker is killed (SIGKILL)", "the same", "ended with signal 9 (Killed)", 3, OTHERS)
    def test_kill(self):
        return self.with_worker("crash_in_cell", "KILL")

    @fault("a worker aborts (SIGABRT)", "the same", "ended with signal 6 (Aborted)", 3, OTHERS)
    def test_abort(self):
        return self.with_worker("crash_in_cell", "ABRT")

    @fault("the kernel's out-of-memory killer ends a worker", "the same", "Signal 9 comes from outside: look in dmesg for the kernel's "
           "out-of-memory killer", 3, OTHERS)
    def test_out_of_memory(self):
        group = pathlib.Path("/sys/fs/cgroup/memory/ncclprobe-test-" + self.mark[-8:])
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(512 << 20))
        except OSError as trouble:
            self.skipTest(f"a memory cgroup (version 1) takes root: {trouble}")
        self.addCleanup(group.rmdir)
        inside = ["bash", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "bash"]
        return self.with_worker("crash_in_cell", "memory", launcher=inside)

    @fault("a worker ends before it says anything", "the same", "in start-up: ended with exit 3, its last output: cannot open "
           "libmissing.so", 3, OTHERS)
    def test_exits_early(self):
        return self.with_worker("exit_early")

    @fault("a worker leaves without its results", "the same, whatever its exit code", "between cells: ended with exit 0", 3, OTHERS)
    def test_leaves(self):
        return self.with_worker("exit_without_done")

    @fault("a worker hangs before it says anything", "its trial ends at `--startup-timeout`", "not ready within 2 s", 3, OTHERS)
    def test_hangs_before_it_speaks(self):
        return self.with_worker("never_speak", "yes", "--startup-timeout", "2s")

    @fault("a worker hangs before it is connected", "its trial ends at `--startup-timeout`", "not ready within 2 s", 3, OTHERS)
    def test_hangs_before_connecting(self):
        return self.with_worker("never_exchange", "yes", "--startup-timeout", "2s")

    @fault("a worker hangs in a cell and ignores SIGTERM", "its trial ends at `--cell-timeout`; the report has its place and stack",
           "did not finish all_reduce 64K f32 within 2 s", 3, OTHERS)
    def test_hangs_in_a_cell(self):
        return self.with_worker("hang_in_cell", "yes", "--cell-timeout", "2s")

    @fault("a worker is stopped (SIGSTOP)", "the same", "was stopped by a signal (SIGSTOP)", 3, OTHERS)
    def test_stopped(self):
        return self.with_worker("crash_in_cell", "STOP", "--cell-timeout", "2s")

    @fault("a library delivers wrong data", "the run goes on; the cell counts as measured, and gets no verdict", "wrong data", 5, WHOLE)
    def test_wrong_data(self):
        return self.with_worker("wrong_data")

    @fault("a worker writes 100 MB to its output", "the end of it is kept, nothing waits", "Trials 3: all ok", 0, WHOLE, slow=True)
    def test_flood(self):
        return self.with_worker("flood")

    @fault("a worker leaves a process behind", "it is killed with the trial", "Trials 3: all ok", 0, WHOLE)
    def test_grandchild(self):
        return self.with_worker("leave_grandchild")

    @fault("a worker writes something else to its channel", "its trial ends at once, the next one runs",
           "does not follow the worker protocol", 3, OTHERS)
    def test_garbage(self):
        return self.with_worker("garbage")


class Supervisor(CpuFaultTest):
    @fault("ncclprobe is killed", "its workers end with it", "6 trials of 2 cells", -9, FINISHED)
    def test_supervisor_killed(self):
        run = self.hold()
        run.kill()
        return self.ended(run)

    @fault("a supervisor of another rank is killed", "mpirun ends the others", "exited on signal 9 (Killed)", 137, FINISHED)
    def test_follower_killed(self):
        self.trials, self.launcher = 6, mpirun(2)
        run = self.start_program(*MANY, "--output", str(self.run_file), launcher=self.launcher)
        self.wait_for_parts(1)
        os.kill(self.follower(), signal.SIGKILL)
        return self.ended(run)

    @fault("mpirun is killed", "the supervisors notice and end their workers", "6 trials of 2 cells", -9, FINISHED)
    def test_mpirun_killed(self):
        run = self.hold(mpirun(2))
        run.kill()
        return self.ended(run)

    @fault("Ctrl-C, or SIGTERM", "the workers are ended, and what is finished is folded", "`ncclprobe --resume ...` resumes it", 130, FINISHED)
    def test_terminated(self):
        run = self.hold()
        os.kill(run.pid, signal.SIGTERM)
        return self.go_on(run)

    @fault("ncclprobe is stopped for a while (SIGSTOP, SIGCONT)", "its deadlines stand still; the run goes on", "[6/6] default", 0, WHOLE)
    def test_supervisor_stopped(self):
        return self.go_on(self.hold())

    @fault("mpirun does not run for 2.1 s while the supervisors leave MPI", "they wait for it before they end", "[6/6] default", 0, WHOLE,
           slow=True)
    def test_late_mpirun(self):
        if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
            self.skipTest("other launchers than Open MPI's expect no farewell")
        self.launcher = mpirun(2)
        return self.on_a_failing_system(STALL_LAUNCHER="2100", launcher=self.launcher)

    def follower(self):
        return next(pid for pid in self.processes("ncclprobe")
                    if b"OMPI_COMM_WORLD_RANK=1" in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))


class Files(CpuFaultTest):
    @fault("the disk is full", "the run ends", "No space left on device", 7, FINISHED)
    def test_full_disk(self):
        self.disk("size=120k")
        self.trials = 40
        done = self.run_program(*REPEATED, "40", "--output", str(self.run_file))
        self.remount("size=20m")
        return done

    @fault("the user's quota is used up", "the same", "Disk quota exceeded", 7, FINISHED)
    def test_quota(self):
        return self.with_failing_writes(errno.EDQUOT)

    @fault("the disk becomes read-only", "the same", "Read-only file system", 7, FINISHED)
    def test_becomes_read_only(self):
        return self.with_failing_writes(errno.EROFS)

    @fault("the disk fails (EIO)", "the same", "Input/output error", 7, FINISHED, slow=True)
    def test_failing_disk(self):
        return self.with_failing_writes(errno.EIO)

    @fault("the folder is read-only from the start", "nothing is measured", "Read-only file system", 7, NOTHING)
    def test_read_only(self):
        self.disk("size=1m")
        self.remount("ro")
        self.trials = 6
        done = self.run_program(*MANY, "--output", str(self.run_file))
        self.remount("rw")
        return done

    @fault("the folder of finished trials is deleted meanwhile", "the run ends", "No such file or directory", 7, NOTHING)
    def test_parts_deleted(self):
        run = self.hold()
        shutil.rmtree(self.parts())
        return self.go_on(run)

    @fault("a finished trial is deleted meanwhile", "the run goes on, and lacks it", "of the trials that were stored, 0 is not in the run file", 7,
           "all others; the deleted one runs again with `--resume`")
    def test_trial_deleted(self):
        run = self.hold()
        self.first_part().unlink()
        return self.go_on(run)

    @fault("a finished trial is truncated meanwhile", "the rest is folded; the damaged file stays", "trial-000000.h5 is damaged", 7,
           "all others; the damaged one runs again with `--resume`")
    def test_trial_truncated(self):
        run = self.hold()
        os.truncate(self.first_part(), 1000)
        return self.go_on(run)

    @fault("a finished trial is replaced by something else meanwhile", "the same", "trial-000000.h5", 7,
           "all others; the replaced one runs again with `--resume`")
    def test_trial_replaced(self):
        run = self.hold()
        part = self.first_part()
        part.unlink()
        part.write_text("something else")
        return self.go_on(run)

    @fault("the run's header is truncated meanwhile", "the run ends", "header.h5 is damaged", 7, NOTHING)
    def test_header_truncated(self):
        run = self.hold()
        os.truncate(self.parts() / "header.h5", 1000)
        return self.go_on(run)

    @fault("another file takes the run file's name meanwhile", "it is not replaced", "run.h5 is not an HDF5 file ... move it to another name",
           7, FINISHED)
    def test_name_taken(self):
        run = self.hold()
        self.run_file.write_text("precious")
        ended = self.go_on(run)
        self.assertEqual(self.run_file.read_text(), "precious")
        self.run_file.unlink()
        return ended

    @fault("the run file is truncated", "it is refused, whole", "is damaged: it has 5000 bytes and should have ...", 2, NOTHING)
    def test_run_file_truncated(self):
        self.trials = 6
        self.measure(*MANY)
        os.truncate(self.run_file, 5000)
        return self.run_program("report", str(self.run_file))

    @fault("a second run writes to the same file", "it stops before it measures; the first one goes on",
           "is being written by process ... on ...", 6, FINISHED)
    def test_two_runs(self):
        run = self.hold()
        second = self.run_program(*MANY, "--output", str(self.run_file))
        text, code = self.go_on(run)
        self.assertEqual(code, 0, text)
        return second

    @fault("the time of day jumps by an hour, back and forth", "nothing: durations have a clock of their own", "[6/6] default", 0, WHOLE)
    def test_clock(self):
        return self.on_a_failing_system(STEP_CLOCK="1")

    def first_part(self):
        return sorted(self.parts().glob("trial-*.h5"))[0]


import gpu_faults_test  # noqa: E402, F401 (here, because its rows come next in the table)

elsewhere("a host is cut off", "the run ends 5 s after the deadline at the latest", "the supervisors of ranks 2,3 on beta no longer answer",
          "the report of all that ended; the rest runs with `--resume`", "tests/hosts/faults_test.py::AHostThatIsCutOff.test_the_run_ends_and_names_its_ranks")
elsewhere("a host dies", "mpirun ends the run", "unfinished: ", FINISHED,
          "tests/hosts/faults_test.py::AHostThatDies.test_the_run_ends_and_what_was_finished_is_kept")


def code_text(code):
    if code is None:
        return "-"
    return str(code) if code >= 0 else f"signal {-code}"


class Page(unittest.TestCase):
    def test_the_table_of_the_page_is_that_of_the_tests(self):
        lines = [f"| {one.name} | {one.happens} | `{one.said.replace('`', '').strip()}` | {code_text(one.code)} | {one.kept} |\n"
                 for one in FAULTS]
        page = PAGE.read_text()
        begin = page.index(HEAD) + len(HEAD)
        end = page.index("\n\n", begin - 1) + 1
        wanted = page[:begin] + "".join(lines) + page[end:]
        if os.environ.get("NCCLPROBE_ACCEPT_GOLDEN") == "1":
            PAGE.write_text(wanted)
        self.assertEqual(PAGE.read_text(), wanted)

    def test_a_test_in_another_file_is_there(self):
        for one in FAULTS:
            if "::" not in one.test:
                continue
            file, _, name = one.test.partition("::")
            self.assertIn(one.said, (SOURCES / file).read_text())
            classes = {node.name: node for node in ast.parse((SOURCES / file).read_text()).body if isinstance(node, ast.ClassDef)}
            owner, _, method = name.partition(".")
            self.assertIn(method, [node.name for node in classes[owner].body if isinstance(node, ast.FunctionDef)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
