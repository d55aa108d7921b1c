# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Prints 'N passed, N failed, N skipped' from the JUnit files that ctest wrote.

A test of several cases prints a line such as CASES: 12 passed, 0 failed, 1 skipped (support/session.cpp); then its cases count.
The last lines of each failed test's output come before that: who reads only the end of a log sees what failed and why.
A test that could not be started (no executable, failed fixture) counts as failed, as ctest itself has it.
Exit code 0 only if at least one test passed and none failed.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES_OF_A_FAILURE = 40
CASES = re.compile(r"^CASES: (\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SKIPPED_CASE = re.compile(r"^SKIPPED: (.*)$", re.MULTILINE)


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
    failed, skipped = [], []
    for path in paths:
        for test in ElementTree.parse(path).getroot().iter("testcase"):
            kind = kind_of(test)
            output = test.findtext("system-out", "")
            cases = CASES.search(output)
            if kind != "skipped" and cases:
                for name, number in zip(counts, cases.groups()):
                    counts[name] += int(number)
                skipped += [f"{test.get('name')}: {case}" for case in SKIPPED_CASE.findall(output)]
                if kind == "failed" and cases[2] == "0":
                    counts["failed"] += 1  # it ended badly after its cases
            else:
                counts[kind] += 1
            if kind == "failed":
                failed.append(test)
            elif kind == "skipped":
                skipped.append(test.get("name"))
    return counts, failed, skipped


def main(paths):
    readable = []
    for path in paths:
        try:
            ElementTree.parse(path)
            readable.append(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"no results in {path}: {error}")
    counts, failed, skipped = count(readable)
    for name in skipped:
        print(f"skipped: {name}")
    for case in failed:
        print(f"failed: {case.get('name')}")
        for line in case.findtext("system-out", "").splitlines()[-LINES_OF_A_FAILURE:]:
            print(f"    {line}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    complete = readable == paths and len(paths) > 0
    return 0 if complete and counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
