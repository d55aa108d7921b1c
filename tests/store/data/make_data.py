# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the HDF5 files beside it, which no ncclprobe of today can: run in this folder."""
import h5py

with h5py.File("foreign.h5", "w") as f:
    f["temperature_kelvin"] = [1.0, 2.0]
for name, version in (("older_schema.h5", [1, 5]), ("newer_schema.h5", [3, 0])):
    with h5py.File(name, "w") as f:
        f.attrs["schema"] = "ncclprobe.run"
        f.attrs["schema_version"] = version
        f.attrs["kind"] = "run"
