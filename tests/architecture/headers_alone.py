# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Fails if a header does not compile alone, and twice in one file.

A header whose own .cpp includes it first is compiled alone by each build with NCCLPROBE_UNITY=OFF, such as that
of tests/gates.sh coverage (the order of includes is part of the format check). So only the others cost a compiler run here.

Usage: headers_alone.py <root> [--skip folder]... -- compiler arguments...
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

from include_rules import INCLUDE
from source_tree import files, folder_of


def include_path(root, header):
    """The header as it is written in an #include."""
    relative = header.relative_to(root)
    if relative.parts[0] in ("src", "tests"):
        return pathlib.PurePath(*relative.parts[1:])
    return relative


def built_alone(root, header):
    source = header.with_suffix(".cpp")
    if not source.exists():
        return False
    for line in source.read_text().splitlines():
        include = INCLUDE.match(line)
        if include:
            return include.group(2) == str(include_path(root, header))
    return False


def compile_alone(root, header, command):
    unit = f'#include "{include_path(root, header)}"\n' * 2
    done = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=unit, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return None if done.returncode == 0 else f"{header.relative_to(root)} does not compile alone:\n{done.stdout}"


def check(root, skip, command):
    root = pathlib.Path(root)
    # A folder's tests depend on its libraries: tests/nvidia is skipped with nvidia.
    headers = [path for path in files(root, {".h"})
               if folder_of(root, path) not in skip and include_path(root, path).parts[0] not in skip]
    alone = [path for path in headers if not built_alone(root, path)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda header: compile_alone(root, header, command), alone))
    return [result for result in results if result], len(headers), len(alone)


def main(arguments):
    split = arguments.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--skip", action="append", default=[])
    options = parser.parse_args(arguments[:split])
    complaints, headers, compiled = check(options.root, set(options.skip), arguments[split + 1:])
    print("\n".join(complaints) or f"{headers} headers, of which {compiled} were compiled here")
    return 1 if complaints or headers == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
