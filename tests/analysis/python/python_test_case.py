# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that the tests of the Python package share. Each is made once in a process, by the real program."""
import functools
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "analysis/python"
BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
REAL_LINKS = ROOT / "tests/machines/two-h200-vm-p2p.h5" # measured on two H200
MISSING = [name for name in ("h5py", "pandas") if not importlib.util.find_spec(name)]
HAS_MATPLOTLIB = bool(importlib.util.find_spec("matplotlib"))

sys.dont_write_bytecode = True # the package lies in the source tree
sys.path.insert(0, str(PACKAGE))
os.environ["NCCLPROBE_REPORT"] = str(BIN / "ncclprobe-report")


def setUpModule():
    """For the modules that import it: skips them without the packages, with the reason."""
    if MISSING:
        raise unittest.SkipTest(f"not installed: {', '.join(f'python3-{name}' for name in MISSING)}")


@functools.cache
def scratch():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ncclprobe-python-test-"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    return folder


def environment():
    return {name: text for name, text in os.environ.items() if not name.startswith(("NCCL_", "OMPI_", "PMIX_"))}


@functools.cache
def measured(name, *arguments):
    """The run file of `ncclprobe <arguments>`."""
    path = scratch() / f"{name}.h5"
    done = subprocess.run([BIN / "ncclprobe", *arguments, "--quiet", "--output", path], env=environment(), cwd=scratch(),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return path


SYNTHETIC = ("--backend", "synthetic", "--seed", "1")


def sweep():
    """Two settings and the default, in two collectives of three sizes, on four synthetic ranks."""
    return measured("sweep", *SYNTHETIC, "--ranks", "4", "--set", "NCCL_ALGO=Ring,Tree", "--collectives", "all_reduce,all_gather",
                    "--sizes", "1K,64K,1M")


def training():
    """A training step on 1 and 2 synthetic ranks, with traced trials."""
    return measured("training", "run", *SYNTHETIC, "--workload", "ddp", "--model", "linear:2048x4", "--ranks", "1,2", "--no-sweep",
                    "--repeat", "3", "--trace", "kernels")


def on_cpu():
    """A real measurement, between two processes on the CPU."""
    return measured("on_cpu", "--backend", "host", "--ranks", "2", "--collectives", "all_reduce", "--sizes", "1K,64K", "--no-sweep",
                    "--repeat", "1", "--batches", "2", "--iterations", "3")


def changed(path, name, change):
    """A copy of an HDF5 file after `change(file)`."""
    import h5py
    copy = scratch() / f"{name}.h5"
    shutil.copyfile(path, copy)
    copy.chmod(0o600)
    with h5py.File(copy, "r+") as file:
        change(file)
    return copy


def report_csv(path):
    """The rows of `ncclprobe-report RUN.h5 --format csv` as a frame."""
    import io

    import pandas
    done = subprocess.run([BIN / "ncclprobe-report", path, "--format", "csv"], capture_output=True, text=True, check=True)
    return pandas.read_csv(io.StringIO(done.stdout))
