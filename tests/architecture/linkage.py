# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Fails if a program contains, or would load, a library that its link set forbids.

Looks at the shared libraries of the ELF file (NEEDED, and what they need in turn) and at its symbols,
because static libraries, such as Debian's Gloo and the CUDA runtime, leave no NEEDED entry.

Usage: linkage.py <folder of the programs>
"""
import pathlib
import re
import subprocess
import sys

# The name of each library as a shared object, and the pattern of its symbols.
LIBRARIES = {
    "mpi": (r"libmpi|libopen-rte|libopen-pal|libpmix", r"MPI_|PMPI_|ompi_"),
    "hdf5": (r"libhdf5", r"H5[A-Z]+\w*$"),
    "gloo": (r"libgloo", r"_ZN?K?4gloo"),
    "cuda": (r"libcuda|libnvidia", r"(__)?cuda[A-Z]|cu[A-Z][a-z]+"),
    # ncclProfiler_v4, ncclTunerPlugin_v4 and so on are what a plugin offers to NCCL, not what NCCL has.
    "nccl": (r"libnccl", r"p?nccl(?!(Profiler|TunerPlugin)_v\d+$)[A-Z]"),
    "cupti": (r"libcupti", r"cupti[A-Z]"),
    "cublas": (r"libcublas", r"cublas[A-Z]"),
}
# The design's link sets. NCCL, CUPTI, NVML and cuBLASLt are reached by dlopen, so not even the worker
# is linked with them.
FORBIDDEN = {
    "ncclprobe": ("cuda", "nccl", "cupti", "cublas", "gloo"),
    "ncclprobe-worker": ("mpi", "hdf5", "nccl", "cupti", "cublas"),
    "ncclprobe-report": ("mpi", "cuda", "nccl", "cupti", "cublas", "gloo"),
}
# Symbols that a program must have, so that this test cannot pass on the wrong file or by misreading
# the tools' output.
EXPECTED = {
    "ncclprobe": ("mpi", "hdf5"),
    "ncclprobe-worker": ("gloo",),
    "ncclprobe-report": ("hdf5",),
}
# Symbols that NCCL must find in a program by name.
EXPORTED = {
    "ncclprobe-worker": (*(f"ncclProfiler_v{version}" for version in (4, 5, 6, 7)),
                         *(f"ncclTunerPlugin_v{version}" for version in (3, 4, 5, 6))),
}


def output_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def named_objects(program):
    return set(re.findall(r"\(NEEDED\).*\[([^\]]+)\]", output_of("readelf", "-d", program)))


def loaded_objects(program):
    """Name -> path of what the loader would map."""
    lines = re.findall(r"^\s*(\S+)(?: => (\S+))?", output_of("ldd", program), re.MULTILINE)
    return {pathlib.PurePath(name).name: path for name, path in lines}


def shared_objects(program):
    """Names of the shared objects that the program names, and of those that these bring along.

    Left out is what a distribution's Gloo brings: Ubuntu 24.04 builds it with MPI, so that every program
    with Gloo maps libmpi there. Nothing of ours calls it, which named_objects() and symbols() show.
    """
    named, loaded = named_objects(program), loaded_objects(program)
    brought_by_gloo = set()
    for name in named:
        if re.match(LIBRARIES["gloo"][0], name) and loaded.get(name):
            brought_by_gloo |= loaded_objects(loaded[name]).keys()
    return named | (loaded.keys() - brought_by_gloo)


def symbols(program):
    """Symbols that the program defines or needs, dynamic ones included, without versions."""
    both = output_of("nm", program) + output_of("nm", "-D", program)
    return {line.split()[-1].split("@")[0] for line in both.splitlines() if line.strip()}


def traces(library, objects, names):
    """What shows that the library is linked: shared objects and symbols."""
    object_pattern, symbol_pattern = LIBRARIES[library]
    return sorted(name for name in objects if re.match(object_pattern, name)) + sorted(
        name for name in names if re.match(symbol_pattern, name))


def exported(program):
    """Symbols that dlsym() finds in the program."""
    return {line.split()[-1].split("@")[0]
            for line in output_of("nm", "-D", "--defined-only", program).splitlines() if line.strip()}


def check(program, forbidden, expected, to_export=()):
    objects, names = shared_objects(program), symbols(program)
    for library in forbidden:
        found = traces(library, objects, names)
        if found:
            yield f"contains {library}: {', '.join(found[:8])}"
    for library in expected:
        if not traces(library, objects, names):
            yield f"no trace of {library}, which it is built with"
    for name in sorted(set(to_export) - exported(program)):
        yield f"does not export {name}"


def main(folder):
    complaints = []
    for name, forbidden in FORBIDDEN.items():
        program = pathlib.Path(folder) / name
        if not program.exists():
            complaints.append(f"{program}: not built")
            continue
        complaints += [f"{name}: {reason}" for reason in check(program, forbidden, EXPECTED[name],
                                                               EXPORTED.get(name, ()))]
    print("\n".join(complaints) or "link sets are as designed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
