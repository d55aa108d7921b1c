# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""read_trace_with_h5py.py TRACE.h5: reads all columns as src/store/trace_format.h says, with h5py and nothing of ours."""
import sys

import h5py

f = h5py.File(sys.argv[1], "r")
attributes = f.attrs
print(attributes["schema"], list(attributes["schema_version"]), "trial", attributes["trial"], attributes["run_id"],
      attributes["level"], "complete", attributes["complete"])
blob, at = f["strings/blob"][:].tobytes(), f["strings/offset"][:]
lengths = at[1:] - at[:-1]
for name in (name for name in f if name.startswith("rank_")):
    rank = f[name]
    for table in rank.values():
        for column in table.values():
            assert column.attrs["about"] and len(column[:]) == table.attrs["n_valid"], column.name
            assert "labels" not in column.attrs or len(column.attrs["labels"]) > int(column[:].max()), column.name
            assert column.fletcher32 and column.compression == "gzip", column.name
    k = {column: rank["kernel"][column][:].astype("u8") for column in rank["kernel"]}
    total = int((k["start_ns"] % 1_000_003).sum()) + sum(
        int(k[column].sum()) for column in ("duration_ns", "correlation", "operation", "grid", "block", "shared_bytes",
                                       "stream", "flags"))
    assert (k["start_ns"][1:] >= k["start_ns"][:-1]).all()
    index = f["index"][name]["kernel"]
    assert list(index["begin_ns"][:]) == list(k["start_ns"][::65536])
    print(f"rank {rank.attrs['rank']}: {len(k['start_ns'])} kernels, sum {total}, names {lengths[k['name']].sum()}")
