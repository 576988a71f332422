#!/usr/bin/env python3
"""Takes a chart out of a report of `tenure bench` and makes it a picture that stands alone, light and dark.

Usage: docs/picture.py tenure-report/bench.html 'work, put: time of one' docs/cells.svg

The second argument is a part of the chart's title.
"""

import re
import sys

report, title, picture = sys.argv[1:]
html = open(report, encoding="utf-8").read()
charts = [svg for svg in re.findall(r"<svg.*?</svg>", html, re.S) if title in svg]
if not charts:
    titles = re.findall(r"<title[^>]*>(.*?)</title>", html, re.S)[1:]
    sys.exit(f"no chart with '{title}' in its title; there are: " + "; ".join(titles))

variables = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", html.split("prefers-color-scheme: dark")[0]))
dark = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", html.split("prefers-color-scheme: dark")[1].split("}")[0]))
used = sorted(set(re.findall(r"var\((--[\w-]+)\)", charts[0])))


def block(values):
    return " ".join(f"{name}: {values.get(name, variables.get(name))};" for name in used)


style = (
    f"<style>svg {{ {block(variables)} font-family: system-ui, sans-serif; }}"
    f" @media (prefers-color-scheme: dark) {{ svg {{ {block(dark)} }} }}</style>"
)
svg = re.sub(r"(<svg[^>]*>)", lambda tag: tag.group(1) + style, charts[0], count=1)
if "xmlns=" not in svg.split(">")[0]:
    svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
open(picture, "w", encoding="utf-8").write(svg + "\n")
