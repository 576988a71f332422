#!/usr/bin/env python3
"""Takes charts out of an HTML report and makes them one picture that stands alone, light and dark.

Usage: docs/picture.py tenure-report/bench.html 'work, put: Time of one' docs/cells.svg
       docs/picture.py layout.html 'rtable, before' 'rtable, after' docs/layout.svg

All but the first and the last argument are parts of charts' titles. Each chart stands below its caption and its key.
"""

import re
import sys

report, *wanted, picture = sys.argv[1:]
if not wanted:
    sys.exit(__doc__)
html = open(report, encoding="utf-8").read()


def text_of(markup):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", markup)).strip()


def head(at, end):
    """What the page says around a chart: its caption, the smaller text beside it, and its key, if it has one."""
    caption = html.rfind("<figcaption", 0, at)
    caption = re.search(r">(.*?)(?:<small>(.*?)</small>.*)?</figcaption>", html[caption:at], re.S)
    keys = ""
    if html.rfind('data-chart="lines"', 0, at) > html.rfind("</figure>", 0, at):
        keys = html[html.rfind('<ul class="key"', 0, at) :]
    elif html.rfind('class="curves"', 0, at) > html.rfind("</figure>", 0, at):
        keys = html[html.find('<ul class="key"', end) :]
    keys = re.findall(r"<li>(<svg.*?</svg>)(.*?)</li>", keys.split("</ul>")[0], re.S)
    return text_of(caption[1]), text_of(caption[2] or ""), keys


titled = []
for found in re.finditer(r"<svg.*?</svg>", html, re.S):
    title = re.search(r"<title[^>]*>(.*?)</title>", found[0], re.S)
    if title:
        titled.append((title[1], found))


def chart(title):
    for name, found in titled:
        if title in name:
            return name, found
    sys.exit(f"no chart with '{title}' in its title; there are: " + "; ".join(name for name, _ in titled))


charts = [chart(title) for title in wanted]
variables = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", html.split("prefers-color-scheme: dark")[0]))
dark = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", html.split("prefers-color-scheme: dark")[1].split("}")[0]))

MARGIN = 12
body, top, width = "", MARGIN, 0
for name, found in charts:
    _, _, wide, high = (float(number) for number in re.search(r'viewBox="([^"]*)"', found[0])[1].split())
    # Charts are drawn at four times their size, maps of lines are not.
    scale = 4 if 'class="chart"' in found[0] else 1
    caption, aside, keys = head(found.start(), found.end())
    if scale == 1:
        caption, aside = name, ""
    # Letters of 13 pixels are at most 7 wide on average.
    fitting = int(wide / scale) // 7
    asides = re.sub(f"(.{{20,{fitting}}}); ", r"\1\n", aside).split("\n") if aside else []
    body += f'<text x="{MARGIN}" y="{top + 14}" font-size="15" font-weight="600" fill="var(--ink)">{caption}</text>'
    top += 22
    for line in asides:
        body += f'<text x="{MARGIN}" y="{top + 12}" font-size="13" fill="var(--muted)">{line}</text>'
        top += 19
    x = MARGIN
    for swatch, words in keys:
        words = text_of(words.replace("<small>", "(").replace("</small>", ")"))
        if x > MARGIN and x + 34 + 7 * len(words) > wide / scale:
            x, top = MARGIN, top + 20
        swatch = swatch.replace('class="swatch"', f'x="{x}" y="{top}" width="28" height="14"')
        body += f'{swatch}<text x="{x + 34}" y="{top + 12}" font-size="13" fill="var(--ink)">{words}</text>'
        x += 34 + 7 * len(words) + 14
    top += 24 if keys else 0
    inner = re.sub(r"^<svg[^>]*>", "", found[0])[: -len("</svg>")]
    inner = re.sub(r"<title id.*?</title>", "", inner, flags=re.S)
    described = re.search(r"<desc[^>]*>(.*?)</desc>", inner, re.S)
    inner = re.sub(r"<desc.*?</desc>", f"<desc>{described[1]}</desc>" if described else "", inner, flags=re.S)
    body += f'<g transform="translate({MARGIN} {top}) scale({1 / scale:g})">{inner}</g>'
    top += high / scale + MARGIN
    width = max(width, wide / scale)
label = "; ".join(name for name, _ in charts)
# A picture paints the page that it was made for, and so is legible on any other.
svg = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * MARGIN:g} {top:g}" role="img"><title>{label}</title>'
    f'<rect width="100%" height="100%" fill="var(--page)"/>{body}</svg>'
)
used = sorted(set(re.findall(r"var\((--[\w-]+)\)", svg)))


def block(values):
    return " ".join(f"{name}: {values.get(name, variables.get(name))};" for name in used)


style = (
    f"<style>svg {{ {block(variables)} font-family: system-ui, sans-serif; }}"
    " [font-family='sans-serif'] { font-family: inherit; }"
    f" @media (prefers-color-scheme: dark) {{ svg {{ {block(dark)} }} }}</style>"
)
svg = re.sub(r"(<svg[^>]*>)", lambda tag: tag.group(1) + style, svg, count=1)
open(picture, "w", encoding="utf-8").write(svg + "\n")
