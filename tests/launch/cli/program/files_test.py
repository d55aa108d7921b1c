# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Which files commands write and read: where outputs go, what planted links reach, and how much is read."""

import os
import pathlib
import resource
import stat
import subprocess
import threading
import time
import unittest

from program_test_case import ProgramTest

SYNTHETIC = ["--backend", "synthetic", "--sizes", "1K", "--collectives", "all_reduce", "--repeat", "1", "--no-sweep"]


class FilesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.measure(*SYNTHETIC, "--trace", "kernels")
        self.cache = self.folder / "cache"
        self.environment["XDG_CACHE_HOME"] = str(self.cache)

    def commands(self):
        """Every command that writes a file of the user's choice, without that file."""
        run = str(self.run_file)
        return {
            "report": ["report", run, "--output"],
            "timeline": ["report", run, "--timeline", "--output"],
            "predict": ["predict", run, "--ranks", "4", "--model", "linear:64x2", "--tflops", "1", "--batch", "1", "--output"],
            "perfetto": ["export", run, "--perfetto"],
            "chrome": ["export", run, "--chrome"],
            "doctor": ["doctor", "--no-run", "--backend", "host", "--output"],
            "question": ["doctor", "--gpu", "T4", "--output"],
            "topo": ["topo", "--output"],
            "models": ["models", "--output"],
        }

    def expect(self, codes, *arguments, **environment):
        done = self.run_program(*arguments, **environment)
        self.assertIn(done.returncode, codes, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def plant_victim(self):
        victim = self.folder / "victim"
        victim.write_text("secret")
        victim.chmod(0o600)
        return victim

    def assert_untouched(self, victim):
        self.assertEqual(victim.read_text(), "secret")
        self.assertEqual(stat.S_IMODE(victim.stat().st_mode), 0o600)


class Outputs(FilesTest):
    DONE = (0, 8, 9)

    def test_a_file_that_is_there_is_replaced_only_by_force(self):
        for name, command in self.commands().items():
            with self.subTest(command=name):
                out = self.folder / f"{name}.out"
                out.write_text("precious")
                out.chmod(0o640)
                refused = self.expect((2,), *command, str(out))
                self.assertIn(f"{out} exists already (--force replaces it; or name another file)", refused.stderr)
                self.assertEqual(out.read_text(), "precious")
                if name != "predict":  # of this run nothing can be predicted; its output is refused before that
                    self.expect(self.DONE, *command, str(out), "--force")
                    self.assertNotEqual(out.read_bytes()[:8], b"precious")
                    self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o640)
                self.assertEqual(list(self.folder.glob(".*")), [])

    def test_what_cannot_be_written_is_known_before_anything_is_done(self):
        for name, command in self.commands().items():
            with self.subTest(command=name):
                done = self.expect((7,), *command, str(self.folder / "no" / "out"))
                self.assertIn("No such file or directory", done.stderr)
        begun = time.monotonic()
        self.expect((7,), "doctor", "--backend", "host", "--deep", "--load-time", "30s", "--output", "/proc/nowhere")
        self.assertLess(time.monotonic() - begun, 15)

    def test_a_link_to_a_file_is_followed_only_by_force_and_stays(self):
        for name, command in self.commands().items():
            if name == "predict":
                continue
            with self.subTest(command=name):
                victim, link = self.plant_victim(), self.folder / f"{name}.link"
                link.symlink_to(victim)
                self.assertIn("is a symbolic link to", self.expect((2,), *command, str(link)).stderr)
                self.assert_untouched(victim)
                self.expect(self.DONE, *command, str(link), "--force")
                self.assertTrue(link.is_symlink())
                self.assertNotEqual(victim.read_bytes(), b"secret")
                victim.unlink()
                self.expect((2,), *command, str(link))
                self.assertFalse(victim.exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a device")
    def test_a_device_is_written_into_and_stays(self):
        null = self.folder / "null"
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (self.folder / "link").symlink_to(null)
        for name, command in self.commands().items():
            if name == "predict":
                continue
            for output in ("null", "link"):
                with self.subTest(command=name, output=output):
                    self.expect(self.DONE, *command, str(self.folder / output))
                    self.assertTrue(stat.S_ISCHR(null.stat().st_mode))
                    self.assertTrue((self.folder / "link").is_symlink())

    def test_a_pipe_is_written_into_and_stays(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for name, command in self.commands().items():
            if name == "predict":
                continue
            with self.subTest(command=name):
                got = []
                reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
                reader.start()
                self.expect(self.DONE, *command, str(pipe))
                reader.join(timeout=10)
                self.assertGreater(len(got[0]), 10)
                self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))

    def test_standard_output_by_its_name_is_standard_output(self):
        plain = self.run_program("report", str(self.run_file)).stdout
        named = self.run_program("report", str(self.run_file), "--output", "/dev/stdout")
        self.assertEqual((named.stdout, named.returncode), (plain, 0))
        redirected = self.folder / "redirected"
        with open(redirected, "w") as file:
            file.write("before\n")
            file.flush()
            subprocess.run(self.command("report", str(self.run_file), "--output", "/dev/fd/1"), stdout=file, check=True)
        self.assertEqual(redirected.read_text(), "before\n" + plain)
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_folders_of_files_keep_the_rule_for_each_file(self):
        tables, machine = self.folder / "tables", self.folder / "machine"
        for command, name in ((["export", str(self.run_file), "--csv", str(tables)], tables / "kernel.csv"),
                              (["topo", "--record", str(machine)], machine / "README.txt")):
            with self.subTest(command=command):
                self.expect((0,), *command)
                name.write_text("precious")
                self.assertIn("exists already", self.expect((2,), *command).stderr)
                self.assertEqual(name.read_text(), "precious")
                self.expect((0,), *command, "--force")
                self.assertNotEqual(name.read_text(), "precious")

    def test_a_run_replaces_another_by_force_alone_with_its_traces(self):
        before = self.report("json")["run"]["run_id"]
        refused = self.expect((2,), *SYNTHETIC, "--output", str(self.run_file))
        self.assertIn("exists already (--force replaces it", refused.stderr)
        self.assertEqual(self.report("json")["run"]["run_id"], before)
        self.measure(*SYNTHETIC, "--force")
        self.assertNotEqual(self.report("json")["run"]["run_id"], before)
        self.assertEqual(sorted(path.name for path in self.folder.glob("run*")), ["run.h5"])

    def test_a_run_file_must_be_a_regular_file(self):
        pipe, link = self.folder / "pipe", self.folder / "link.h5"
        os.mkfifo(pipe)
        link.symlink_to(self.run_file)
        self.assertIn("is not a regular file", self.expect((2,), *SYNTHETIC, "--output", str(pipe)).stderr)
        self.assertIn("is a symbolic link", self.expect((2,), *SYNTHETIC, "--output", str(link)).stderr)
        self.expect((0,), *SYNTHETIC, "--output", str(link), "--force")
        self.assertTrue(link.is_symlink())
        self.expect((0,), "--resume", str(link))
        self.assertTrue(link.is_symlink())
        self.assertEqual(list(self.folder.glob("*.parts")), [])


