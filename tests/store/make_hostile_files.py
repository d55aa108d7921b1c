# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""make_hostile_files.py RUN.h5: makes run files of it that want HDF5 to load a library or to open other files, in the
same folder. Exits with 77 where there is no h5py."""
import pathlib
import shutil
import sys

try:
    import h5py
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

good = pathlib.Path(sys.argv[1])
COLUMN = "samples/elapsed_ns"
UNKNOWN_FILTER = 32_015  # of Zstandard's plugin, which HDF5 would look for


def changed(name):
    path = good.with_name(name)
    shutil.copy(good, path)
    return h5py.File(path, "r+")


with h5py.File(good) as f:
    rows, kind = f[COLUMN].shape[0], f[COLUMN].dtype
(good.with_name("secret")).write_bytes(b"s" * rows * kind.itemsize)

with changed("raw.h5") as f:
    del f[COLUMN]
    f.create_dataset(COLUMN, (rows,), kind, external=[(str(good.with_name("secret")), 0, rows * kind.itemsize)])
with changed("virtual.h5") as f:
    del f[COLUMN]
    layout = h5py.VirtualLayout((rows,), kind)
    layout[:] = h5py.VirtualSource(str(good), COLUMN, (rows,), kind)
    f.create_virtual_dataset(COLUMN, layout)
with changed("link.h5") as f:
    del f["samples"]
    f["samples"] = h5py.ExternalLink(str(good), "/samples")
with changed("filter.h5") as f:
    del f[COLUMN]
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((rows,))
    plist.set_filter(UNKNOWN_FILTER, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple((rows,))
    made = h5py.h5d.create(f.id, COLUMN.encode(), h5py.h5t.py_create(kind), space, plist)
    made.write_direct_chunk((0,), b"x" * 16)
