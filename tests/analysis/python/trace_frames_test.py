# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of traces."""
import unittest
import warnings

from python_test_case import MISSING, changed, setUpModule, sweep, training

if not MISSING:
    import h5py
    import numpy

    import ncclprobe


class TraceFrames(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")
        self.run = ncclprobe.load(training())
        self.path = self.run.trace().path

    def test_a_row_for_each_kernel_with_its_place_in_the_schedule(self):
        events = self.run.events()
        with h5py.File(self.path) as file:
            kernels = {name: file[name]["kernel"] for name in ("rank_00000", "rank_00001")}
            self.assertEqual(events.groupby("rank").size().tolist(), [len(one["start_ns"]) for one in kernels.values()])
            operations = file["rank_00001/operation"]
            places = {number: at for at, number in enumerate(operations["id"][:].tolist())}
            blob, at = file["strings/blob"][:].tobytes(), file["strings/offset"][:]
            of_rank = events[events["rank"] == 1].sort_values("start_ns", kind="stable")
            kernel = {name: kernels["rank_00001"][name][:] for name in ("name", "start_ns", "duration_ns", "operation", "flags")}
            columns = {name: operations[name][:] for name in ("cell", "batch", "iteration")}
        for row in list(range(0, len(of_rank), 97)): # one by one, as slow readers do
            event, operation = of_rank.iloc[row], kernel["operation"][row]
            name = blob[at[kernel["name"][row]]:at[kernel["name"][row] + 1]].decode()
            self.assertEqual((event["name"], event["start_ns"], event["duration_ns"], event["communication"]),
                             (name, kernel["start_ns"][row], kernel["duration_ns"][row], bool(kernel["flags"][row] & 1)))
            for column, values in columns.items():
                self.assertEqual(event[column], values[places[operation]] if operation else -1)
        self.assertEqual(set(events["trial"]), {self.run.trace().trial})

    def test_only_the_ranks_that_are_wanted(self):
        one = self.run.events(ranks=[1])
        self.assertEqual(set(one["rank"]), {1})
        both = self.run.events()
        self.assertEqual(len(one), (both["rank"] == 1).sum())
        with self.assertRaisesRegex(ncclprobe.Error, "no rank 7.*ranks: 0, 1"):
            self.run.events(ranks=[7])

    def test_synthetic_traces_are_marked(self):
        self.assertTrue(self.run.events()["synthetic"].all())
        self.assertIn("SYNTHETIC", repr(self.run.trace()))
        def measured(file):
            for rank in (name for name in file if name.startswith("rank_")):
                del file[rank]["provenance"]
        self.assertFalse(ncclprobe.load_trace(changed(self.path, "measured", measured)).events()["synthetic"].any())

    def test_durations_beyond_32_bits_are_whole(self):
        def lengthen(file):
            group = file["rank_00000"]
            group["kernel/duration_ns"][3] = 2**32 - 1
            start = group["kernel/start_ns"][3]
            long = group.create_group("long_duration")
            long.attrs["n_valid"] = 2
            table = long.create_dataset("table", data=numpy.array([3, 4], numpy.uint16))
            table.attrs["labels"] = ["strings", "span", "operation", "kernel", "copy"]
            long["start_ns"] = numpy.array([start, start], numpy.uint64)
            long["duration_ns"] = numpy.array([5_000_000_000, 6_000_000_000], numpy.uint64)
        events = ncclprobe.load_trace(changed(self.path, "long", lengthen)).events(ranks=[0])
        self.assertEqual(events["duration_ns"].max(), 5_000_000_000)
        self.assertEqual((events["duration_ns"] == 5_000_000_000).sum(), 1)
        self.assertTrue((events["end_ns"] - events["start_ns"] == events["duration_ns"]).all())

    def test_copies_are_events_too_and_kernels_without_times_are_not(self):
        def add(file):
            group = file["rank_00000"]
            kernels = len(group["kernel/start_ns"])
            group["kernel/flags"][0] = 4
            copy = group.create_group("copy")
            copy.attrs["n_valid"] = 1
            for name, value in (("start_ns", 10**18), ("duration_ns", 7), ("bytes", 4096), ("stream", 0), ("flags", 0),
                                ("operation", 0)):
                copy[name] = numpy.array([value], numpy.uint64)
            copy["kind"] = numpy.array([1], numpy.uint8)
            copy["kind"].attrs["labels"] = ["unknown", "host_to_device"]
            self.kernels = kernels
        events = ncclprobe.load_trace(changed(self.path, "copies", add)).events(ranks=[0])
        self.assertEqual(len(events), self.kernels - 1 + 1)
        copy = events.iloc[-1]
        self.assertEqual((copy["kind"], copy["name"], copy["bytes"], copy["duration_ns"], copy["cell"]),
                         ("copy", "host_to_device", 4096, 7, -1))

    def test_a_trace_without_kernels_has_the_same_columns(self):
        def remove(file):
            for rank in ("rank_00000", "rank_00001"):
                del file[rank]["kernel"]
        events = ncclprobe.load_trace(changed(self.path, "no_kernels", remove)).events()
        self.assertEqual((len(events), list(events.columns)), (0, list(self.run.events().columns)))

    def test_tables_and_clocks_of_all_ranks(self):
        trace = self.run.trace()
        self.assertEqual(set(trace.table("operation")["rank"]), {0, 1})
        self.assertIn("launches_seen", set(trace.table("loss")["kind"]))
        self.assertTrue(trace.table("nccl_step").empty)
        self.assertEqual(trace.clocks["boot_id"].nunique(), 1)

    def test_a_missing_trace_is_named(self):
        with self.assertRaisesRegex(ncclprobe.Error, "no traces beside it.*--trace kernels"):
            ncclprobe.load(sweep()).events()
        with self.assertRaisesRegex(ncclprobe.Error, "trial 999 was not traced.*traced: "):
            self.run.events(trial=999)


if __name__ == "__main__":
    unittest.main(verbosity=2)
