# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""HTML pages in a real browser: they render, sort, work by keyboard, on phones and on paper, in both
themes, and nothing in a report becomes markup or script. Skipped (77) without a browser."""

import base64
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("SKIPPED: python3-selenium is not installed")
    sys.exit(77)

BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
MACHINES = pathlib.Path(__file__).resolve().parents[2] / "machines"
EVENTS = pathlib.Path(os.environ["NCCLPROBE_EVENT_PAGES"])  # writes pages of many events
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
DESKTOP, PHONE = (1360, 900), (390, 844)


def program_at(*places: str) -> str:
    for place in places:
        if pathlib.Path(place).exists():
            return place
    print(f"SKIPPED: no {places[0]}; install chromium and chromium-driver")
    sys.exit(77)


CHROMIUM = program_at("/usr/bin/chromium", "/usr/bin/chromium-browser", "/snap/bin/chromium")
DRIVER = program_at("/usr/bin/chromedriver", "/snap/bin/chromium.chromedriver")


def ncclprobe(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([BIN / "ncclprobe", *words], capture_output=True, text=True, timeout=200)


class Browser:
    """Chromium, which never touches the network."""

    def __init__(self, downloads: pathlib.Path):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})

    def open(self, page: pathlib.Path, size=DESKTOP, theme="light", media="", place=""):
        width, height = size
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.driver.get("about:blank")
        self.driver.get(page.as_uri() + place)
        self.wait_for("return document.querySelectorAll('main section').length > 0 && "
                      "[...document.querySelectorAll('figure svg[role=img]')].every(one => one.childElementCount > 0)")

    def wait_for(self, script: str):
        end = time.monotonic() + 30
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.02)

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def press(self, *keys: str):
        self.driver.switch_to.active_element.send_keys(*keys)

    def errors(self) -> list:
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]


def contrast(one: str, other: str) -> float:
    """By WCAG 2.1, of "#rrggbb"."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.files = pathlib.Path(cls.folder.name)
        run = cls.files / "run.h5"
        made = ncclprobe("run", "--backend", "synthetic", "--collectives", "all_reduce,all_gather", "--sizes",
                         "1K:16M:x4", "--set", "NCCL_ALGO=Ring,Tree", "--set", f"LABEL={HOSTILE},plain",
                         "--repeat", "6", "--note", HOSTILE, "-o", str(run))
        assert made.returncode == 0, made.stderr
        cls.page = cls.files / "run.html"
        made = ncclprobe("report", str(run), "-o", str(cls.page))
        if "cannot write HTML pages" in made.stderr:
            print(f"SKIPPED: {made.stderr.strip()}")
            sys.exit(77)
        assert made.returncode == 0, made.stderr
        cls.browser = Browser(cls.files)
        cls.addClassCleanup(cls.browser.driver.quit)

    def saved(self, name: str) -> bytes:
        file = self.files / name
        end = time.monotonic() + 20
        while not file.exists() or file.stat().st_size == 0:
            self.assertLess(time.monotonic(), end, f"{name} was not saved")
            time.sleep(0.05)
        return file.read_bytes()

    def test_it_renders_without_an_error_and_without_network(self):
        self.browser.open(self.page)

        self.assertEqual(self.browser.errors(), [])
        ids = [one.get_attribute("id") for one in self.browser.all("main section")]
        self.assertEqual(ids[0], "answer")
        self.assertEqual(ids[-1], "run")
        self.assertIn("method", ids)
        kinds = {one.get_attribute("class") for one in self.browser.all("figure")}
        self.assertEqual(kinds, {"curve", "forest", "boxes"})
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').length"), 0)

    def test_a_hostile_text_is_shown_and_is_nothing_else(self):
        self.browser.open(self.page)

        self.assertNotEqual(self.browser.driver.title, "owned")
        self.assertEqual(self.browser.all("img"), [])
        self.assertEqual(len(self.browser.all("script")), 2)
        self.assertIn(HOSTILE, self.browser.run("return document.getElementById('run').textContent"))
        self.assertIn("LABEL=</script>", self.browser.run("return document.querySelector('figure.forest').textContent"))

    def test_a_script_that_is_not_its_own_does_not_run(self):
        self.browser.open(self.page)

        self.browser.run("const made = document.createElement('div');"
                         "made.innerHTML = '<button id=hostile onclick=\"document.title=1\">x</button>';"
                         "document.body.append(made); made.firstChild.click()")

        self.assertNotEqual(self.browser.driver.title, "1")
        self.assertTrue(any("Content Security Policy" in one for one in self.browser.errors()))

    def test_tables_sort_by_keyboard(self):
        self.browser.open(self.page)
        table = "#results table"
        size = self.browser.all(f"{table} button.sort")[0]
        self.assertEqual(size.text, "size")
        self.browser.run("arguments[0].focus()", size)

        def sizes() -> list:
            return [one.text for one in self.browser.all(f"{table} tbody th")]

        self.browser.press(Keys.ENTER)
        rising = sizes()
        self.browser.press(Keys.ENTER)

        self.assertEqual(rising, ["1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M"])
        self.assertEqual(sizes(), rising[::-1])
        self.assertEqual([one.get_attribute("aria-sort") for one in self.browser.all(f"{table} thead th")][0],
                         "descending")

    def test_the_focus_is_visible_and_begins_at_the_report(self):
        self.browser.open(self.page)

        self.browser.press(Keys.TAB)

        focus = self.browser.driver.switch_to.active_element
        self.assertEqual(focus.get_attribute("class"), "skip")
        self.assertNotEqual(self.browser.run("return getComputedStyle(document.activeElement).outlineStyle"), "none")
        focus.send_keys(Keys.ENTER)
        self.assertEqual(self.browser.run("return document.activeElement.id"), "main")

    def test_a_curve_says_its_values_to_the_keyboard(self):
        self.browser.open(self.page)
        curve = self.browser.all("figure.curve svg[role=img]")[0]
        self.browser.run("arguments[0].focus()", curve)

        self.browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)

        said = self.browser.all("figure.curve .tip")[0].text
        self.assertTrue(said.startswith("4K: default "), said)

    def test_semantics_of_charts_and_tables(self):
        self.browser.open(self.page)

        for picture in self.browser.all("figure [role=img]"):
            self.assertGreater(len(picture.get_attribute("aria-label")), 40)
        for table in self.browser.all("table"):
            self.assertTrue(table.find_element(By.TAG_NAME, "caption").get_attribute("textContent"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('thead th:not([scope=col])').length"), 0)
        self.assertEqual(self.browser.run("return document.querySelectorAll('button:not([type=button])').length"), 0)

    def test_both_themes_are_readable(self):
        names = ["ink", "quiet", "link", "better", "worse", "warning", "card", "page"]
        backs = []
        for theme in ("light", "dark"):
            self.browser.open(self.page, theme=theme)
            colours = dict(zip(names, self.browser.run(
                "const style = getComputedStyle(document.documentElement);"
                "return arguments[0].map(name => style.getPropertyValue('--' + name).trim())", names)))
            backs.append(colours["card"])
            for name in ("ink", "quiet", "link", "better", "worse", "warning"):
                self.assertGreaterEqual(contrast(colours[name], colours["card"]), 4.5, f"{theme} {name}")
            self.assertGreaterEqual(contrast(colours["quiet"], colours["page"]), 4.5, theme)
        self.assertNotEqual(*backs)

    def test_the_theme_can_be_chosen(self):
        self.browser.open(self.page, theme="light")

        self.browser.all("#theme")[0].click()

        self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.browser.all("#theme")[0].text, "Light theme")
        self.assertEqual(self.browser.errors(), [])

    def test_a_phone_never_scrolls_sideways(self):
        self.browser.open(self.page, size=PHONE)

        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), PHONE[0])

    def test_paper_is_light_and_has_all_rows(self):
        self.browser.open(self.page, theme="dark", media="print")

        self.assertEqual(self.browser.run("return getComputedStyle(document.documentElement)"
                                          ".getPropertyValue('--ink').trim()"), "#17202b")
        self.assertFalse(self.browser.all("nav")[0].is_displayed())
        pdf = base64.b64decode(self.browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
        self.assertEqual(pdf[:5], b"%PDF-")
        drawn = self.browser.run("return document.querySelectorAll('figure.forest')[0].querySelectorAll('g.state').length")
        self.assertEqual(drawn, 8 * 4)

    def test_links_name_places(self):
        self.browser.open(self.page)
        places = [one.get_attribute("href").split("#")[1] for one in self.browser.all("a[href*='#']")]

        self.assertGreater(len(places), 10)
        for place in places:
            self.assertTrue(self.browser.run("return document.getElementById(arguments[0]) !== null", place), place)
        self.browser.open(self.page, place="#method")
        self.browser.wait_for("return Math.abs(document.getElementById('method').getBoundingClientRect().top) < innerHeight")

    def test_a_chart_gives_its_data_and_its_picture(self):
        self.browser.open(self.page)
        csv_button, svg_button, png_button = self.browser.all("#results-chart-1 .tools button")
        for one in (csv_button, svg_button, png_button):
            self.browser.run("arguments[0].click()", one)

        rows = list(csv.DictReader(io.StringIO(self.saved("results-chart-1.csv").decode())))
        self.assertEqual({one["setting"] for one in rows} & {"default"}, {"default"})
        self.assertEqual(rows[0]["size_bytes"], "1024")
        self.assertEqual(len(rows[0]["processes"].split()), 12)
        picture = xml.etree.ElementTree.fromstring(self.saved("results-chart-1.svg"))
        self.assertEqual(picture.tag, "{http://www.w3.org/2000/svg}svg")
        colours = {one.get("stroke") for one in picture.iter("{http://www.w3.org/2000/svg}path")}
        self.assertIn("rgb(22, 104, 179)", colours)
        self.assertEqual(self.saved("results-chart-1.png")[:4], b"\x89PNG")
        self.assertEqual(self.browser.errors(), [])

    def test_the_page_loads_nothing(self):
        text = self.page.read_text()
        head = text[:text.index("<style>")]

        self.assertIn("default-src 'none'", head)
        self.assertIsNone(re.search(r"<(link|iframe|object|base)\b", text[:text.index('id="data"')]))


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
        kinds = [one.get_attribute("class") for one in self.browser.all("#stragglers figure")]
        self.assertEqual(kinds, ["bars", "bars", "heat_map"])
        self.browser.run("arguments[0].focus()", self.browser.all("#stragglers figure.heat_map canvas")[0])
        self.browser.press(Keys.ARROW_RIGHT)
        self.assertRegex(self.browser.all("#stragglers figure.heat_map .tip")[0].text, r"^rank \d, step 0: [0-9.]+ us$")
        self.assertTrue(self.browser.driver.title.startswith("Timeline of trial "))
        self.assertEqual(self.browser.errors(), [])

    def test_a_comparison_is_named_after_its_sides(self):
        run = str(self.files / "run.h5")
        made = ncclprobe("run", "--backend", "synthetic", "--sizes", "1M", "--collectives", "all_reduce",
                         "--repeat", "5", "-q", "-o", run)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.browser.open(self.page_of("compared.html", "compare", run, run))

        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.driver.title, f"{run} compared with {run}")


