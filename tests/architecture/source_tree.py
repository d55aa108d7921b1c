# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""What the architecture tests share: which files there are, and which folder a file belongs to."""
import pathlib

CODE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".c"}
SCRIPT_SUFFIXES = {".py", ".sh"}
# Storeys above src/: each of their folders is a library, and so may be a folder in it, as in launch/cli.
TOP_FOLDERS = ("launch", "analysis", "topology")
# Folders of more than one library: <root of the source tree>/<this>/<library>.
NESTED = ("launch/cli",)


def files(root, suffixes):
    """Files of the source tree with one of the suffixes, sorted; build and hidden folders left out."""
    root = pathlib.Path(root)
    found = []
    for folder in ("src", *TOP_FOLDERS, "tests", "examples"):
        for path in (root / folder).rglob("*"):
            if path.suffix in suffixes and path.is_file():
                found.append(path)
    return sorted(found)


def folder_of(root, path):
    """The library that a file belongs to ("model", "analysis/steps"), or None for tests and examples."""
    parts = pathlib.Path(path).relative_to(root).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return library_of(parts) if parts[0] in TOP_FOLDERS else None


def library_of(parts):
    """The library of a file by the parts of its path as it is included: ("analysis", "steps", "scaling.h")."""
    if parts[0] not in TOP_FOLDERS:
        return parts[0]
    depth = 3 if "/".join(parts[:2]) in NESTED else 2
    return "/".join(parts[:min(depth, len(parts) - 1)])
