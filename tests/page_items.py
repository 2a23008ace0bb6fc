# SPDX-License-Identifier: Apache-2.0
"""What the pictures of a page are made of (report/page.hpp)."""


def items_of(picture):
    """How many marks a picture is to have."""
    return {"timeline": lambda: len(picture["spans"]) + len(picture.get("gaps", [])),
            "areas": lambda: len(picture["kinds"]),
            "bars": lambda: len(picture["parts"]) * len(picture["rows"]),
            "scatter": lambda: len(picture["dots"]),
            "matrix": lambda: len(picture["rows"]) * len(picture["columns"])}[picture["kind"]]()