class TimelineTest(unittest.TestCase):
    """Pages of 8 ranks, with all of 2 million events and with the sums of 8 million."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.files = pathlib.Path(cls.folder.name)
        subprocess.run([EVENTS, "[.page]"], cwd=cls.files, check=True, capture_output=True, timeout=200)
        cls.browser = Browser(cls.files)
        cls.addClassCleanup(cls.browser.driver.quit)

    def open(self, name: str):
        self.browser.driver.get("about:blank")
        began = time.monotonic()
        self.browser.driver.get((self.files / name).as_uri())
        self.browser.wait_for("return document.querySelector('canvas')?.dataset.ready === 'yes' && "
                              "document.querySelector('canvas').dataset.frames !== undefined")
        return time.monotonic() - began

    def view(self) -> tuple:
        data = self.browser.run("return {...document.querySelector('canvas').dataset}")
        return int(data["from"]), int(data["until"])

    def press_and_draw(self, *keys: str):
        for key in keys:
            self.browser.driver.execute_async_script(
                "const done = arguments[1];"
                "document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}));"
                "requestAnimationFrame(() => requestAnimationFrame(done))", key)

    def test_pages_are_small_and_quick(self):
        for name in ("events-whole.html", "events-reduced.html"):
            size = (self.files / name).stat().st_size
            ready = self.open(name)
            paint = self.browser.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            self.press_and_draw(*(["+"] * 12), *(["ArrowRight"] * 6), *(["-"] * 12))
            frames = sorted(float(ms) for ms in self.browser.run(
                "return document.querySelector('canvas').dataset.frames").split())
            print(f"{name}: {size / 1e6:.2f} MB, first paint after {paint or 0:.0f} ms, all unpacked after "
                  f"{1000 * ready:.0f} ms; a frame takes {frames[len(frames) // 2]} ms, at most {frames[-1]} ms",
                  file=sys.stderr)
            self.assertLess(size, 12e6)
            self.assertLess(frames[len(frames) // 2], 50)
            self.assertEqual(self.browser.errors(), [])

    def test_the_keyboard_zooms_and_moves(self):
        self.open("events-whole.html")
        whole = self.view()

        self.press_and_draw("+")
        zoomed = self.view()
        self.press_and_draw("ArrowRight")
        moved = self.view()
        self.press_and_draw("0")

        self.assertAlmostEqual((zoomed[1] - zoomed[0]) / (whole[1] - whole[0]), 0.5, 3)
        self.assertEqual(moved[1] - moved[0], zoomed[1] - zoomed[0])
        self.assertGreater(moved[0], zoomed[0])
        self.assertEqual(self.view(), whole)

    def test_a_reduced_timeline_says_so_and_draws(self):
        self.open("events-reduced.html")

        self.assertIn("exact sums", self.browser.all("figure.timeline .quiet")[0].text)
        colours = self.browser.run(
            "const canvas = document.querySelector('canvas');"
            "const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
            "const seen = new Set();"
            "for (let i = 0; i < pixels.length; i += 4) seen.add(pixels.slice(i, i + 3).join());"
            "return [...seen]")
        self.assertIn("22,104,179", colours)  # computing
        self.assertIn("192,79,0", colours)  # communication


if __name__ == "__main__":
    unittest.main()
