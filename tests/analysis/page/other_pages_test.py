# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of hosts, examinations, timelines, links, purchases and comparisons in a real browser. Skipped (77) without one."""

import pathlib
import tempfile
import unittest

from browser import Browser, By, DESKTOP, Keys, PHONE, ncclprobe

MACHINES = pathlib.Path(__file__).resolve().parents[2] / "machines"


class OtherPagesTest(unittest.TestCase):
    """Pages of a host, an examination and a comparison."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.files = pathlib.Path(cls.folder.name)
        cls.browser = Browser(cls.files)
        cls.addClassCleanup(cls.browser.driver.quit)

    def page_of(self, name: str, *words: str) -> pathlib.Path:
        page = self.files / name
        made = ncclprobe(*words, "-o", str(page))
        self.assertIn(made.returncode, (0, 8, 9), made.stderr)  # doctor may find something
        return page

    def test_a_host_is_drawn_with_its_gpus_and_nvlinks(self):
        page = self.page_of("host.html", "topo", "--from", str(MACHINES / "dgx1-v100.xml"))
        for size in (DESKTOP, PHONE):
            self.browser.open(page, size=size)

            self.assertEqual(self.browser.errors(), [])
            for kind, count in {"gpu": 8, "nic": 4, "pci_switch": 4, "numa": 2}.items():
                self.assertEqual(len(self.browser.all(f"figure.boxes .box.{kind}")), count, kind)
            self.assertEqual(len(self.browser.all("figure.boxes .nvlink")), 16)
            self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), size[0])
            # No line leaves the picture, and no GPU covers another.
            width = self.browser.run("return document.querySelector('figure.boxes svg').viewBox.baseVal.width")
            boxes = self.browser.run(
                "return [...document.querySelectorAll('figure.boxes .nvlink path, figure.boxes .gpu .front')]"
                ".map(one => one.getBBox()).map(box => [box.x, box.y, box.width, box.height])")
            for x, _, wide, _ in boxes:
                self.assertLessEqual(x + wide, width)
            gpus = self.browser.run(
                "return [...document.querySelectorAll('figure.boxes .gpu .front')].map(one => one.getBBox())"
                ".map(box => [box.y, box.y + box.height]).sort((a, b) => a[0] - b[0])")
            for (_, end), (begin, _) in zip(gpus, gpus[1:]):
                self.assertLess(end, begin)
        said = self.browser.all("figure.boxes svg[role=img]")[0].get_attribute("aria-label")
        self.assertIn("8 GPUs", said)
        self.assertIn("GPU0 to GPU1: 1 NVLink", said)

    def run_file(self, name: str, *words: str, **variables: str) -> str:
        run = str(self.files / name)
        made = ncclprobe("run", "-q", "--backend", "synthetic", "--ranks", "2", "--collectives", "all_reduce", "--sizes", "1M", *words,
                         "-o", run, **variables)
        self.assertTrue(pathlib.Path(run).exists(), made.stderr)
        return run

    def test_a_failed_trial_is_the_first_thing_on_its_page(self):
        run = self.run_file("hang.h5", "--set", "NCCLPROBE_SYNTHETIC_FAIL=hang", "--cell-timeout", "1s", "--repeat", "1")
        self.browser.open(self.page_of("hang.html", "report", run))

        first = self.browser.all("main section")[0]
        self.assertIn("did not succeed", first.text)
        self.assertIn("WHAT TO DO", first.text)  # as the style shows it
        self.assertEqual(len(first.find_elements(By.CSS_SELECTOR, "a[href='#problems']")), 1)
        self.assertEqual(len(self.browser.all("section#problems")), 1)
        self.assertEqual(self.browser.errors(), [])

    def test_a_comparison_ends_with_its_method_and_runs(self):
        runs = [self.run_file(f"{seed}.h5", "--no-sweep", "--repeat", "5", "--seed", str(seed)) for seed in (1, 2)]
        self.browser.open(self.page_of("two.html", "compare", *runs))

        method, runs_shown = self.browser.all("main section")[-2:]
        self.assertIn("Welch's t-test", method.text)
        for text in (*runs, "synthetic", "Compared by ncclprobe"):
            self.assertIn(text, runs_shown.text.replace("\n", ""))

    def test_a_page_of_a_thousand_trials_is_small(self):
        run = self.run_file("many.h5", "--no-sweep", "--repeat", "1000")
        page = self.page_of("many.html", "report", run)

        print(f"a page of 1,000 trials: {page.stat().st_size / 1e6:.2f} MB")
        self.assertLess(page.stat().st_size, 3e6)

    def test_lines_to_nvswitches_end_at_their_box(self):
        self.browser.open(self.page_of("switched.html", "topo", "--from", str(MACHINES / "dgx-a100.xml")))

        ends = self.browser.run("return [...document.querySelectorAll('figure.boxes .nvlink path')]"
                                ".map(one => one.getBBox()).map(box => box.x + box.width)")
        begin = self.browser.run("return document.querySelector('figure.boxes .nvswitch .front').getBBox().x")
        self.assertEqual(len(ends), 8)
        for end in ends:
            self.assertAlmostEqual(end, begin, 3)

    def test_an_examination_begins_with_the_conclusion(self):
        self.browser.open(self.page_of("doctor.html", "doctor", "--backend", "host", "--no-run"))

        self.assertEqual(self.browser.errors(), [])
        first = self.browser.all("main section")[0]
        self.assertEqual(first.get_attribute("id"), "answer")
        self.assertEqual(first.find_element(By.TAG_NAME, "dt").text, "Conclusion")
        self.assertTrue(self.browser.all("h1")[0].text.startswith("Examination of "))

    def test_steps_and_stragglers_are_drawn(self):
        run = str(self.files / "steps.h5")
        made = ncclprobe("run", "--backend", "synthetic", "--ranks", "2", "--seed", "1", "--workload", "ddp",
                         "--model", "linear:2048x4", "--set", "NCCL_ALGO=Ring", "--repeat", "5", "--trace", "kernels",
                         "-q", "-o", run)
        self.assertEqual(made.returncode, 0, made.stderr)

        self.browser.open(self.page_of("steps.html", "report", run))
        self.assertIn("2 ranks", self.browser.run(
            "return document.querySelector('#step_settings figure.forest svg[role=img]').textContent"))
        self.assertEqual(self.browser.errors(), [])

        self.browser.open(self.page_of("timeline.html", "report", run, "--timeline"))
        sections = [one.get_attribute("id") for one in self.browser.all("main section")]
        self.assertEqual(sections[:2], ["answer", "events"])
        self.assertEqual(sections[-2:], ["quality", "heading"])
        self.assertRegex(self.browser.all("#answer")[0].text, r"A step of cell \d .*takes .*% computing, .*% exposed communication")
        self.assertEqual(len(self.browser.all("[data-id=marks_agree]")), 1)
        self.assertIn("--trace kernels", self.browser.all("#heading")[0].text)  # the run's command
        self.assertEqual(self.clipped(), [])
        kinds = [one.get_attribute("class") for one in self.browser.all("#stragglers figure")]
        self.assertEqual(kinds, ["bars", "bars", "heat_map"])
        self.browser.run("arguments[0].focus()", self.browser.all("#stragglers figure.heat_map canvas")[0])
        self.browser.press(Keys.ARROW_RIGHT)
        self.assertRegex(self.browser.all("#stragglers figure.heat_map .tip")[0].text, r"^rank \d, step 0: [0-9.]+ us$")
        self.assertTrue(self.browser.driver.title.startswith("Timeline of trial "))
        self.assertEqual(self.browser.errors(), [])

    def clipped(self) -> list:
        """Texts of charts that leave their picture."""
        return self.browser.run(
            "return [...document.querySelectorAll('figure svg text')].filter(text => {"
            "  const all = text.ownerSVGElement.getBoundingClientRect(), own = text.getBoundingClientRect();"
            "  return own.width > 0 && (own.left < all.left - 1 || own.right > all.right + 1); }).map(text => text.textContent)")

    def test_links_are_judged_first(self):
        self.browser.open(self.page_of("judged.html", "report", str(MACHINES / "two-h200-vm-p2p.h5")))

        self.assertEqual(self.browser.all("main section")[0].get_attribute("id"), "answer")
        self.assertIn("The links are as fast as expected", self.browser.all("#answer")[0].text)

    def test_equal_links_look_equal(self):
        self.browser.open(self.page_of("links.html", "report", str(MACHINES / "two-h200-vm-p2p.h5")))

        # 395.5 and 395.7 GB/s: the cells right of and below the diagonal's first.
        colours = self.browser.run(
            "const canvas = [...document.querySelectorAll('figure.heat_map')]"
            ".find(one => one.parentElement.textContent.includes('copy engine of the source (ce), one way')).querySelector('canvas');"
            "const at = (x, y) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data.slice(0, 3)];"
            "return [at(64 + 72 + 6, 22 + 34 + 6), at(64 + 6, 22 + 2 * 34 + 6)]")
        for one, other in zip(*colours):
            self.assertLess(abs(one - other), 10, colours)

    def test_a_forest_plot_has_long_names_and_intervals_on_a_phone(self):
        run = str(self.files / "long.h5")
        label = "NCCLPROBE_SYNTHETIC_GB_PER_S=110 NCCLPROBE_SYNTHETIC_ALPHA_NS=4000"
        made = ncclprobe("run", "--backend", "synthetic", "--collectives", "all_reduce", "--sizes", "1K,16M", "--repeat", "6",
                         "--setting", label.replace(" ", ","), "-q", "-o", run)
        self.assertEqual(made.returncode, 0, made.stderr)
        page = self.page_of("long.html", "report", run)
        for size in (DESKTOP, PHONE):
            self.browser.open(page, size=size)

            self.assertEqual(self.clipped(), [])
            groups = [one.text for one in self.browser.all("figure.forest text.group")]
            self.assertEqual(" ".join(groups), label)
            numbers = [one.text for one in self.browser.all("figure.forest text.numbers")]
            self.assertEqual(len(numbers), 2)
            for one in numbers:
                self.assertRegex(one, r"^[0-9.]+x +[0-9.]+ to [0-9.]+$")
        # The name of a row stays in sight when its table is scrolled.
        table = self.browser.all("#answer .scroll")[0]
        self.browser.run("arguments[0].scrollLeft = 10000", table)
        name, last = (self.browser.run("return arguments[0].getBoundingClientRect().toJSON()", one)
                      for one in (table.find_element(By.CSS_SELECTOR, "tbody th"), table.find_elements(By.TAG_NAME, "td")[-1]))
        self.assertGreaterEqual(name["left"], 0)
        self.assertLessEqual(name["right"], last["left"])
        self.assertLessEqual(last["right"], PHONE[0])

    def test_a_purchase_begins_with_the_order_and_a_chart_of_costs(self):
        nodes = pathlib.Path(__file__).resolve().parents[3] / "examples/t4_against_a100.toml"
        self.browser.open(self.page_of("nodes.html", "compare", "--procure", str(nodes)))

        self.assertEqual([one.get_attribute("id") for one in self.browser.all("main section")][:2], ["order", "costs"])
        self.assertIn("8 x A100", self.browser.run("return document.querySelector('#costs figure.bars').textContent"))
        self.assertEqual(self.clipped(), [])
        self.assertEqual(self.browser.errors(), [])

    def test_a_regression_is_an_answer_and_no_error_of_the_program(self):
        runs = []
        for seed, gb_per_s in ((1, "100"), (2, "100"), (3, "100"), (4, "60")):
            runs.append(str(self.files / f"run-{seed}.h5"))
            made = ncclprobe("run", "--backend", "synthetic", "--seed", str(seed), "--collectives", "all_reduce", "--sizes", "1M,16M",
                             "--no-sweep", "--repeat", "6", "-q", "-o", runs[-1], NCCLPROBE_SYNTHETIC_GB_PER_S=gb_per_s)
            self.assertEqual(made.returncode, 0, made.stderr)
        folder = ("--folder", str(self.files / "baselines"))
        self.assertEqual(ncclprobe("baseline", "add", "good", *runs[:3], *folder).returncode, 0)
        self.browser.open(self.page_of("regression.html", "compare", runs[3], "--against", "good", *folder))

        found = [one.text for one in self.browser.all("#answer .finding.error")]
        self.assertTrue(found and found[0].startswith("Regression:"), found)

    def test_a_comparison_is_named_after_its_sides(self):
        run = str(self.files / "run.h5")
        made = ncclprobe("run", "--backend", "synthetic", "--sizes", "1M", "--collectives", "all_reduce",
                         "--repeat", "5", "-q", "-o", run)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.browser.open(self.page_of("compared.html", "compare", run, run))

        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.driver.title, f"{run} compared with {run}")


if __name__ == "__main__":
    unittest.main()
