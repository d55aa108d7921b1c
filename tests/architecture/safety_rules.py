# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Fails on a source file that starts a shell or a program, or makes a file, in a place where nobody has checked that it
is safe. Each place has its reason here, and each reason still has its place.

Usage: safety_rules.py <root of the source tree>
"""
import pathlib
import re
import sys

from source_tree import CODE_SUFFIXES, files, folder_of

# name -> (what is looked for, {file: why it is safe there}).
RULES = {
    "a shell": (
        re.compile(r'(?<![\w.>])(system|popen|wordexp)\s*\(|"[^"\n]*\b(ba|da|z)?sh"\s*,\s*\{?\s*"-c"'),
        {
            "launch/cli/bisect/bisect_command.cpp": "runs the launcher command that the user gave; all else is a quoted word",
            "launch/cli/compare/run_in_turns.cpp": "runs the two commands that the user gave",
            "launch/cli/record/verify_command.cpp": "a constant script reads the settings that the user named, as users do",
            "launch/supervisor/tool.cpp": "a constant script; the words of the command are its arguments",
        }),
    "another program": (
        re.compile(r"(?<![\w.>])(::)?(v?fork|clone3?|exec[lv]p?e?|fexecve|execveat|posix_spawnp?)\s*\("),
        {
            "launch/cli/commands.cpp": "ncclprobe-report, from the program's own folder",
            "launch/cli/record/record_command.cpp": "the job that the user gave",
            "launch/cli/record/verify_command.cpp": "the job that the user gave",
            "launch/supervisor/fleet_mpi_beside.cpp": "ncclprobe for the other MPI, from the program's own folder",
            "launch/supervisor/process.cpp": "workers and tools, with a path and arguments, never by a shell",
            "src/nvidia/graph.cpp": "no program: a branch of a CUDA graph",
            "src/nvidia/graph.h": "no program: a branch of a CUDA graph",
            "src/store/child_jobs.cpp": "a child of this program that compresses",
        }),
    "a temporary file or folder": (
        re.compile(r"\b(tmpfile|tmpnam|tempnam|mk(o?s?temp(at)?s?|o?stemps?|dtemp)|temp_directory_path)\s*\(|\bP_tmpdir\b|\"/(var/)?tmp/"),
        {
            "launch/cli/common/private_folder.cpp": "mkdtemp: a random name, only for the user (0700)",
            "src/store/scratch_file.cpp": "mkostemp: a random name, exclusive, 0600, and its name is removed at once",
            "src/system/shared_memory.cpp": "mkostemp: a random name, exclusive, 0600, and its name is removed at once",
        }),
    "a file that is not made by base/atomic_file.h": (
        re.compile(r"\bO_(CREAT|TMPFILE)\b|\b(std::)?(basic_)?o?fstream\b(?!>)|\bfopen\s*\(|\bcreat\s*\(|\bshm_open\s*\("),
        {
            "launch/cli/record/capture_folder.cpp": "the job's name, in the user's folder: O_NOFOLLOW, many processes open it",
            "launch/supervisor/mpi_segment.cpp": "O_EXCL, 0600: Open MPI removes it",
            "src/base/atomic_file.cpp": "O_EXCL and O_NOFOLLOW, by the descriptor of the folder",
            "src/store/run_lock.cpp": "O_EXCL, or O_NOFOLLOW and then looked at",
            "src/system/shared_memory.cpp": "O_TMPFILE: it never has a name",
            "src/trace/spool_writer.cpp": "O_EXCL, which follows no link",
        }),
}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INCLUDE = re.compile(r"^\s*#\s*include[^\n]*", re.MULTILINE)
# Makes a file, but follows no link and takes no file that is there.
MUST_HAVE = re.compile(r"O_EXCL|O_NOFOLLOW")


def check(root):
    root = pathlib.Path(root)
    complaints, seen = [], set()
    for path in files(root, CODE_SUFFIXES):
        if not folder_of(root, path):
            continue
        name = str(path.relative_to(root))
        text = INCLUDE.sub("", COMMENT.sub("", path.read_text()))
        for what, (pattern, allowed) in RULES.items():
            found = pattern.search(text)
            if found and name in allowed:
                seen.add((what, name))
            elif found:
                complaints.append(f"{name}: {found.group(0).strip()}: {what}. If it is safe, say why in safety_rules.py")
        for call in re.finditer(r"\bopen(at)?\s*\([^;]*O_CREAT[^;]*;", text):
            if not MUST_HAVE.search(call.group(0)):
                complaints.append(f"{name}: O_CREAT without O_EXCL or O_NOFOLLOW follows a link that somebody else put there")
    return complaints + [f"{name}: {what} is allowed here, but there is none: remove the reason in safety_rules.py"
                         for what, (_, allowed) in RULES.items() for name in allowed
                         if (what, name) not in seen and (root / name).exists()]


def main(root):
    complaints = check(root)
    print("\n".join(complaints) or "no shell, program or file in a place that nobody checked")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
