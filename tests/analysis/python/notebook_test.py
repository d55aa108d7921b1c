# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The notebooks in examples/ run from beginning to end, with the runs that they tell their readers to make."""
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from python_test_case import BIN, HAS_MATPLOTLIB, PACKAGE, ROOT, environment, scratch
import python_test_case

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
ABSENT = [package for module, package in {"nbconvert": "jupyter-nbconvert", "ipykernel": "python3-ipykernel"}.items()
          if not importlib.util.find_spec(module)] + ([] if HAS_MATPLOTLIB else ["python3-matplotlib"])


def setUpModule():
    python_test_case.setUpModule()
    if ABSENT:
        raise unittest.SkipTest(f"not installed: {', '.join(ABSENT)}")


class Notebooks(unittest.TestCase):
    def execute(self, notebook):
        """The cells of a notebook after it ran in a folder with the runs that its first cell makes."""
        folder = scratch() / notebook.stem
        folder.mkdir()
        first = "".join(json.loads(notebook.read_text())["cells"][0]["source"])
        for command in re.search(r"```sh\n(.*?)```", first, re.DOTALL)[1].replace("\\\n", "").splitlines():
            program, *arguments = shlex.split(command)
            self.check(folder, BIN / program, *arguments)
        shutil.copy(notebook, folder)
        self.check(folder, sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done", notebook.name,
                   PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", HOME=str(folder), PATH=f"{BIN}:/usr/bin:/bin")
        return json.loads((folder / "done.ipynb").read_text())["cells"]

    def check(self, folder, *command, **variables):
        done = subprocess.run(command, cwd=folder, env={**environment(), **variables}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_notebook_runs_and_draws(self):
        self.assertTrue(NOTEBOOKS)
        for notebook in NOTEBOOKS:
            with self.subTest(notebook.name):
                cells = [cell for cell in self.execute(notebook) if cell["cell_type"] == "code"]
                for cell in cells:
                    source, outputs = "".join(cell["source"]), cell["outputs"]
                    self.assertFalse([one for one in outputs if one.get("name") == "stderr"], source) # no warning either
                    if source.rstrip().endswith(";"):
                        self.assertEqual(sum("image/png" in one.get("data", {}) for one in outputs), 1, source)
                    else:
                        self.assertTrue(outputs, source)

    def test_notebooks_are_stored_without_outputs(self):
        for notebook in NOTEBOOKS:
            for cell in json.loads(notebook.read_text())["cells"]:
                self.assertFalse(cell.get("outputs"), notebook.name)
                self.assertIsNone(cell.get("execution_count"), notebook.name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
