# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Files of others, whose texts would make a terminal do things: none of it is printed as it is."""

import json
import pathlib
import re
import subprocess
import unittest

from program_test_case import ProgramTest

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

# An escape sequence, control characters of both blocks, of one byte and of two, what reorders and what hides.
HOSTILE = "\x1b]0;owned\x07\x1b[31m\x7f\u009b2J\u202egnp\u2066\u200b\u2028"
RAW = HOSTILE.encode() + b"\x9b31m\x00\xff"
DOCUMENTS = (b"{", b"[")  # how the texts of a run file that are JSON begin
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\r(?!\n)")
MACHINES = pathlib.Path(__file__).parents[3] / "machines"


def leaves(value, path=()):
    """Paths of all texts and keys in a JSON document; of lists the first entry stands for all."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in list(enumerate(value))[:1]:
            yield from leaves(inner, (*path, index))
    elif isinstance(value, str):
        yield path


def poisoned(value, path, poison=HOSTILE):
    """The document with a text changed."""
    if not path:
        return value + poison
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = poisoned(value[path[0]], path[1:], poison)
    return copy


class HostileTest(ProgramTest):
    def look(self, *arguments, **environment):
        """Runs, checks that all it says is safe, and returns its exit code."""
        done = subprocess.run(self.command(*arguments), cwd=self.folder, timeout=60, capture_output=True,
                              env={**self.environment, **environment}, stdin=subprocess.DEVNULL)
        for name, said in (("stdout", done.stdout), ("stderr", done.stderr)):
            text = said.decode()  # fails on what is no UTF-8
            found = UNSAFE.search(text)
            self.assertIsNone(found, f"{arguments}: {name}: {text[max(0, found.start() - 80):][:160]!r}" if found else "")
        self.assertGreaterEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        self.assertNotIn(b"bug in ncclprobe", done.stderr, arguments)
        return done.returncode

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)


class Documents(HostileTest):
    def test_arguments(self):
        for arguments in (["report", "x" + HOSTILE], ["--sizes", HOSTILE], ["--" + HOSTILE], [HOSTILE], ["doctor", "--gpu", HOSTILE],
                          ["topo", "--format", HOSTILE], ["models", HOSTILE], ["claim", "--sync", HOSTILE, "--step", "1%"],
                          ["predict", "x", "--ranks", HOSTILE], ["export", "x", "--chrome", "x", "--ranks", HOSTILE],
                          ["plan", "--set", "NCCL_ALGO=" + HOSTILE], ["plan", "--dry-run", "--set", HOSTILE + "=1"]):
            self.look(*arguments)

    def test_a_policy(self):
        for policy in (f'"k{HOSTILE}" = 1\n'.replace("\x1b", "\\u001b"), 'name = "a\\u001b[31m\\u009b\\u202e"\nmin_gpus = 1\n',
                       'interconnect = "\\u001b[31m"\n', 'features = ["\\u001b[31m"]\n', b"name = " + RAW, b"\x1b[31m = 1"):
            self.look("doctor", "--policy", self.write("policy.toml", policy), "--gpu", "T4")

    def test_a_plan(self):
        for plan in ('"\\u001b[31m\\u202e" = 1\n', 'backend = "\\u001b[31m"\n', 'set = ["\\u001b[31m=\\u202e"]\n',
                     'types = ["\\u001b[31m"]\n', '[backend]\n"\\u001b" = 1\n', 'workload = "\\u001b[31m"\n', b"sizes = " + RAW):
            path = self.write("plan.toml", plan)
            self.look("plan", "--plan", path)
            self.look("plan", "--dry-run", "--plan", path)
            self.look("run", "--plan", path, "--backend", "\x1b")

    def test_a_model(self):
        model = json.loads(self.run_program("models", "linear:64x2", "--format", "json").stdout)
        for path in leaves(model):
            name = self.write("model.json", json.dumps(poisoned(model, path), ensure_ascii=False))
            self.look("models", name)
            self.look("models", name, "--format", "json")
        self.look("models", self.write("model.json", json.dumps({HOSTILE: 1}, ensure_ascii=False)))
        self.look("models", self.write("model.json", RAW))
        self.look("models", self.write("model.toml", b"name = " + RAW))

    def test_a_machine(self):
        machine = json.loads(self.run_program("topo", "--from", str(MACHINES / "dgx-a100.xml"), "--format", "json").stdout)
        accepted = machine
        for path in leaves(machine):
            one = poisoned(machine, path)
            if self.look("topo", "--from", self.write("machine.json", json.dumps(one, ensure_ascii=False))) == 0:
                accepted = poisoned(accepted, path)
        name = self.write("machine.json", json.dumps(accepted, ensure_ascii=False))
        for form in ("summary", "matrix", "tree", "json", "dot", "svg", "nccl-xml", "facts"):
            self.look("topo", "--from", name, "--format", form)
        self.look("topo", "--from", name, "--placement", "--ceilings")

    def test_other_descriptions_of_a_machine(self):
        xml = (MACHINES / "dgx-a100.xml").read_text()
        for text in (xml.replace('"', '"\x1b[31m\u202e', 40), xml.replace("<cpu", "<c\x1bpu", 1), xml.replace("system", "\x1b[31m"),
                     b"\tGPU0\tGPU1" + RAW + b"\nGPU0\t X \t" + RAW + b"\nGPU1\t" + RAW + b"\t X \n", b"==NVSMI LOG==\nGPU " + RAW,
                     b"GPU 0: " + RAW + b"\n\t Link 0: " + RAW):
            self.look("topo", "--from", self.write("machine", text))

    def test_an_examination(self):
        case = json.loads(self.run_program("doctor", "--backend", "host", "--no-run", "--format", "json").stdout)
        accepted = case
        for path in leaves(case["case"], ("case",)):
            name = self.write("case.json", json.dumps(poisoned(case, path), ensure_ascii=False))
            if self.look("doctor", "--offline", name) not in (1, 2):
                accepted = poisoned(accepted, path)
            self.look("doctor", "--node", name)
        name = self.write("case.json", json.dumps(accepted, ensure_ascii=False))
        self.look("doctor", "--offline", name)
        self.look("doctor", "--offline", name, "--format", "json")
        self.look("doctor", "--offline", self.write("case.json", RAW))

    def test_a_log(self):
        lines = [b"%b:12:34 [0] NCCL INFO %b", b"[rank0]: RuntimeError: CUDA error: %b out of memory", b"NVRM: Xid (PCI:%b): 79, %b",
                 b"%b NCCL WARN Cuda failure 'out of memory' %b", b"slurmstepd: error: %b", b"No space left on device %b",
                 b"torch.distributed.DistBackendError: NCCL error in: %b", b"[default%b]: Killed process 7 (%b)"]
        log = b"\n".join(line.replace(b"%b", RAW.replace(b"\x00", b"")) for line in lines) + b"\n"
        name = self.write("train.log", log)
        self.look("doctor", "--log", name)
        self.look("doctor", "--log", name, "--format", "json")

    def test_a_name_of_a_file(self):
        name = self.write("x\x1b[31m\u202e.h5", b"nothing")
        for command in (["report"], ["export", "--chrome", "o"], ["topo", "--from"], ["doctor", "--log"], ["doctor", "--binary"],
                        ["--resume"], ["doctor", "--offline"]):
            self.look(*command, name)
        self.look("models", "-o", name)
        self.assertEqual(pathlib.Path(name).read_bytes(), b"nothing")

    def test_a_text_that_is_written_to_a_file_is_safe_too(self):
        machine = json.loads(self.run_program("topo", "--from", str(MACHINES / "dgx-a100.xml"), "--format", "json").stdout)
        machine["hosts"][0]["name"] = {"value": "h" + HOSTILE, "source": "sysfs"}
        name = self.write("machine.json", json.dumps(machine, ensure_ascii=False))
        for form in ("summary", "json", "svg"):
            self.assertEqual(self.look("topo", "--from", name, "--format", form, "-o", "out", "--force"), 0)
            self.assertIsNone(UNSAFE.search((self.folder / "out").read_text()))


@unittest.skipUnless(h5py, "h5py is not installed")
class RunFiles(HostileTest):
    REPORTS = (["report"], ["report", "--format", "json"], ["report", "--format", "csv"], ["report", "--timeline"],
               ["predict", "--ranks", "16"], ["claim", "--setting", "x"], ["doctor", "--node"], ["--resume"])

    def setUp(self):
        super().setUp()
        self.measure("--backend", "synthetic", "--sizes", "1K", "--collectives", "all_reduce", "--repeat", "1", "--set",
                     "NCCL_ALGO=Ring,Tree", "--trace", "kernels")

    def with_texts(self, change):
        """A copy of the run file in which its texts are others."""
        path = self.folder / "hostile.h5"
        path.write_bytes(self.run_file.read_bytes())
        with h5py.File(path, "r+", libver=("v110", "v110")) as run:
            blob, at = run["strings/blob"][:].tobytes(), run["strings/offset"][:]
            texts = [change(i, blob[at[i]:at[i + 1]]) for i in range(len(at) - 1)]
            replace(run, "strings/blob", b"".join(texts))
            replace(run, "strings/offset", numpy.cumsum([0, *map(len, texts)], dtype=at.dtype))
        return str(path)

    def look_at_all(self, path):
        for command in self.REPORTS:
            self.look(*command[:1], path, *command[1:]) if command[0] != "doctor" else self.look(*command, path)

    def texts(self):
        with h5py.File(self.run_file) as run:
            blob, at = run["strings/blob"][:].tobytes(), run["strings/offset"][:]
            return [blob[at[i]:at[i + 1]] for i in range(len(at) - 1)]

    def test_each_text_of_a_run_file(self):
        accepted = set()
        for number, text in enumerate(self.texts()):
            if text.startswith(DOCUMENTS):
                continue
            path = self.with_texts(lambda i, old, number=number: old + RAW if i == number else old)
            if self.look("report", path) == 0:
                accepted.add(number)
        self.assertGreater(len(accepted), 25)
        self.look_at_all(self.with_texts(lambda i, old: old + RAW if i in accepted else old))

    def test_each_document_of_a_run_file(self):
        documents = {number: json.loads(text) for number, text in enumerate(self.texts()) if text.startswith(DOCUMENTS)}
        changed = []
        for number, document in documents.items():
            for leaf in leaves(document):
                new = json.dumps(poisoned(document, leaf), ensure_ascii=False).encode()
                path = self.with_texts(lambda i, old: new if i == number else old)
                if self.look("report", path) == 0:
                    changed.append((number, leaf))
        for number, leaf in changed:
            documents[number] = poisoned(documents[number], leaf)
        as_bytes = {number: json.dumps(one, ensure_ascii=False).encode() for number, one in documents.items()}
        self.assertGreater(len(changed), 10)  # most of what was in them is in columns
        self.look_at_all(self.with_texts(lambda i, old: as_bytes.get(i, old)))

    def test_the_texts_of_a_trace(self):
        trace = next((self.folder / "run.trace").glob("*.h5"))
        with h5py.File(trace, "r+", libver=("v110", "v110")) as file:
            blob, at = bytearray(file["strings/blob"][:].tobytes()), file["strings/offset"][:]
            for first, last in zip(map(int, at[:-1]), map(int, at[1:])):
                poison = (b"\x1b[31m\x9b\x00\xe2\x80\xae" * 20)[:last - first]
                blob[first:first + len(poison)] = poison
            file["strings/blob"][:] = numpy.frombuffer(bytes(blob), dtype=file["strings/blob"].dtype)
        self.look("report", str(trace))
        self.look("report", str(trace), "--format", "json")
        self.assertEqual(self.look("export", str(trace), "--chrome", "out.json", "--csv", "tables"), 0)
        for file in [self.folder / "out.json", *(self.folder / "tables").glob("*.csv")]:
            self.assertIsNone(UNSAFE.search(file.read_text()), file)

    def test_a_command_that_a_hint_shows_can_be_pasted(self):
        name = "x $(touch owned) `id` 'y'.h5"
        (self.folder / name).write_bytes(self.run_file.read_bytes())
        hint = self.run_program("doctor", "--offline", name).stderr
        self.assertIn("`ncclprobe report 'x $(touch owned) `id` '\\''y'\\''.h5'` shows", hint)

    def test_names_in_the_file_itself(self):
        path = self.folder / "hostile.h5"
        path.write_bytes(self.run_file.read_bytes())
        with h5py.File(path, "r+", libver=("v110", "v110")) as run:
            run.attrs.modify("kind", b"x" + RAW.replace(b"\x00", b""))
        self.look_at_all(str(path))


def replace(run, name, values):
    dtype = run[name].dtype
    values = numpy.frombuffer(values, dtype=dtype) if isinstance(values, bytes) else values
    attributes = dict(run[name].attrs)
    del run[name]
    run.create_dataset(name, data=values, chunks=(max(1, len(values)),), fletcher32=True).attrs.update(attributes)


if __name__ == "__main__":
    unittest.main()
