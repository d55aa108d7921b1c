# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that README.md and docs/ show, and compares the shape of what they print with what is shown.

- ```console blocks are run: lines that begin with "$ " are commands, the rest is what they print on standard output.
  A line "[...]" stands for any number of lines. The shape is the text with numbers, times and names of this machine
  replaced. A command may only fail if the next one is "echo $?".
- ```sh and ```python blocks are run too, and must succeed.
- A block after "<!-- not run: why -->" is not run; each of its options must be known to its command.
- ```text blocks are recorded output.

The blocks of a page run in order in one scratch folder. NCCLPROBE_ACCEPT_GOLDEN=1 writes what was printed into the
pages, except in blocks with "[...]".
"""

import functools
import importlib.util
import itertools
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
ACCEPT = os.environ.get("NCCLPROBE_ACCEPT_GOLDEN") == "1"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ("console", "sh", "python")
MARK = "end of command"
README_LINES = 200
HOST = re.escape(socket.gethostname())
PYTHON_PACKAGES = importlib.util.find_spec("h5py") and importlib.util.find_spec("pandas")


class Block:
    def __init__(self, page, begin, language, lines, reason):
        self.place = f"{page.relative_to(ROOT)}:{begin + 1}"
        self.begin, self.language, self.lines, self.reason = begin, language, lines, reason

    def steps(self):
        """Of a console block: commands, each with the lines that it prints."""
        steps = []
        for line in self.lines:
            if line.startswith("$ "):
                steps.append(([line[2:]], []))
            elif steps and not steps[-1][1] and steps[-1][0][-1].endswith("\\"):
                steps[-1][0].append(line)
            else:
                steps[-1][1].append(line)
        return [("\n".join(command), shown) for command, shown in steps]

    def needs_python_packages(self):
        return any("h5py" in line or "import ncclprobe" in line or "examples/read_" in line for line in self.lines)

    def script(self):
        if self.language != "console":
            return "\n".join(self.lines)
        return "\n".join(f"{command}\ncode=$?; printf '\\n{MARK} %d\\n' $code; (exit $code)" for command, _ in self.steps())


def blocks_of(page):
    blocks, begin, reason = [], None, ""
    for number, line in enumerate(page.read_text().splitlines()):
        if begin is not None:
            if line.startswith("```"):
                blocks.append(Block(page, begin, language, lines, reason))
                begin, reason = None, ""
            else:
                lines.append(line)
        elif line.startswith("```"):
            begin, language, lines = number, line[3:].strip(), []
        elif found := re.fullmatch(r"<!-- not run: (.+) -->", line):
            reason = found[1]
        elif line.strip():
            reason = ""
    return blocks


def shape(lines):
    """Text without what differs from one run to the next, and without the breaks of lines that depend on it."""
    text = " ".join(" ".join(lines).split())
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", text)
    text = re.sub(r"\bbuild [0-9a-f]{12}\b", "build ID", text)
    text = re.sub(r"\b\d+([-,]\d+)+\b", "#", text)  # CPUs, ranks
    text = re.sub(r"[+-]?\d[\d.,]*(?=\D|$)", "#", text)
    return re.sub(r"# (ns|us|ms|s|min)\b( # (ns|us|ms|s|min)\b)?", "# DURATION", text)


def has_shape(printed, shown):
    """Whether `printed` is `shown` but for numbers, where "[...]" stands for any number of lines."""
    parts = re.split(r"(?:^|(?<= ))\[\.\.\.\](?: |$)", shape(shown))
    pattern = ".*".join(re.escape(part.strip()) for part in parts)
    return re.fullmatch(pattern, shape(printed)) is not None


@functools.cache
def help_of(command):
    return subprocess.run([BIN / "ncclprobe", command, "--help"], capture_output=True, text=True).stdout


def unknown_options(line):
    """Options of ncclprobe in a line of shell that its command does not list."""
    found = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&")
    for separates, group in itertools.groupby(lexer, lambda word: not word.strip(";|&")):
        words = [] if separates else list(group)
        if "ncclprobe" not in words:
            continue
        words = words[words.index("ncclprobe") + 1:]
        words = words[:words.index("--")] if "--" in words else words  # the rest is another program's
        command = words[0] if words and not words[0].startswith("-") else "run"
        found += [f"{command} {word}" for word in words if word.startswith("--") and word != "--version"
                  and not re.search(rf"(^|[\s,]){re.escape(word.split('=')[0])}\b", help_of(command))]
    return found


class Documents(unittest.TestCase):
    maxDiff = None

    def test_the_readme_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), README_LINES)

    def test_links_lead_somewhere(self):
        for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")

    def test_every_page_is_linked_from_the_readme(self):
        readme = (ROOT / "README.md").read_text()
        for page in PAGES[1:]:
            self.assertIn(f"(docs/{page.name}", readme)

    def test_options_of_commands_that_are_not_run_exist(self):
        for page in PAGES:
            for command in re.findall(r"`([^`\n]*ncclprobe [^`\n]*)`", page.read_text()):
                self.assertEqual([], unknown_options(command.replace("\\|", "|")), page.name)
            for block in blocks_of(page):
                if block.reason:
                    lines = "\n".join(block.lines).replace("\\\n", " ").splitlines()
                    commands = [line.removeprefix("$ ") for line in lines
                                if block.language == "sh" or line.startswith("$ ")]
                    self.assertEqual([], sum(map(unknown_options, commands), []), block.place)


@unittest.skipIf(os.path.exists("/dev/nvidiactl"), "the pages show what a machine without GPUs prints")
class Commands(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ncclprobe-docs-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("examples", "tests"):
            (self.folder / name).symlink_to(ROOT / name)
        programs = self.folder / ".bin"
        programs.mkdir()
        (programs / "python3").symlink_to(sys.executable)
        self.environment = {name: os.environ[name] for name in ("LANG", "LD_LIBRARY_PATH") if name in os.environ}
        self.environment |= {"PATH": f"{programs}:{BIN}:{os.environ['PATH']}", "HOME": str(self.folder / ".home"),
                             "OMPI_MCA_rmaps_base_oversubscribe": "1",
                             "PYTHONPATH": str(ROOT / "analysis/python"), "PYTHONDONTWRITEBYTECODE": "1"}
        if os.geteuid() == 0:
            self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run_block(self, block):
        program = {"console": ["bash", "-c"], "sh": ["bash", "-ec"], "python": [sys.executable, "-c"]}[block.language]
        return subprocess.run([*program, block.script()], cwd=self.folder, env=self.environment, timeout=200,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def compare(self, block, done):
        """What the block should show in place of what it does; nothing if the shape is the same."""
        steps = block.steps()
        results = re.split(rf"\n{MARK} (\d+)\n", done.stdout)
        self.assertEqual(len(results), 2 * len(steps) + 1, f"{block.place}: not all ran\n{done.stdout}{done.stderr}")
        meant, same = [], True
        for i, (command, shown) in enumerate(steps):
            printed = re.sub(rf"\b{HOST}\b", "myhost", results[2 * i]).rstrip("\n").splitlines()
            may_fail = i + 1 < len(steps) and steps[i + 1][0] == "echo $?"
            self.assertTrue(may_fail or results[2 * i + 1] == "0", f"{block.place}: {command}\n{done.stdout}{done.stderr}")
            if has_shape(printed, shown):
                printed = shown
            elif not ACCEPT or "[...]" in shown:
                self.assertEqual("\n".join(printed), "\n".join(shown), f"{block.place}: {command}\n{done.stderr}")
            same = same and printed == shown
            meant += [*f"$ {command}".splitlines(), *printed]
        return None if same else meant

    def check(self, page):
        changes = {}
        for block in blocks_of(page):
            if block.reason or block.language not in RUN or (block.needs_python_packages() and not PYTHON_PACKAGES):
                continue
            done = self.run_block(block)
            if block.language == "console":
                if (meant := self.compare(block, done)) is not None:
                    changes[block.begin] = (len(block.lines), meant)
            else:
                self.assertEqual(done.returncode, 0, f"{block.place}\n{done.stdout}{done.stderr}")
        lines = page.read_text().splitlines()
        for begin, (count, meant) in sorted(changes.items(), reverse=True):
            lines[begin + 1:begin + 1 + count] = meant
        if changes:
            page.write_text("\n".join(lines) + "\n")


for one in PAGES:
    setattr(Commands, "test_" + re.sub(r"\W", "_", one.stem).lower(), lambda self, page=one: self.check(page))


if __name__ == "__main__":
    unittest.main(verbosity=2)
