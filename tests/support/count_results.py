# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Prints 'N passed, N failed, N skipped' from the JUnit files that ctest wrote.

A test that could not be started (no executable, failed fixture) counts as failed, as ctest itself has it.
Exit code 0 only if at least one test passed and none failed.
"""
import sys
import xml.etree.ElementTree as ElementTree


def kind_of(case):
    status = case.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    skipped = case.find("skipped")
    if status == "notrun" and skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "failed"


def count(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    names = {"failed": [], "skipped": []}
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            kind = kind_of(case)
            counts[kind] += 1
            if kind in names:
                names[kind].append(case.get("name"))
    return counts, names


def main(paths):
    readable = []
    for path in paths:
        try:
            ElementTree.parse(path)
            readable.append(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"no results in {path}: {error}")
    counts, names = count(readable)
    for kind in ("skipped", "failed"):
        for name in names[kind]:
            print(f"{kind}: {name}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    complete = readable == paths and len(paths) > 0
    return 0 if complete and counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
