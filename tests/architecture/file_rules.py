# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Fails on a source file without the licence header, that is too long, that reads the environment or writes
to people where it must not, or on a test that stands where no source folder is.

Usage: file_rules.py <root of the source tree>
"""
import pathlib
import re
import sys

from source_tree import CODE_SUFFIXES, SCRIPT_SUFFIXES, files, folder_of

MOST_LINES = 500
HEADER = ("SPDX-FileCopyrightText: The ncclprobe authors", "SPDX-License-Identifier: Apache-2.0")
# Folders of tests/ that mirror no source folder.
TEST_FOLDERS_OF_THEIR_OWN = {"bench", "fuzz", "support", "workers", "architecture", "install", "golden", "machines"}
# Settings are data below the command line: only these may look at the environment.
MAY_READ_ENVIRONMENT = "launch/cli"
# Output for people goes through base/console.h, which makes it safe for a terminal.
WRITES_TO_PEOPLE = re.compile(
    r"\bstd::(cout|cerr|clog)\b|\bstd(out|err)\b|\bSTD(OUT|ERR)_FILENO\b|\bfmt::(v\d+::)?v?print(ln)?\s*\("
    r"|(?<![\w.>:])(std::)?(v?printf|puts|putchar|perror|psignal|psiginfo)\s*\(|\bbacktrace_symbols_fd\b"
    r"|(?<![\w.>])v?dprintf\s*\(|(?<![\w.>])writev?\s*\(\s*[12]\s*,|#\s*include\s*<(iostream|spdlog/sinks/stdout\w*\.h)>"
    r"|\bspdlog::std(out|err)\w*")
MAY_WRITE_TO_PEOPLE = {
    "src/base/console.cpp",
    # Used in programs that are not ours, with only the C++ runtime. It escapes its own output.
    "src/plugin/capture/main.cpp",
    "src/plugin/table_tuner/main.cpp",
    # Opens those standard streams that are closed.
    "src/base/process_start.cpp",
    # Sends what HDF5 may print in a child to nobody.
    "src/store/child_jobs.cpp",
}
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def check_file(root, path):
    text = path.read_text()
    lines = text.splitlines()
    head = "\n".join(lines[:3])
    if not all(part in head for part in HEADER):
        yield "the first lines are not the two-line SPDX header"
    if len(lines) >= MOST_LINES:
        yield f"{len(lines)} lines; files stay under {MOST_LINES}"
    folder = folder_of(root, path)
    if path.suffix in {".h", ".cuh"} and "#pragma once" not in lines[2:3]:
        yield "'#pragma once' does not follow the SPDX header"
    if folder and not folder.startswith(MAY_READ_ENVIRONMENT) and path.name != "main.cpp" and path.suffix in CODE_SUFFIXES:
        if re.search(r"\b(secure_)?getenv\s*\(", COMMENT_OR_STRING.sub("", text)):
            yield "getenv below the command line: settings are data"
    if folder and path.suffix in CODE_SUFFIXES and str(path.relative_to(root)) not in MAY_WRITE_TO_PEOPLE:
        found = WRITES_TO_PEOPLE.search(COMMENT_OR_STRING.sub("", text))
        if found:
            yield f"{found.group(0)}: only base/console.h writes to people"


def check_place(root, path):
    """A test of src/model/trial.cpp stands in tests/model/."""
    parts = path.relative_to(root).parts
    if parts[0] != "tests" or path.suffix not in CODE_SUFFIXES:
        return
    if len(parts) == 2:
        yield "tests stand in a folder named after the one they test"
    elif parts[1] not in TEST_FOLDERS_OF_THEIR_OWN:
        mirrored = pathlib.PurePath(*parts[1:-1])
        if not (root / "src" / mirrored).is_dir() and not (root / mirrored).is_dir():
            yield f"there is no folder src/{mirrored} or {mirrored} that this could be a test of"


def check(root):
    root = pathlib.Path(root)
    complaints = []
    for path in files(root, CODE_SUFFIXES | SCRIPT_SUFFIXES):
        for reason in (*check_file(root, path), *check_place(root, path)):
            complaints.append(f"{path.relative_to(root)}: {reason}")
    return complaints


def main(root):
    complaints = check(root)
    print("\n".join(complaints) or "all files keep the rules")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
