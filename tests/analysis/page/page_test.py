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

from browser import Browser, By, DESKTOP, Keys, PHONE, ncclprobe

EVENTS = pathlib.Path(os.environ["NCCLPROBE_EVENT_PAGES"])  # writes pages of many events
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


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
        self.assertRegex(self.browser.all("#answer .finding")[0].text, r"\. \[SYNTHETIC\]$")
        self.assertEqual(self.browser.all("#answer .finding.warning"), [])
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