class PlantedLinks(FilesTest):
    """What somebody else left where files with names that can be guessed are written or made."""

    def stopped_run(self):
        """A run in parts, as a kill leaves it, with a trace."""
        file = self.folder / "stopped.h5"
        run = self.start_program("--backend", "synthetic", "--sizes", "1K", "--collectives", "all_reduce", "--no-sweep", "--repeat",
                                 "1000", "--trace", "kernels", "--output", str(file))
        parts = pathlib.Path(f"{file}.parts")
        self.wait_until(lambda: list(parts.glob("trial-*.h5")) and list(parts.glob("trace-*.h5")), what="a trial and a trace")
        run.kill()
        run.wait()
        self.wait_until(lambda: not self.processes(), what="no process left")
        return file, parts

    def plant(self, *paths):
        victim = self.plant_victim()
        for path in paths:
            pathlib.Path(path).parent.mkdir(exist_ok=True)
            pathlib.Path(path).symlink_to(victim)
        return victim

    def test_beside_outputs(self):
        for name, command in self.commands().items():
            if name == "predict":
                continue
            with self.subTest(command=name):
                out = self.folder / f"{name}.out"
                victim = self.plant(f"{out}.tmp", f"{out}.parts", self.folder / f".{name}.out.tmp")
                self.expect(Outputs.DONE, *command, str(out))
                self.assert_untouched(victim)
                self.assertFalse(out.is_symlink())

    def test_in_folders_of_outputs(self):
        tables, machine = self.folder / "tables", self.folder / "machine"
        victim = self.plant(tables / "kernel.csv.tmp", machine / "README.txt.tmp", machine / "topology.json.tmp")
        self.expect((0,), "export", str(self.run_file), "--csv", str(tables))
        self.expect((0,), "topo", "--record", str(machine))
        self.assert_untouched(victim)

    def test_in_the_way_of_a_run(self):
        for number, planted in enumerate((["{}.tmp"], ["{}.parts/lock"], ["{}.parts/owner"], ["{}.parts/header.h5.tmp", "{}.parts/header.h5"],
                                          ["{}.parts/trial-000000.h5.tmp"], ["{}.parts/trace-000000-00000.spool"],
                                          ["{}.parts/trace-000000-00000.h5.tmp"], ["{}.parts"])):
            with self.subTest(planted=planted):
                file = self.folder / f"new-{number}.h5"
                victim = self.plant(*(one.format(file) for one in planted))
                self.run_program(*SYNTHETIC, "--trace", "kernels", "--output", str(file))
                self.assert_untouched(victim)

    def test_a_folder_in_the_way_of_a_run(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for suffix in (".h5.parts", ".trace"):
            (self.folder / f"new{suffix}").symlink_to(elsewhere)
            done = self.run_program(*SYNTHETIC, "--trace", "kernels", "--output", str(self.folder / "new.h5"))
            self.assertIn(f"new{suffix} is a symbolic link", done.stderr)
            self.assertEqual(list(elsewhere.iterdir()), [])
            (self.folder / f"new{suffix}").unlink()

    def test_reading_changes_nothing_and_follows_nothing(self):
        file, parts = self.stopped_run()
        (parts / "lock").unlink()
        spool = next(iter(parts.glob("trace-*.h5"))).with_suffix(".spool")
        victim = self.plant(parts / "lock", f"{file}.tmp", parts / "header.h5.tmp", f"{spool}.tmp", self.folder / "stopped.trace.tmp")
        before = self.state()
        for command in (["report", str(file)], ["report", str(file), "--timeline"], ["report", str(file), "--format", "csv"],
                        ["claim", "--sync", "1%", "--step", "1%", str(file)], ["doctor", "--node", str(file)],
                        ["predict", str(file), "--ranks", "4"]):
            self.run_program(*command)
            self.assert_untouched(victim)
            self.assertEqual(self.state(), before, command)
        self.assertIn("Timeline", self.expect((0,), "report", str(file), "--timeline").stdout)
        refused = self.expect((2, 7), "report", str(file), "--fold")
        self.assertIn("lock is not a file of ncclprobe's", refused.stderr)
        (parts / "lock").unlink()
        self.expect((0,), "report", str(file), "--fold")
        self.assertTrue(file.exists())
        self.assertFalse(parts.exists(), list(parts.glob("*")))
        self.assert_untouched(victim)

    def test_a_captured_job_is_read_without_writing_to_its_folder(self):
        job = self.folder / "job"
        job.mkdir()
        self.make_spool(job / "0.spool")
        victim = self.plant(job / "trace.h5.tmp", job / ".sorting")
        before = self.state()
        first = self.expect((0,), "report", str(job)).stdout
        self.assertEqual(self.state(), before)
        self.assert_untouched(victim)
        kept = list((self.cache / "ncclprobe").iterdir())
        self.assertEqual(len(kept), 1)
        self.assertEqual(stat.S_IMODE(kept[0].parent.stat().st_mode), 0o700)
        self.assertEqual(self.expect((0,), "report", str(job)).stdout, first)
        self.assertEqual(list((self.cache / "ncclprobe").iterdir()), kept)
        os.utime(job / "0.spool")  # it has changed
        self.assertEqual(self.expect((0,), "report", str(job)).stdout, first)
        again = list((self.cache / "ncclprobe").iterdir())
        self.assertTrue(len(again) == 1 and again != kept, again)

    def test_without_a_cache_of_ones_own_a_captured_job_can_be_read_too(self):
        job, elsewhere = self.folder / "job", self.folder / "elsewhere"
        for folder in (job, elsewhere, self.cache):
            folder.mkdir()
        self.make_spool(job / "0.spool")
        (self.cache / "ncclprobe").symlink_to(elsewhere)
        self.expect((0,), "report", str(job))
        self.assertEqual(list(elsewhere.iterdir()), [])
        self.expect((0,), "report", str(job), XDG_CACHE_HOME="/proc/nowhere", HOME="/proc/nowhere")

    def make_spool(self, path):
        """Of a stopped traced run, a spool that was not converted yet."""
        run = self.start_program("--backend", "synthetic", "--sizes", "1K", "--collectives", "all_reduce", "--no-sweep", "--repeat",
                                 "1000", "--trace", "kernels", "--output", str(self.folder / "source.h5"))
        parts = self.folder / "source.h5.parts"

        def caught():
            for spool in parts.glob("trace-*.spool"):
                try:
                    if spool.stat().st_size > 4000:
                        os.link(spool, path)
                        return True
                except OSError:
                    pass
            return False
        end = time.monotonic() + 30
        while not caught() and time.monotonic() < end:
            pass
        run.kill()
        run.wait()
        self.wait_until(lambda: not self.processes(), what="no process left")
        self.assertTrue(path.exists())

    def state(self):
        """Of all that lies in the folder but the cache: names, sizes and times of change."""
        return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in sorted(self.folder.rglob("*"))
                if self.cache not in (path, *path.parents) and path.name != "stderr"}


