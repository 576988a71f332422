#!/usr/bin/env python3
"""Takes charts out of an HTML report and makes them one picture that stands alone, light and dark.

Usage: docs/picture.py tenure-report/bench.html 'work, put: time of one' docs/cells.svg
       docs/picture.py layout.html 'rtable, before' 'rtable, after' docs/layout.svg

All but the first and the last argument are parts of charts' titles. Several charts stand one under the
other, each below its title.
"""

import re
import sys

report, *wanted, picture = sys.argv[1:]
if not wanted:
    sys.exit(__doc__)
html = open(report, encoding="utf-8").read()
titled = [
    (re.search(r"<title[^>]*>(.*?)</title>", svg, re.S).group(1), svg)
    for svg in re.findall(r"<svg.*?</svg>", html, re.S)
    if "<title" in svg
]


def chart(title):
    for name, svg in titled:
        if title in name:
            return name, svg
    sys.exit(f"no chart with '{title}' in its title; there are: " + "; ".join(name for name, _ in titled))


charts = [chart(title) for title in wanted]
variables = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", html.split("prefers-color-scheme: dark")[0]))
dark = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", html.split("prefers-color-scheme: dark")[1].split("}")[0]))

if len(charts) == 1:
    svg = charts[0][1]
else:
    caption, gap = 26, 14
    body, top, width = "", 0, 0
    for name, part in charts:
        view = [float(number) for number in re.search(r'viewBox="([^"]*)"', part).group(1).split()]
        inner = re.sub(r"^<svg[^>]*>", "", part)[: -len("</svg>")]
        inner = re.sub(r"<title id.*?</title>|<desc.*?</desc>", "", inner, flags=re.S)
        body += f'<text x="0" y="{top + 16}" font-size="15" font-weight="600" fill="var(--ink)">{name}</text>'
        body += f'<g transform="translate(0 {top + caption})">{inner}</g>'
        top += caption + view[3] + gap
        width = max(width, view[2])
    label = "; ".join(name for name, _ in charts)
    svg = f'<svg viewBox="0 0 {width:g} {top - gap:g}" role="img"><title>{label}</title>{body}</svg>'

# A picture paints the page that it was made for, and so is legible on any other.
svg = re.sub(r"(<svg[^>]*>)", r'\1<rect width="100%" height="100%" fill="var(--page)"/>', svg, count=1)
used = sorted(set(re.findall(r"var\((--[\w-]+)\)", svg)))


def block(values):
    return " ".join(f"{name}: {values.get(name, variables.get(name))};" for name in used)


style = (
    f"<style>svg {{ {block(variables)} font-family: system-ui, sans-serif; }}"
    f" @media (prefers-color-scheme: dark) {{ svg {{ {block(dark)} }} }}</style>"
)
svg = re.sub(r"(<svg[^>]*>)", lambda tag: tag.group(1) + style, svg, count=1)
if "xmlns=" not in svg.split(">")[0]:
    svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
open(picture, "w", encoding="utf-8").write(svg + "\n")
