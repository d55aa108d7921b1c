# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""`ncclprobe topo` on real GPUs, held against nvidia-smi and NCCL. Exit code 77: there are none."""

import re
import shutil
import subprocess

from program_test_case import ProgramTest, main_on_gpus


def labels(matrix):
    """What a matrix in the style of nvidia-smi says between each two GPUs."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", matrix)
    rows = [line.split() for line in plain.splitlines() if re.match(r"GPU\d+\s", line)]
    gpus = [row[0] for row in rows]
    return {(row[0], other): label for row in rows for other, label in zip(gpus, row[1:])}


class TopoOnGpus(ProgramTest):
    def text(self, *arguments, **environment):
        done = self.run_program("topo", *arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_matrix_is_that_of_nvidia_smi(self):
        if shutil.which("nvidia-smi") is None:
            self.skipTest("no nvidia-smi")
        done = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = labels(done.stdout)
        self.assertNotEqual(theirs, {})

        ours = labels(self.text("--format", "matrix"))

        self.assertEqual(ours.keys(), theirs.keys())
        # What a virtual machine hides is unknown to us; nvidia-smi guesses.
        self.assertEqual({pair: theirs[pair] for pair, label in ours.items() if label != "?"},
                         {pair: label for pair, label in ours.items() if label != "?"})

    def test_nccl_takes_our_topology_and_finds_the_same_rings_and_trees(self):
        topology = self.folder / "ours.xml"
        topology.write_text(self.text("--format", "nccl-xml"))
        for name, environment in (("plain", {}), ("ours", {"NCCL_TOPO_FILE": str(topology)})):
            self.text("--record", str(self.folder / name), **environment)
        plain, ours = (self.folder / name / "nccl-graphs.xml" for name in ("plain", "ours"))
        self.assertTrue(plain.exists(), "NCCL found no graphs by itself")
        self.assertTrue(ours.exists(), "NCCL refused\n" + topology.read_text())

        self.assertEqual(ours.read_text(), plain.read_text())


if __name__ == "__main__":
    main_on_gpus(1)
