#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages that hp writes with --html, in a browser: the suite `pages` of scripts/test.

    pages.py HP [--screenshots FOLDER]

Every page is opened from its file, without a network. No error is on the console and nothing but the page is requested; each
picture has as many marks as its JSON has items; pointer, keys, zoom and search change the document as they should; what is
saved as SVG needs no style; light and dark differ; a page for 512 devices has at most 5 MB. With --screenshots the pictures of
the documentation are written anew. Needs chromium, chromium-driver and python3-selenium of Debian.
"""
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from page_items import items_of

CONFIGS = Path(__file__).resolve().parent / "configs"
MOST_BYTES = 5_000_000
# Name, exit status, arguments.
PAGES = [
    ("search", 0, ["plan", CONFIGS / "llama3_8b.json", "--devices", 64]),
    ("fixed", 0, ["plan", CONFIGS / "llama3_8b.json", "--devices", 16, "--fix", "tp=8,dp=2,zero=1,micro_batches=4"]),
    ("pipeline", 1, ["plan", CONFIGS / "deepseek_v3.json", "--devices", 512, "--fix",
                     "tp=8,pp=4,ep=8,zero=1,micro_batches=16"]),
    ("many_micro_batches", 0, ["plan", CONFIGS / "llama3_8b.json", "--devices", 16, "--batch", 512, "--fix",
                               "tp=8,pp=2,micro_batches=512"]),
    ("experts", 0, ["plan", CONFIGS / "qwen3_30b_a3b.json", "--devices", 512, "--fix", "tp=2,ep=8,zero=1", "--batch", 512]),
    ("cannot_be", 1, ["plan", CONFIGS / "llama3_8b.json", "--devices", 48, "--fix", "tp=3"]),
    ("sched", 0, ["sched", "draw", "DualPipeV", "--ranks", 8, "--micro-batches", 16]),
    ("explain", 0, ["explain", "--mesh", "x=4,y=4", "--from", "x,None", "--to", "None,(y,x)", "--shape", "64x64", "--dtype",
                    "f32"]),
    ("serve", 0, ["serve", CONFIGS / "llama3_8b.json", "--devices", 1, "--context", 131072, "--offload", 16]),
    ("trace", 0, ["trace", "run.json"]),
    ("truth", 0, ["truth", CONFIGS.parent / "vectors" / "truth_rows.jsonl", CONFIGS.parent / "vectors" / "truth_rl_rows.jsonl"]),
]
# The trace of the page "trace", written before.
TRACE = ["sched", "draw", "DualPipeV", "--ranks", 4, "--micro-batches", 8, "--trace"]
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def requested(driver):
    """What was requested since the last call, apart from other pages of the browser itself."""
    urls = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.append(message["params"]["request"]["url"])
    return urls


class Picture:
    def __init__(self, driver, frame, picture, where):
        self.driver, self.frame, self.json, self.where = driver, frame, picture, where
        self.drawn = frame.find_element(By.CSS_SELECTOR, "svg.picture")
        self.tip = driver.find_element(By.ID, "tip")

    def say(self, text):
        return f"{self.where}, {self.json['title']}: {text}"

    def point_at(self, element):
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver).move_to_element(element).perform()

    def marks(self):
        return self.driver.execute_script("return [...arguments[0].querySelectorAll('.mark')].length", self.drawn)

    def widest(self):
        return self.driver.execute_script(
            "return [...arguments[0].querySelectorAll('.mark')].filter(m => m.style.display !== 'none')"
            ".reduce((a, b) => a.getBoundingClientRect().width >= b.getBoundingClientRect().width ? a : b)", self.drawn)

    def places(self):
        return self.driver.execute_script(
            "return [...arguments[0].querySelectorAll('.mark')].map(m => m.style.display + m.getAttribute('x') + ' ' + "
            "m.getAttribute('width') + m.getAttribute('d')).join()", self.drawn)

    def check_marks(self):
        expect(self.marks() == items_of(self.json), self.say(f"{self.marks()} marks of {items_of(self.json)} items"))

    def check_scale(self):
        labels = [t.text for t in self.drawn.find_elements(By.CSS_SELECTOR, ".axis text")]
        expect(len(labels) > 1 and len(set(labels)) == len(labels), self.say(f"the scale says {labels}"))
        if self.json["kind"] == "timeline" and not self.json.get("unit"):
            steps = {round(float(b) - float(a), 9) for a, b in zip(labels, labels[1:])}
            expect(len(steps) == 1 and f"{steps.pop():e}"[0] in "125", self.say(f"no round steps: {labels}"))

    def check_hover(self):
        self.point_at(self.drawn if self.json["kind"] == "areas" else self.widest())
        expect(self.tip.is_displayed() and self.tip.text.strip() != "", self.say("no tip under the pointer"))
        if self.json["kind"] != "areas":
            now = self.driver.execute_script("return arguments[0].querySelectorAll('.mark.now').length", self.drawn)
            expect(now == 1, self.say(f"{now} marks are under the pointer"))
        ActionChains(self.driver).move_to_element(self.driver.find_element(By.TAG_NAME, "h1")).perform()
        expect(not self.tip.is_displayed(), self.say("the tip stays when the pointer leaves"))

    def check_keys(self):
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", self.drawn)
        ActionChains(self.driver).send_keys(Keys.ARROW_RIGHT).perform()
        first = self.tip.text
        expect(self.tip.is_displayed() and first, self.say("an arrow key shows no tip"))
        ActionChains(self.driver).send_keys(Keys.ARROW_RIGHT).perform()
        expect(items_of(self.json) < 2 or self.tip.text != first, self.say("the next mark has the same tip"))
        self.driver.execute_script("arguments[0].blur()", self.drawn)
        expect(not self.tip.is_displayed(), self.say("the tip stays without the focus"))

    def check_saved(self, folder):
        shown = self.driver.execute_script(
            "return [...arguments[0].querySelectorAll('*')].filter(e => getComputedStyle(e).display !== 'none').length", self.drawn)
        self.click("save as SVG")
        file = folder / (re.sub("[^A-Za-z0-9]+", "_", self.json["title"]) + ".svg")
        for _ in range(100):
            if file.exists() and file.stat().st_size > 0:
                break
            time.sleep(0.05)
        if not file.exists():
            return expect(False, self.say("no SVG is saved"))
        text = file.read_text(encoding="utf-8")
        drawing = ElementTree.fromstring(text)
        defs = len(list(drawing[0].iter()))
        expect(len(list(drawing.iter())) - 1 - defs == shown, self.say("the SVG has other elements than the picture"))
        expect("var(" not in text and "class=" not in text, self.say("the SVG needs the page's style"))
        file.unlink()

    def click(self, label):
        button = self.frame.find_element(By.CSS_SELECTOR, f"button[aria-label='{label}']")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def view(self):
        return [float(v) for v in self.drawn.get_attribute("data-view").split()]

    def check_zoom(self, partner):
        whole, places = self.view(), self.places()
        self.click("zoom in")
        zoomed = self.view()
        expect(abs((zoomed[1] - zoomed[0]) / (whole[1] - whole[0]) - 0.5) < 1e-6, self.say("a zoom does not halve the view"))
        expect(self.places() != places, self.say("a zoom moves no mark"))
        expect(partner is None or partner.view() == zoomed, self.say("the picture of the same axis does not follow"))
        self.click("later")
        expect(self.view()[0] > zoomed[0], self.say("the view does not go on"))
        self.click("the whole time")
        expect(self.view() == whole and self.places() == places, self.say("the whole time is not what it was"))
        box = self.drawn.size
        ActionChains(self.driver).move_to_element_with_offset(self.drawn, 0, 0).click_and_hold() \
            .move_by_offset(box["width"] // 4, 0).release().perform()
        dragged = self.view()
        expect(0 < (dragged[1] - dragged[0]) / (whole[1] - whole[0]) < 0.5, self.say(f"dragging chose {dragged} of {whole}"))
        self.click("the whole time")

    def check_search(self):
        names, groups = self.json["names"], self.json["groups"]
        text = names[self.json["spans"][-1][2]].lower()
        found = sum(text in (names[s[2]] + "\n" + groups[s[1]]).lower() for s in self.json["spans"])
        found += sum(text in g[3].lower() for g in self.json.get("gaps", []))
        field = self.frame.find_element(By.CSS_SELECTOR, "input[type=search]")
        field.send_keys(text)
        count = self.frame.find_element(By.CSS_SELECTOR, ".count").text
        expect(count.startswith(f"{found} of {items_of(self.json)}"), self.say(f"'{text}' finds {count}, not {found}"))
        marked = self.driver.execute_script("return arguments[0].querySelectorAll('.mark.found').length", self.drawn)
        expect(marked == found, self.say(f"{marked} marks are shown as found, not {found}"))
        whole = self.view()
        field.send_keys(Keys.ENTER)
        expect(self.view() != whole, self.say("Enter goes to no mark that is found"))
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        dim = self.driver.execute_script("return arguments[0].querySelectorAll('.mark.dim').length", self.drawn)
        expect(dim == 0, self.say("marks stay dim when the search is empty"))
        self.click("the whole time")


def colour_scheme(driver, name):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})


def check_page(driver, name, file):
    requested(driver)
    driver.get_log("browser")
    driver.get(file.as_uri())
    document = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
    frames = driver.find_elements(By.CSS_SELECTOR, "section[data-kind]")
    expect([f.get_attribute("data-kind") for f in frames] == [p["kind"] for p in document["pictures"]],
           f"{name}: the pictures are not those of the JSON")
    pictures = [Picture(driver, f, p, name) for f, p in zip(frames, document["pictures"])]
    for one in pictures:
        one.check_marks()
        one.check_hover()
        one.check_keys()
        one.check_saved(file.parent)
        if one.json["kind"] in ("timeline", "areas"):
            one.check_scale()
            partners = [p for p in pictures if p is not one and one.json.get("axis") and p.json.get("axis") == one.json["axis"]]
            one.check_zoom(partners[0] if partners else None)
        if one.json["kind"] == "timeline":
            one.check_search()
    expect(driver.find_elements(By.CSS_SELECTOR, "#figures table"), f"{name}: no figures")
    paper = []
    for scheme in ("light", "dark"):
        colour_scheme(driver, scheme)
        paper.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
    colour_scheme(driver, "light")
    expect(paper[0] != paper[1], f"{name}: light and dark are the same")
    wrong = [entry["message"] for entry in driver.get_log("browser")]
    expect(not wrong, f"{name}: on the console: {wrong}")
    # What a page saves has an address within it.
    others = [url for url in requested(driver) if url != file.as_uri() and not url.startswith("blob:")]
    expect(not others, f"{name}: requested {others}")
    expect(file.stat().st_size <= MOST_BYTES, f"{name}: {file.stat().st_size} bytes")
    print(f"{name}: {file.stat().st_size} bytes, {sum(items_of(p) for p in document['pictures'])} marks in "
          f"{len(pictures)} pictures")


def take_screenshots(driver, folder, target):
    # Name, page, colours, height, what is done before.
    from_memory = "document.querySelector('section[data-kind=areas]').scrollIntoView();"
    for picture, page, scheme, height, prepare in (
            ("plan", "search", "light", 612, ""),
            ("step", "search", "light", 630, from_memory + "set_view(views.step, 0.55, 0.85);"),
            ("sched", "sched", "dark", 800, ""),
            ("explain", "explain", "light", 1030, "")):
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": 1100, "height": height, "deviceScaleFactor": 1, "mobile": False})
        colour_scheme(driver, scheme)
        driver.get((folder / f"{page}.html").as_uri())
        driver.execute_script(prepare)
        driver.save_screenshot(str(target / f"{picture}.png"))


def main():
    hp = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([hp, *map(str, TRACE), str(folder / "run.json")], check=True)
        for page, status, arguments in PAGES:
            done = subprocess.run([hp, *map(str, arguments), "--html", str(folder / f"{page}.html")], cwd=folder,
                                  capture_output=True, text=True)
            if done.returncode != status:
                sys.exit(f"{page}: ended with {done.returncode}, not {status}\n{done.stderr}")
        driver = browser()
        try:
            if len(sys.argv) > 3 and sys.argv[2] == "--screenshots":
                take_screenshots(driver, folder, Path(sys.argv[3]))
                return
            driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": name})
            for page, _, _ in PAGES:
                check_page(driver, page, folder / f"{page}.html")
        finally:
            driver.quit()
    if failures:
        sys.exit("\n".join(failures))


main()
