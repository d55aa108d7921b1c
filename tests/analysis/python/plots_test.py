# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Plots show the values of the frames, and say what is synthetic."""
import unittest
import warnings

from python_test_case import HAS_MATPLOTLIB, MISSING, REAL_LINKS, measured, on_cpu, scratch, sweep, SYNTHETIC, training
import python_test_case

if HAS_MATPLOTLIB and not MISSING:
    import matplotlib
    matplotlib.use("agg")
    import matplotlib.pyplot
    import numpy

    import ncclprobe
    import ncclprobe.plots as plots


def setUpModule():
    python_test_case.setUpModule()
    if not HAS_MATPLOTLIB:
        raise unittest.SkipTest("not installed: python3-matplotlib")


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}


class Plots(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("error")
        self.addCleanup(matplotlib.pyplot.close, "all")

    def drawn(self, ax):
        """The texts of a plot, which is drawn whole first."""
        ax.figure.savefig(scratch() / "plot.svg")
        matplotlib.pyplot.close(ax.figure)
        return " ".join([ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), *(label.get_text() for label in ax.get_xticklabels()),
                         *(label.get_text() for label in ax.get_yticklabels())])

    def test_busbw_shows_medians_intervals_and_processes(self):
        run = ncclprobe.load(sweep())
        ax = plots.busbw(run, workload="all_reduce")
        results = run.results[run.results["workload"] == "all_reduce"]
        for setting, of_it in results.groupby("setting"):
            x, y = lines(ax)[setting].get_data()
            numpy.testing.assert_array_equal(x, of_it["size_bytes"])
            numpy.testing.assert_array_equal(y, of_it["busbw_gb_per_s"])
        dots = [line for line in ax.get_lines() if line.get_marker() == "."]
        self.assertEqual(sum(len(line.get_xdata()) for line in dots), (run.processes["workload"] == "all_reduce").sum())
        # Only the default has six processes: an interval at each of its three sizes, around the median.
        bars = [bar for collection in ax.collections for bar in collection.get_segments()]
        default = results[results["is_default"]].sort_values("size_bytes")
        self.assertEqual(len(bars), 3)
        for bar, busbw in zip(bars, default["busbw_gb_per_s"]):
            self.assertLess(bar[:, 1].min(), busbw)
            self.assertGreater(bar[:, 1].max(), busbw)
        text = self.drawn(ax)
        for part in ("all_reduce", "95% interval", "SYNTHETIC", "64K", "busbw, GB/s"):
            self.assertIn(part, text)

    def test_cells_of_several_kinds_share_no_curve(self):
        run = ncclprobe.load(sweep())
        with self.assertRaisesRegex(ncclprobe.Error, "differ in workload.*all_gather, all_reduce"):
            plots.busbw(run)
        with self.assertRaisesRegex(ncclprobe.Error, "no bandwidths with workload 'broadcast'"):
            plots.busbw(run, workload="broadcast")

    def test_the_forest_has_each_comparison_with_its_interval_and_verdict(self):
        run = ncclprobe.load(measured("better", *SYNTHETIC, "--ranks", "8", "--collectives", "all_reduce", "--sizes", "64K,16M"))
        ax = plots.verdicts(run)
        ratios = {ratio for line in ax.get_lines() if line.get_marker() == "o" for ratio in line.get_xdata()}
        self.assertEqual(ratios, set(run.verdicts["speed_ratio"]))
        ends = {end for collection in ax.collections for bar in collection.get_segments() for end in bar[:, 0]}
        self.assertEqual(ends, {*run.verdicts["speed_ratio_low"], *run.verdicts["speed_ratio_high"]})
        self.assertEqual([text.get_text() for text in ax.get_legend().get_texts()], ["better"])
        text = self.drawn(ax)
        for part in ("SYNTHETIC", "A/A noise floor", "NCCLPROBE_SYNTHETIC_ALPHA_NS=2000, all_reduce, f32, 16M"):
            self.assertIn(part, text.replace("\n", " "))

    def test_measured_numbers_are_not_called_synthetic(self):
        self.assertNotIn("SYNTHETIC", self.drawn(plots.busbw(ncclprobe.load(on_cpu()))))
        self.assertNotIn("SYNTHETIC", self.drawn(plots.links(ncclprobe.load(REAL_LINKS))))

    def test_a_step_is_as_high_as_the_sum_of_its_parts(self):
        run = ncclprobe.load(training())
        ax = plots.steps(run)
        tops = {}
        for bar in ax.patches:
            middle = round(bar.get_x() + bar.get_width() / 2)
            tops[middle] = max(tops.get(middle, 0), bar.get_y() + bar.get_height())
        numpy.testing.assert_allclose(sorted(tops.values()), sorted(run.steps["step_ms"]), rtol=0.01)
        self.assertIn("SYNTHETIC", self.drawn(ax))

    def test_efficiency_and_losses_are_the_whole_step(self):
        run = ncclprobe.load(training())
        ax = plots.scaling(run)
        tops = [max(bar.get_y() + bar.get_height() for bar in ax.patches if round(bar.get_x() + bar.get_width() / 2) == at)
                for at in (0, 1)]
        numpy.testing.assert_allclose(tops, [100, 100], atol=0.5)
        self.assertIn("weak scaling", self.drawn(ax))

    def test_the_timeline_shows_the_events_of_the_wanted_steps(self):
        run = ncclprobe.load(training())
        events = run.events()
        cell = events["cell"].max()
        ax = plots.timeline(run.trace(), cell=cell, steps=(3, 3))
        steps = events[(events["cell"] == cell) & (events["batch"] >= 0) & ~events["helper"]]
        third = steps[steps.groupby(["batch", "iteration"]).ngroup() == 3]
        boxes = [path for collection in ax.collections for path in collection.get_paths()]
        self.assertEqual(len(boxes), len(third))
        widths = sorted(path.get_extents().width for path in boxes)
        numpy.testing.assert_allclose(widths, sorted(third["duration_ns"] / 1e6), atol=1e-9)
        self.assertIn("SYNTHETIC", self.drawn(ax))
        with self.assertRaisesRegex(ncclprobe.Error, "no events in steps 90000 to 90000.*has \\d+ steps"):
            plots.timeline(run.trace(), steps=(90000, 90000))

    def test_a_run_stands_for_its_first_traced_trial(self):
        run = ncclprobe.load(training())
        self.assertEqual(self.drawn(plots.timeline(run, steps=(1, 1))), self.drawn(plots.timeline(run.trace(), steps=(1, 1))))
        with self.assertRaisesRegex(ncclprobe.Error, "no traces beside it.*--trace kernels"):
            plots.timeline(ncclprobe.load(sweep()))

    def test_long_names_of_settings_are_whole(self):
        label = "NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_MIN_NCHANNELS=16 NCCL_MAX_NCHANNELS=32 NCCL_BUFFSIZE=8388608 NCCL_NTHREADS=512"
        run = ncclprobe.load(measured("long", *SYNTHETIC, "--ranks", "2", "--setting", label.replace(" ", ","), "--collectives",
                                      "all_reduce", "--sizes", "1K,64K", "--repeat", "5"))
        ax = plots.verdicts(run) # a warning that the layout was not applied is an error here
        self.assertIn(label, self.drawn(ax).replace("\n", " "))
        edge = ax.figure.get_window_extent()
        for text in ax.get_yticklabels():
            self.assertGreaterEqual(text.get_window_extent().x0, edge.x0)
        self.assertGreater(ax.get_window_extent().width, 200) # the plot itself

    def test_ranks_whose_clocks_differ_share_no_timeline(self):
        def move(file):
            file["rank_00001"].attrs["boot_id"] = "another host"
        trace = ncclprobe.load_trace(python_test_case.changed(ncclprobe.load(training()).trace().path, "two_hosts", move))
        with self.assertRaisesRegex(ncclprobe.Error, "several hosts.*ncclprobe export"):
            plots.timeline(trace)
        plots.timeline(trace, ranks=[1])

    def test_the_heat_map_shows_what_each_row_sends(self):
        run = ncclprobe.load(REAL_LINKS)
        ax = plots.links(run)
        [image] = ax.get_images()
        links = run.links[(run.links["method"] == "ce") & (run.links["direction"] == "uni")].set_index(["from", "to"])
        self.assertEqual(image.get_array()[0, 1], links["one_way_gb_per_s"]["0", "1"])
        self.assertTrue(image.get_array().mask[0, 0])
        with self.assertRaisesRegex(ncclprobe.Error, "no links with method 'x'.*ce, ce_read"):
            plots.links(run, method="x")

    def test_a_label_is_drawn_as_it_is_written(self):
        hostile = r"A=$\frac$ B=$x$" + "\x1b[31m"
        run = ncclprobe.load(measured("hostile", *SYNTHETIC, "--ranks", "2", "--setting", f"X={hostile}", "--collectives",
                                      "all_reduce", "--sizes", "1K", "--repeat", "5"))
        text = self.drawn(plots.verdicts(run))
        self.assertIn(r"\x1b", text)
        self.drawn(plots.busbw(run))
        svg = (scratch() / "plot.svg").read_text()
        self.assertNotIn("\x1b", svg)

    def test_it_draws_into_axes_of_the_caller(self):
        _, ax = matplotlib.pyplot.subplots()
        self.assertIs(plots.busbw(ncclprobe.load(on_cpu()), ax=ax), ax)


if __name__ == "__main__":
    unittest.main(verbosity=2)
