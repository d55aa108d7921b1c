# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Fails on an #include that the table "Who may include whom" in ARCHITECTURE.md does not allow.

Usage: include_rules.py <root of the source tree>
"""
import pathlib
import re
import sys

from source_tree import CODE_SUFFIXES, files, folder_of, library_of

# The vendors of the table's third column, by what their headers are called.
VENDORS = {
    "mpi": r"mpi\.h$|mpi-ext\.h$|openmpi/",
    "hdf5": r"hdf5.*\.h$|H5\w*\.h$",
    "gloo": r"gloo/",
    "cuda": r"cuda\w*\.h(pp)?$|cuda/|cooperative_groups|driver_types\.h$|vector_types\.h$|crt/|cub/|thrust/",
    "nccl": r"nccl\w*\.h$|nccl/",
    "cupti": r"cupti\w*\.h$|generated_cuda|nvtx3/|nvToolsExt",
    "nvml": r"nvml\w*\.h$",
    "cublas": r"cublas\w*\.h$",
    "elfutils": r"elfutils/|libelf\.h$|gelf\.h$",
    "hwloc": r"hwloc\.h$|hwloc/",
    "boost": r"boost/",
    "eigen": r"Eigen/",
    "re2": r"re2/",
    "protozero": r"protozero/",
    "nettle": r"nettle/",
}
# Libraries that any folder may use; the build links them where they are needed.
GENERAL = r"(fmt|spdlog|tl|nlohmann|CLI|toml\+\+)/"
# Folders of system headers, as in <sys/wait.h>.
SYSTEM = r"(sys|linux|net|netinet|arpa|asm)/"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ROW = re.compile(r"^\|([^|]*)\|([^|]*)\|([^|]*)\|\s*$")
VENDOR_CELL = re.compile(r"(\w+)(?:\s*\(([^)]*)\))?")


class Rule:
    def __init__(self, folders, vendors):
        self.folders = folders  # set of names
        self.vendors = vendors  # name -> set of file names that alone may include it; empty: all may


def read_table(text):
    """folder -> Rule, from the text of ARCHITECTURE.md."""
    rules = {}
    inside = False
    for line in text.splitlines():
        row = ROW.match(line)
        if not row:
            inside = False
            continue
        cells = [cell.strip() for cell in row.groups()]
        if cells[0] == "folder":
            inside = True
            continue
        if not inside or set(cells[0]) <= set("-:"):
            continue
        vendors = {}
        for name, only in VENDOR_CELL.findall(cells[2]):
            if name not in VENDORS:
                raise ValueError(f"ARCHITECTURE.md: unknown vendor '{name}' for folder '{cells[0]}'")
            vendors[name] = set(only.replace(",", " ").split())
        rules[cells[0]] = Rule(set(cells[1].split()), vendors)
    if not rules:
        raise ValueError("ARCHITECTURE.md: no table '| folder | may include | vendor headers |'")
    return rules


def vendor_of(header):
    for vendor, pattern in VENDORS.items():
        if re.match(pattern, header):
            return vendor
    return None


def complaint(rules, root, path, quote, header):
    """Why this #include is not allowed, or None."""
    folder = folder_of(root, path)
    if ".." in pathlib.PurePosixPath(header).parts:
        return "paths begin at the root of the sources, without '..'"
    vendor = vendor_of(header)
    if vendor:
        if vendor not in rules[folder].vendors:
            homes = sorted(name for name, rule in rules.items() if vendor in rule.vendors)
            return f"{vendor} is at home in {' '.join(homes) or 'no folder'}, not in {folder}"
        only = rules[folder].vendors[vendor]
        if only and path.name not in only:
            return f"in {folder}, only {' '.join(sorted(only))} may include {vendor}"
        return None
    if quote == '"':
        target = library_of(pathlib.PurePosixPath(header).parts)
        if "/" not in header:
            return None if (path.parent / header).exists() else "no such file beside this one"
        if target == folder or target in rules[folder].folders:
            return None
        return f"{folder} may include {' '.join(sorted(rules[folder].folders)) or 'nothing of ours'}, not {target}"
    if "/" in header and not re.match(GENERAL, header) and not re.match(SYSTEM, header):
        return "unknown library: give it a home in ARCHITECTURE.md and in include_rules.py"
    return None


def check(root):
    root = pathlib.Path(root)
    rules = read_table((root / "ARCHITECTURE.md").read_text())
    complaints = []
    for path in files(root, CODE_SUFFIXES):
        folder = folder_of(root, path)
        if folder is None:
            continue
        where = path.relative_to(root)
        if folder not in rules:
            complaints.append(f"{where}: folder '{folder}' is not in the table of ARCHITECTURE.md")
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            include = INCLUDE.match(line)
            if include:
                reason = complaint(rules, root, path, *include.groups())
                if reason:
                    complaints.append(f"{where}:{number}: {line.strip()}: {reason}")
    return complaints


def main(root):
    complaints = check(root)
    print("\n".join(complaints) or "all includes are as ARCHITECTURE.md says")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
