# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests of HTML pages. Without one they are skipped (77)."""

import os
import pathlib
import subprocess
import sys
import time

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("SKIPPED: python3-selenium is not installed")
    sys.exit(77)

BIN = pathlib.Path(os.environ["NCCLPROBE_BIN"])
DESKTOP, PHONE = (1360, 900), (390, 844)


def program_at(*places: str) -> str:
    for place in places:
        if pathlib.Path(place).exists():
            return place
    print(f"SKIPPED: no {places[0]}; install chromium and chromium-driver")
    sys.exit(77)


CHROMIUM = program_at("/usr/bin/chromium", "/usr/bin/chromium-browser", "/snap/bin/chromium")
DRIVER = program_at("/usr/bin/chromedriver", "/snap/bin/chromium.chromedriver")


def ncclprobe(*words: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([BIN / "ncclprobe", *words], env={**os.environ, **variables}, capture_output=True, text=True, timeout=200)


class Browser:
    """Chromium, which never touches the network."""

    def __init__(self, downloads: pathlib.Path):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                         "--hide-scrollbars"):
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
