# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""`ncclprobe topo` as a user runs it, on a machine that may have no GPU, and on files."""

import json
import pathlib
import select
import subprocess
import unittest

from program_test_case import BIN, SMALL, ProgramTest, mpirun

MACHINES = pathlib.Path(__file__).resolve().parents[3] / "machines"


# hwloc complains of it on stderr, if it may.
NO_NUMA_NODE = """<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1"
  nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
  <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="2"/>
 </object>
</topology>
"""


class Topo(ProgramTest):
    def topo(self, *arguments, code=0, launcher=(), **environment):
        done = self.run_program("topo", *arguments, launcher=launcher, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, *arguments):
        done = self.topo(*arguments, code=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def test_this_machine_is_shown_with_or_without_gpus(self):
        done = self.topo()

        self.assertIn("CPU: ", done.stdout)
        if "no GPU is known" in done.stdout:
            self.assertIn("note: ", done.stdout)

    def test_every_format_works_on_this_machine(self):
        for form in ("summary", "matrix", "tree", "json", "dot", "svg", "nccl-xml", "facts"):
            with self.subTest(format=form):
                self.assertNotEqual(self.topo("--format", form).stdout, "")

    def test_json_has_sources_and_is_read_back(self):
        text = self.topo("--format", "json").stdout
        machine = json.loads(text)
        self.assertEqual(machine["hosts"][0]["cpu"]["architecture"]["source"], "sysfs")
        stored = self.folder / "here.json"
        stored.write_text(text)

        self.assertEqual(self.topo("--from", str(stored), "--format", "json").stdout, text)

    def test_the_machine_of_a_run_is_shown(self):
        self.measure("--backend", "host", *SMALL, "--no-sweep", "--repeat", "1")

        here, stored = (json.loads(self.topo("--format", "json", *source).stdout)["hosts"][0] for source in ((), ("--from", "run.h5")))
        self.assertEqual(stored["cpu"], here["cpu"])
        self.assertIn("the machine was not recorded", self.refused("--from", str(MACHINES / "two-h200-vm-p2p.h5")))

    def test_ranks_of_one_host_see_one_host(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                done = self.topo("--format", "json", launcher=mpirun(ranks))
                self.assertEqual(len(json.loads(done.stdout)["hosts"]), 1)

    def test_several_files_are_several_hosts_and_one_can_be_chosen(self):
        files = [str(MACHINES / name) for name in ("dgx-a100.xml", "two-h200-vm.xml")]
        arguments = ["--from", files[0], "--from", files[1]]

        both = self.topo(*arguments, "--format", "json").stdout
        second = self.topo(*arguments, "--host", "1", "--format", "json").stdout

        self.assertEqual(len(json.loads(both)["hosts"]), 2)
        self.assertEqual(json.loads(second)["hosts"], [json.loads(both)["hosts"][1]])
        self.assertIn("there are 2 hosts", self.refused(*arguments, "--host", "2"))
        self.assertIn("--host N, from 0 to 1", self.refused(*arguments, "--format", "nccl-xml"))
        self.assertIn("rank 8=HOST1", self.topo("--from", files[0], "--from", files[0], "--placement").stdout)

    def test_placement_and_ceilings_of_a_recorded_machine(self):
        done = self.topo("--from", str(MACHINES / "two-h200-vm.xml"), "--placement", "--ceilings")

        self.assertIn("all_reduce, all_gather, reduce_scatter (rings)", done.stdout)
        self.assertIn("CUDA_VISIBLE_DEVICES=0,1", done.stdout)
        self.assertIn("mpirun -np 2", done.stdout)

    def test_rings_and_trees_of_nccl_are_shown(self):
        graphs = ["--from", str(MACHINES / "eight-h200-vm.graph.xml")]
        golden = MACHINES.parent / "golden" / "topology-graphs.txt"

        self.assertEqual(self.topo(*graphs).stdout, golden.read_text())
        rings = json.loads(self.topo(*graphs, "--format", "json").stdout)["graphs"][0]
        self.assertEqual([len(channel["gpus"]) for channel in rings["channels"]], [8] * 12)
        for arguments in (["--format", "svg"], ["--placement"], ["--host", "0"], graphs):
            with self.subTest(arguments=arguments):
                self.assertIn("graphs", self.refused(*graphs, *arguments))

    def test_a_machine_and_its_graphs_are_shown_together(self):
        machine = ["--from", str(MACHINES / "eight-h200-vm.topo-m.txt")]
        both = [*machine, "--from", str(MACHINES / "eight-h200-vm.graph.xml")]
        golden = MACHINES.parent / "golden" / "topology-graphs.txt"

        self.assertEqual(self.topo(*both).stdout,
                         self.topo(*machine).stdout + "\n" + golden.read_text())
        text = self.topo(*both, "--format", "json").stdout
        self.assertEqual(len(json.loads(text)["nccl_graphs"]), 5)
        stored = self.folder / "both.json"
        stored.write_text(text)
        self.assertEqual(self.topo("--from", str(stored)).stdout, self.topo(*machine).stdout)

    def test_a_pipe_is_read_from_its_first_byte(self):
        file = MACHINES / "two-h200-vm.xml"
        with subprocess.Popen(["cat", str(file)], stdout=subprocess.PIPE) as cat:
            select.select([cat.stdout], [], [])  # something is in the pipe already
            done = subprocess.run(self.command("topo", "--from", "/dev/stdin"), stdin=cat.stdout, env=self.environment,
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NV18", done.stdout)

    def test_bad_files_are_refused_with_their_name(self):
        self.assertIn("/nowhere.xml", self.refused("--from", "/nowhere.xml"))
        self.assertIn("is a folder", self.refused("--from", str(self.folder)))
        for name, content in (("empty.xml", ""), ("cut.xml", "<system version=\"1\">\n<cpu numaid="),
                              ("log.txt", "step 1\nstep 2\n"), ("deep.json", "[[[["),
                              ("no-numa.xml", NO_NUMA_NODE)):
            file = self.folder / name
            file.write_text(content)
            self.assertIn(name + ":", self.refused("--from", str(file)))

    def test_a_document_that_quotes_a_matrix_is_no_machine(self):
        notes = self.folder / "notes.md"
        notes.write_text((MACHINES / "eight-h200-vm.topo-m.txt").read_text() + 201 * "What we found out about it.\n")
        self.assertIn("notes.md:", self.refused("--from", str(notes)))

    def test_a_machine_is_read_from_standard_input(self):
        file = MACHINES / "eight-h200-vm.topo-m.txt"
        with open(file) as stdin:
            done = subprocess.run(self.command("topo", "--from", "-", "--format", "tree"), stdin=stdin,
                                  capture_output=True, text=True, timeout=100)

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.topo("--from", str(file), "--format", "tree").stdout)
        self.assertIn("standard input:1:", self.refused("--from", "-"))

    def test_bad_options_are_refused(self):
        for arguments in (["--format", "png"], ["--nccl", "maybe"], ["--host", "-1"], ["--names"],
                          ["--record", "x", "--from", "y"], ["--library", "openblas=/x"]):
            with self.subTest(arguments=arguments):
                self.topo(*arguments, code=2)

    def test_what_only_the_summary_shows_is_refused_with_other_formats(self):
        for option in ("--placement", "--ceilings"):
            for form in ("json", "matrix", "nccl-xml"):
                with self.subTest(option=option, format=form):
                    text = self.refused("--from", str(MACHINES / "two-h200-vm.xml"), option, "--format", form)
                    self.assertIn(option, text)
                    self.assertIn("--format summary", text)

    def test_output_goes_to_a_file_and_a_bad_place_is_an_output_error(self):
        file = self.folder / "matrix.svg"

        self.assertEqual(self.topo("--format", "svg", "--output", str(file)).stdout, "")
        self.assertIn("<svg", file.read_text())
        self.topo("--output", str(self.folder / "no-such-folder" / "x"), code=7)

    def test_recording_gathers_what_there_is_and_leaves_names_out(self):
        folder = self.folder / "machine"
        done = self.topo("--record", str(folder))

        self.assertIn("README.txt", [path.name for path in folder.iterdir()])
        self.assertIn("topology.json", done.stdout)
        boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for path in folder.iterdir():
            self.assertNotIn(boot_id, path.read_text(), path.name)
        self.assertIsNone(json.loads((folder / "topology.json").read_text())["hosts"][0]["name"])
        self.topo("--from", str(folder / "hwloc.xml"))
        self.topo("--from", str(folder / "topology.json"))

        self.topo("--record", str(folder), "--names", "--force")
        self.assertIn(boot_id, (folder / "topology.json").read_text())

    def test_recording_under_mpirun_records_each_host_once(self):
        folder = self.folder / "machine"
        self.topo("--record", str(folder), launcher=mpirun(2))

        self.assertTrue((folder / "topology.json").exists())

    def words_to_workers(self, *arguments, without_gpus=False):
        """What the worker of each inventory was started with; `without_gpus`: only such a one does not fail."""
        worker, log = self.folder / "worker", self.folder / "words"
        log.write_text("")
        refuse = "case \"$*\" in *--no-gpus*) ;; *) exit 1 ;; esac\n" if without_gpus else ""
        worker.write_text(f"#!/bin/sh\necho \"$*\" >>{log}\n{refuse}exec {BIN}/ncclprobe-worker \"$@\"\n")
        worker.chmod(0o755)
        self.topo(*arguments, "--library", f"worker={worker}")
        return [line.split() for line in log.read_text().splitlines()]

    def test_cuda_is_asked_for_all_only_where_it_is_wanted(self):
        for arguments in ([], ["--cuda", "auto"]):
            with self.subTest(arguments=arguments):
                self.assertIn("--links", self.words_to_workers(*arguments)[0])
        for arguments in (["--cuda", "on"], ["--record", str(self.folder / "machine")]):
            with self.subTest(arguments=arguments):
                for words in self.words_to_workers(*arguments):
                    self.assertNotIn("--links", words)

    def test_a_machine_whose_gpus_cannot_be_looked_at_is_shown_without_them(self):
        first, second = self.words_to_workers(without_gpus=True)

        self.assertNotIn("--no-gpus", first)
        self.assertGreater(second.index("--no-gpus"), second.index("--links"))  # the last one counts

    def test_a_recording_that_cannot_be_written_is_an_output_error(self):
        file = self.folder / "file"
        file.write_text("in the way")

        self.topo("--record", str(file / "machine"), code=7)


if __name__ == "__main__":
    unittest.main()