class Reading(ProgramTest):
    """However much a file holds, what is read of it is bounded, and the message names the bound."""

    def look(self, *arguments, stdin=subprocess.DEVNULL, words=()):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        done = subprocess.run(self.command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              stdin=stdin, timeout=60, preexec_fn=limit)
        self.assertIn(done.returncode, (1, 2), f"{arguments}: {done.stdout} {done.stderr}")
        self.assertNotIn("bug in ncclprobe", done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    READERS = (["topo", "--from"], ["doctor", "--offline"], ["doctor", "--gpu", "T4", "--policy"], ["doctor", "--node"],
               ["doctor", "--binary"], ["plan", "--plan"], ["run", "--plan"], ["report"], ["report", "--timeline"],
               ["predict", "--ranks", "4"], ["claim", "--setting", "x"], ["export", "--chrome", "out"], ["--resume"])

    def test_files_without_end(self):
        sparse = self.folder / "sparse"
        sparse.touch()
        os.truncate(sparse, 1 << 40)
        for name in ("zero", "random"):
            for suffix in ("json", "toml"):
                (self.folder / f"{name}.{suffix}").symlink_to("/dev/zero" if name == "zero" else "/dev/urandom")
        for reader in self.READERS:
            for file in ("/dev/zero", "/dev/urandom", str(sparse)):
                with self.subTest(reader=reader, file=file):
                    self.look(*reader, file)
        for name in ("zero.json", "zero.toml", "random.json", "random.toml"):
            self.look("models", name)
        self.look("doctor", "--log", "/dev/zero", words=["is a device, not a log"])
        self.look("topo", "--from", str(sparse), words=["more than 64 MiB"])
        self.look("report", str(sparse), words=["more than 256 GiB"])

    def test_pipes_without_end(self):
        for reader in (["topo", "--from"], ["doctor", "--gpu", "T4", "--policy"], ["plan", "--plan"], ["doctor", "--offline"]):
            with self.subTest(reader=reader):
                pipe = self.folder / f"pipe-{reader[-1]}"
                os.mkfifo(pipe)
                writer = subprocess.Popen(["sh", "-c", f"exec yes '<a/>' > {pipe}"], stderr=subprocess.DEVNULL)
                self.look(*reader, str(pipe), words=["which is the limit"])
                writer.wait(timeout=10)
                pipe.unlink(missing_ok=True)
        for reader in (["report"], ["export", "--chrome", "out"], ["doctor", "--node"], ["--resume"]):
            pipe = self.folder / "pipe"
            os.mkfifo(pipe)
            self.look(*reader, str(pipe))  # does not wait for a writer
            pipe.unlink()

    def test_logs_are_read_whole_but_have_lines(self):
        sparse = self.folder / "sparse.log"
        sparse.touch()  # as one that was cut short while it was written to
        os.truncate(sparse, 1 << 40)
        with open(sparse, "a") as log:
            log.write("\nRuntimeError: CUDA error: out of memory\n")
        done = self.run_program("doctor", "--log", str(sparse), timeout=20)
        self.assertIn("out of memory", done.stdout)
        with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as zeros:
            self.look("doctor", "--log", "-", stdin=zeros.stdout, words=["a line of more than 256 MiB"])
            zeros.stdout.close()

    def test_documents_that_are_nested_deeply(self):
        for name, text in (("deep.toml", "a" + ".a" * 50_000 + " = 1\n"), ("header.toml", "[a" + ".a" * 50_000 + "]\n"),
                           ("list.toml", "a = " + "[" * 50_000), ("deep.json", "{\"a\":" * 500_000 + "1" + "}" * 500_000),
                           ("deep.xml", "<system>" + "<a>" * 300_000 + "</a>" * 300_000 + "</system>")):
            (self.folder / name).write_text(text)
        words = ["nested more than 100 levels deep"]
        for name in ("deep.toml", "header.toml", "list.toml"):
            for reader in (["plan", "--plan"], ["run", "--plan"], ["doctor", "--gpu", "T4", "--policy"], ["models"]):
                with self.subTest(name=name, reader=reader):
                    self.look(*reader, name, words=words)
        for reader in (["topo", "--from"], ["models"], ["doctor", "--offline"], ["doctor", "--node"]):
            self.look(*reader, "deep.json", words=words)
        self.look("topo", "--from", "deep.xml", words=["nested more than 64 levels deep"])


if __name__ == "__main__":
    unittest.main()
