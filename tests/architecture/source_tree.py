# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""What the architecture tests share: which files there are, and which folder a file belongs to."""
import pathlib

CODE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".c"}
SCRIPT_SUFFIXES = {".py", ".sh"}
# Folders that stand at the top beside src/, and are libraries like those in src/.
TOP_FOLDERS = ("launch", "analysis", "topology")


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
    """The library that a file belongs to ("model", "launch"), or None for tests and examples."""
    parts = pathlib.Path(path).relative_to(root).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[0] in TOP_FOLDERS:
        return parts[0]
    return None
