# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of run files: what the file holds, and what ncclprobe-report makes of it."""
import unittest
import warnings

from python_test_case import MISSING, REAL_LINKS, changed, measured, on_cpu, report_csv, scratch, setUpModule, sweep, SYNTHETIC, training

if not MISSING:
    import h5py
    import numpy
    import pandas

    import ncclprobe

CELL = ["workload", "size_bytes"]


class Frames(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error") # what a later pandas will do otherwise


class FromTheFile(Frames):
    def test_a_row_for_each_sample_with_its_cell_and_the_values_of_the_file(self):
        run = ncclprobe.load(sweep())
        with h5py.File(sweep()) as file:
            samples = {name: column[:] for name, column in file["samples"].items()}
            sizes, trials = file["cells/bytes"][:], file["cells/trial"][:]
        found = run.samples
        for name in ("cell", "rank", "batch", "iterations", "elapsed_ns", "launch_ns"):
            numpy.testing.assert_array_equal(found[name], samples[name])
        numpy.testing.assert_array_equal(found["size_bytes"], sizes[samples["cell"]])
        numpy.testing.assert_array_equal(found["trial"], trials[samples["cell"]]) # trials are stored in their order
        numpy.testing.assert_allclose(found["time_us"], samples["elapsed_ns"] / samples["iterations"] / 1000)
        self.assertEqual(set(found["workload"]), {"all_reduce", "all_gather"})

    def test_samples_give_the_times_that_the_report_computes(self):
        run = ncclprobe.load(sweep())
        of_batch = run.samples.groupby(["trial", *CELL, "batch"], observed=True)["time_us"].mean()
        mine = of_batch.groupby(level=["trial", *CELL], observed=True).median()
        theirs = run.processes.set_index(["trial", *CELL])["time_us"]
        self.assertEqual(len(mine), len(theirs))
        numpy.testing.assert_allclose(mine.to_numpy(), theirs.reindex(mine.index).to_numpy(), rtol=1e-9)

    def test_a_column_for_each_variable_in_every_frame_with_settings(self):
        run = ncclprobe.load(sweep())
        self.assertEqual(run.variables, ["NCCL_ALGO"])
        for name in ("samples", "cells", "trials", "results", "processes", "verdicts"):
            frame = getattr(run, name)
            for value, label in (("Ring", "NCCL_ALGO=Ring"), ("Tree", "NCCL_ALGO=Tree")):
                self.assertEqual(set(frame[frame["NCCL_ALGO"] == value]["setting"]), {label}, name)
            self.assertEqual(set(frame[frame["NCCL_ALGO"].isna()]["setting"]), set() if name == "verdicts" else {"default"}, name)

    def test_steps_and_their_scaling_have_the_variables_too(self):
        run = ncclprobe.load(measured("step_sweep", "run", *SYNTHETIC, "--workload", "ddp", "--model", "linear:64x2", "--ranks", "1,2",
                                      "--set", "NCCL_MAX_CTAS=4", "--repeat", "1"))
        for name in ("steps", "scaling", "losses"):
            frame = getattr(run, name)
            self.assertEqual({(label, value) for label, value in zip(frame["setting"], frame["NCCL_MAX_CTAS"].fillna("-"))},
                             {("default", "-"), ("NCCL_MAX_CTAS=4", "4")}, name)

    def test_compared_libraries_and_cpus_are_variables_too(self):
        run = ncclprobe.load(measured("cpus", "--backend", "host", "--ranks", "2", "--cpu-affinity", "none,launcher", "--collectives",
                                      "all_reduce", "--sizes", "1K", "--repeat", "1", "--batches", "1", "--iterations", "1"))
        self.assertEqual(run.variables, ["cpu_affinity"])
        for frame in (run.samples, run.results):
            pairs = {(label, value) for label, value in zip(frame["setting"], frame["cpu_affinity"]) if label != "default"}
            self.assertTrue(pairs)
            self.assertTrue(all(label.endswith(value) for label, value in pairs), pairs)

    def test_a_variable_that_is_called_like_a_column_replaces_none(self):
        run = ncclprobe.load(measured("names", *SYNTHETIC, "--ranks", "2", "--setting", "rank=$1$,setting=x", "--collectives",
                                      "all_reduce", "--sizes", "1K", "--repeat", "2"))
        self.assertEqual(run.variables, ["variable_rank", "variable_setting"])
        self.assertEqual(set(run.samples["rank"]), {0, 1})
        changed_setting = run.results[~run.results["is_default"]].iloc[0]
        self.assertEqual((changed_setting["variable_rank"], changed_setting["setting"]), ("$1$", "rank=$1$ setting=x"))

    def test_synthetic_numbers_are_marked_and_measured_ones_are_not(self):
        for path, synthetic in ((sweep(), True), (on_cpu(), False)):
            run = ncclprobe.load(path)
            self.assertEqual("SYNTHETIC" in repr(run), synthetic)
            for name in ("samples", "cells", "trials", "results", "processes"):
                self.assertEqual(set(getattr(run, name)["synthetic"]), {synthetic}, name)

    def test_kinds_of_cells_have_what_tells_them_apart(self):
        steps = ncclprobe.load(training()).cells
        self.assertEqual(set(steps["kind"]), {"step"})
        self.assertEqual(set(steps["workload"]), {"ddp_step"})
        self.assertEqual(set(steps["step_ranks"]), {"0", "0,1"})
        self.assertEqual(set(steps["step_parts"]), {"all", "compute", "communication"})
        links = ncclprobe.load(REAL_LINKS).cells
        self.assertIn("p2p_latency", set(links["workload"]))
        self.assertIn("host0>0 host1>1", set(links["p2p_transfers"]))

    def test_absent_values_are_missing_not_numbers(self):
        conditions = ncclprobe.load(REAL_LINKS).conditions
        self.assertTrue(conditions["memory_used_bytes"].isna().any())
        self.assertEqual(str(conditions["sm_clock_mhz"].dtype), "Int64")
        self.assertLess(conditions["sm_clock_mhz"].max(), 10_000)

    def test_any_table_is_read_decoded(self):
        run = ncclprobe.load(sweep())
        self.assertEqual(set(run.table("worker_memory")["what"]), {"before", "opened", "connected", "finished", "buffers"})
        self.assertEqual(run.table("ranks")["rank"].tolist(), [0, 1, 2, 3])
        self.assertTrue(run.table("no_such_table").empty)
        self.assertEqual(run.about["backend"], "synthetic")

    def test_what_a_later_minor_version_adds_is_no_obstacle(self):
        def later(file):
            labels = list(file["cells/op"].attrs["labels"])
            file["cells/op"].attrs["labels"] = labels[1:] # now "prod" is past the end
            file["cells/op"][0] = len(labels) - 1
            file["samples/new_figure"] = numpy.zeros(len(file["samples/rank"]))
            file.attrs["schema_version"] = [2, 7]
        run = ncclprobe.load(changed(sweep(), "later", later))
        self.assertEqual(run.cells["op"][0], "5")
        self.assertEqual(len(run.samples), len(ncclprobe.load(sweep()).samples))

    def test_bytes_that_are_no_text_do_not_stop_it(self):
        def damage(file):
            number = {file["strings/blob"][begin:end].tobytes(): number for number, (begin, end) in
                      enumerate(zip(file["strings/offset"][:-1], file["strings/offset"][1:]))}[b"NCCL_ALGO=Ring"]
            file["strings/blob"][file["strings/offset"][number]] = 0xFF
        run = ncclprobe.load(changed(sweep(), "no_text", damage))
        self.assertIn("\ufffdCCL_ALGO=Ring", set(run.samples["setting"]))

    def test_a_run_without_samples_has_empty_frames(self):
        def empty(file):
            for column in file["samples"]:
                about = dict(file["samples"][column].attrs)
                kind = file["samples"][column].dtype
                del file["samples"][column]
                file["samples"].create_dataset(column, shape=(0,), dtype=kind).attrs.update(about)
        run = ncclprobe.load(changed(sweep(), "empty", empty))
        self.assertEqual((len(run.samples), "time_us" in run.samples), (0, True))


class FromTheReport(Frames):
    def test_results_are_those_of_the_program(self):
        run = ncclprobe.load(sweep())
        self.assertEqual(len(run.results), len(run.report["results"]))
        for mine, theirs in zip(run.results.to_dict("records"), run.report["results"]):
            for name in ("setting", "workload", "size_bytes", "time_us", "busbw_gb_per_s", "data"):
                self.assertEqual(mine[name], theirs[name])
            interval = theirs["time_interval_us"] or [None, None]
            for name, end in (("time_low_us", 0), ("time_high_us", 1)):
                self.assertEqual(None if pandas.isna(mine[name]) else mine[name], interval[end])

    def test_verdicts_are_those_of_the_program(self):
        run = ncclprobe.load(measured("better", *SYNTHETIC, "--ranks", "8", "--collectives", "all_reduce", "--sizes", "64K,16M"))
        counted = run.verdicts.groupby(["setting", "verdict"]).size()
        for summary in run.report["verdicts"]["settings"]:
            for verdict in ("better", "worse", "no_difference", "not_decided"):
                self.assertEqual(counted.get((summary["setting"], verdict), 0), summary[verdict])
        self.assertEqual(counted.get(("NCCLPROBE_SYNTHETIC_ALPHA_NS=2000", "better")), 2)
        self.assertTrue((run.verdicts["speed_ratio_low"] < run.verdicts["speed_ratio"]).all())
        self.assertTrue((run.verdicts["speed_ratio"] < run.verdicts["speed_ratio_high"]).all())
        self.assertEqual(run.noise_floor["cells"].sum(), 2)

    def test_bandwidths_of_processes_are_those_of_the_csv(self):
        theirs = report_csv(sweep()).set_index(["trial", *CELL])["busbw_gb_per_s"]
        mine = ncclprobe.load(sweep()).processes.set_index(["trial", *CELL])["busbw_gb_per_s"]
        self.assertEqual(len(mine), len(theirs))
        numpy.testing.assert_allclose(mine.to_numpy(), theirs.reindex(mine.index).to_numpy(), rtol=1e-6)

    def test_steps_scaling_and_losses(self):
        run = ncclprobe.load(training())
        self.assertEqual(sorted(run.scaling["rank_count"]), [1, 2])
        two = run.scaling[run.scaling["rank_count"] == 2].iloc[0]
        point = run.report["scaling"][0]["points"][-1]
        self.assertEqual((two["efficiency"], two["efficiency_low"], two["efficiency_high"]),
                         (point["efficiency"]["value"], *point["efficiency"]["interval"]))
        lost = run.losses[run.losses["rank_count"] == 2]["share"].sum()
        self.assertAlmostEqual(lost, point["account_sum"])
        self.assertEqual(len(run.steps), len(run.report["steps"]))
        self.assertEqual(set(run.steps["parts"]), {"all", "compute", "communication"})

    def test_links_of_two_real_gpus(self):
        links = ncclprobe.load(REAL_LINKS).links
        self.assertFalse(links["synthetic"].any())
        nvlink = links[(links["method"] == "ce") & (links["direction"] == "uni")]
        self.assertEqual(list(zip(nvlink["from"], nvlink["to"])), [("0", "1"), ("1", "0")])
        self.assertTrue(nvlink["one_way_gb_per_s"].between(390, 400).all())
        self.assertEqual(set(nvlink["one_way_limit_gb_per_s"]), {450})

    def test_latency_has_its_percentiles(self):
        results = ncclprobe.load(measured("latency", *SYNTHETIC, "--ranks", "2", "--mode", "latency", "--collectives", "all_reduce",
                                          "--sizes", "1K", "--repeat", "1", "--no-sweep")).results
        self.assertTrue((results["latency_p50_us"] <= results["latency_p99_us"]).all())

    def test_the_report_is_of_the_run_that_was_opened(self):
        import shutil
        path = scratch() / "replaced.h5"
        shutil.copyfile(sweep(), path)
        run = ncclprobe.load(path)
        path.unlink()
        shutil.copyfile(on_cpu(), path)
        with self.assertRaisesRegex(ncclprobe.Error, "now holds another run"):
            run.results


if __name__ == "__main__":
    unittest.main(verbosity=2)
