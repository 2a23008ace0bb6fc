#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hp SUBCOMMAND --html FILE writes a page that shows what --json prints, without a browser.

    hp_page.py STATUS KIND,… -- PROGRAM ARGUMENT …

STATUS is the exit status, KIND … the kinds of its pictures in their order. The page is well formed, fetches nothing, has at
most 5 MB, and holds the document that --json prints with it; without --html that document is the same but for its pictures.
With --svg the same pictures are one drawing, well formed, with a mark for each item.
"""
import json
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from page_items import items_of

MOST_BYTES = 5_000_000
VOID = {"meta"}
FETCHING = {"src", "href", "data", "action", "poster", "srcset", "xlink:href"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.data, self.inside = [], "", False

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in FETCHING:
                sys.exit(f"<{tag} {name}=…> fetches {value}")
        if tag not in VOID:
            self.open.append(tag)
        self.inside = ("id", "data") in attributes and tag == "script"

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"</{tag}> ends nothing that is open")
        self.inside = False

    def handle_data(self, text):
        if self.inside:
            self.data += text


def run(status, command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"ended with {done.returncode}, not {status}\n{done.stderr}")
    return json.loads(done.stdout)


def check_drawing(text, pictures):
    if "script" in text or "href" in text:
        sys.exit("the drawing runs or fetches something")
    drawing = ElementTree.fromstring(text)
    marks = sum(element.get("class") == "mark" for element in drawing.iter())
    items = sum(map(items_of, pictures))
    if marks != items:
        sys.exit(f"the drawing has {marks} marks of {items} items")
    titles = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
    for picture in pictures:
        if picture["title"] not in titles:
            sys.exit(f"the drawing has no '{picture['title']}'")


def without(document, *names):
    """`document` without members that differ from run to run: how long a search took."""
    if isinstance(document, dict) and "search" in document:
        document = document | {"search": {k: v for k, v in document["search"].items() if k != "seconds"}}
    return {k: v for k, v in document.items() if k not in names}


def main():
    split = sys.argv.index("--")
    status, kinds, command = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[split + 1:]
    with tempfile.TemporaryDirectory() as folder:
        file, drawing = Path(folder) / "page.html", Path(folder) / "page.svg"
        printed = run(status, command + ["--json", "--html", str(file), "--svg", str(drawing)])
        text = file.read_text(encoding="utf-8")
        check_drawing(drawing.read_text(encoding="utf-8"), printed["pictures"])
    page = Page()
    page.feed(text)
    page.close()
    if page.open or not text.startswith("<!DOCTYPE html>"):
        sys.exit(f"still open at the end: {page.open}")
    if json.loads(page.data) != printed:
        sys.exit("the page holds another document than --json prints")
    if without(printed, "pictures") != without(run(status, command + ["--json"])):
        sys.exit("--json prints another document without --html")
    if "http:" in text or "https:" in text:
        sys.exit("the page names an address")
    if len(text.encode()) > MOST_BYTES:
        sys.exit(f"the page has {len(text.encode())} bytes")
    found = [picture["kind"] for picture in printed["pictures"]]
    if found != kinds:
        sys.exit(f"its pictures are {found}")
    for picture in printed["pictures"]:
        for name in ("spans", "points", "rows", "values", "dots"):
            if name in picture and not picture[name]:
                sys.exit(f"a picture of kind {picture['kind']} has no {name}")
        if picture["kind"] == "areas":
            most = max(sum(point[1:]) for point in picture["points"])
            peak, clock = printed["memory"]["peak_bytes"], printed.get("step", {}).get("clock", {})
            if clock.get("how") == "simulated as a plan":  # moves run ahead, within what addresses take
                if not 0.9 * peak <= most <= clock["address_bytes"]:
                    sys.exit(f"'{picture['title']}' has its peak at {most} bytes, addresses at {clock['address_bytes']}")
            elif picture["title"].startswith(("Memory of a device over", "Memory of a device of stage 1 ")) and most != peak:
                sys.exit(f"'{picture['title']}' has its peak at {most} bytes, the plan at {peak}")
            elif most > peak:
                sys.exit(f"'{picture['title']}' holds {most} bytes, the plan {peak}")
        if picture["title"] == "Who receives from whom":
            received = sum(sum(row) for row in picture["values"])
            if received != printed["certificate"]["received_by_all_bytes"]:
                sys.exit(f"the matrix shows {received} bytes, the certificate others")
        if picture["title"] == "Traffic on the mesh":
            busiest = sum(map(sum, picture["values"]))
        if picture["title"] == "Traffic between devices":
            values = picture["values"]
            if any(row[device] for device, row in enumerate(values)):
                sys.exit("a device receives from itself")
            if not 0 < max(map(sum, values)) <= busiest:
                sys.exit(f"a device receives {max(map(sum, values))} bytes, the busiest receivers {busiest}")


main()
