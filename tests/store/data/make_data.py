# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the HDF5 files beside it, which no ncclprobe of today can: run in this folder."""
import h5py

with h5py.File("foreign.h5", "w") as f:
    f["temperature_kelvin"] = [1.0, 2.0]
with h5py.File("newer_schema.h5", "w") as f:
    f.attrs["schema"] = "ncclprobe.run"
    f.attrs["schema_version"] = [2, 0]
    f.attrs["kind"] = "run"
# schema_1_0.h5.gz: trials 1 and 2 of tests/support/example_run.cpp as it was before schema 1.1, written by the
# ncclprobe of then.
