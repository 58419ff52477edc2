#!/usr/bin/env python3
"""Reports in a real browser: their text is there, keys and filter work, nothing is written to its console.

    scripts/test_report.py [--isomer build/bin/isomer] [--chromium chromium] [--keep FOLDER] [--time 5s] [MODEL…]

MODEL is a name in models/ without its ending (resnet18, where none is given), or an ONNX file. FOLDER gets each page and
pictures of it, 1400 and 480 pixels wide, light and dark. Exit status 1 where something is missing.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What a user does, and what is seen of it then: as JSON in an element of its own.
USER = """
<script>
addEventListener('load', () => {
  const seen = {}, key = (k, on) => (on || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true}));
  const changes = [...document.querySelectorAll('.change')], filter = document.getElementById('filter');
  seen.changes = changes.length;
  seen.svgs = document.querySelectorAll('.change svg').length;
  seen.sections = [...document.querySelectorAll('main section')].map(s => s.id);
  const theme = document.documentElement;
  key('t'); seen.theme = theme.dataset.theme; key('t'); seen.other = theme.dataset.theme;
  if (changes.length) {
    key('j'); seen.first = document.activeElement === changes[0].querySelector('summary');
    if (changes.length > 1) { key('j'); seen.second = document.activeElement === changes[1].querySelector('summary'); key('k'); }
    seen.back = document.activeElement === changes[0].querySelector('summary');
    changes[0].open = true;
    const box = changes[0].querySelector('svg').getBoundingClientRect();
    seen.drawn = box.width > 20 && box.height > 20;
    filter.value = 'nothing is called so'; filter.oninput(); seen.hidden = changes.every(c => c.hidden);
    filter.value = ''; filter.oninput(); seen.shown = changes.every(c => !c.hidden);
  }
  seen.wide = document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  seen.model = JSON.parse(document.getElementById('report').textContent).nodes_before;
  const out = document.createElement('pre'); out.id = 'seen'; out.textContent = JSON.stringify(seen); document.body.append(out);
});
</script>
"""


def browser(options, page, *arguments, width=1400):
    """Standard output and what the page wrote to the console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([options.chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                               "--enable-logging=stderr", f"--user-data-dir={profile}", f"--window-size={width},1600", *arguments, page.as_uri()],
                              capture_output=True, text=True, timeout=180)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def problems_of(options, page, folder):
    """Sentences."""
    watched = folder / f"{page.stem}.watched.html"
    watched.write_text(page.read_text().replace("</body>", USER + "</body>"))
    dom, console = browser(options, watched, "--dump-dom", "--virtual-time-budget=2000")
    watched.unlink()
    problems = [f"the console says: {line}" for line in console]
    found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S)
    if not found:
        return [*problems, "the page's scripts did not run"]
    seen = json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    problems += [f"{name} expected to hold" for name in ("first", "second", "back", "drawn", "hidden", "shown", "wide") if seen.get(name) is False]
    if {seen["theme"], seen["other"]} != {"light", "dark"}:
        problems.append(f"both themes expected, {seen['theme']} and {seen['other']} found")
    if not seen["changes"] <= seen["svgs"] <= 2 * seen["changes"]:
        problems.append(f"one or two drawings of each change expected, {seen['svgs']} of {seen['changes']} found")
    shows_tasks = page.stem.endswith(("-bench", "-tune"))
    if not shows_tasks and seen["changes"] == 0:
        problems.append("changes expected, none found")
    for section in ("summary", "tasks" if shows_tasks else "changes"):
        if section not in seen["sections"]:
            problems.append(f"a section '{section}' expected, {seen['sections']} found")
    narrow, console = browser(options, page, "--dump-dom", width=480)
    if not narrow.startswith("<!DOCTYPE html>") or console:
        problems.append("the page expected on a small screen too")
    for width in (1400, 480):
        for scheme in ("light", "dark"):
            picture = folder / f"{page.stem}-{width}-{scheme}.png"
            browser(options, page, f"--screenshot={picture}", *(["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []), width=width)
            if not picture.exists() or picture.stat().st_size < 5000:
                problems.append(f"a picture of {width} pixels expected")
    print(f"{page.name}: {page.stat().st_size / 1e6:.2f} MB, {seen['changes']} ways in which places differ: {'; '.join(problems) or 'as it should be'}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["resnet18"])
    parser.add_argument("--isomer", type=pathlib.Path, default=ROOT / "build" / "bin" / "isomer")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--time", default="5s")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.models:
            model = pathlib.Path(name)
            if not model.exists():
                model = pathlib.Path(scratch) / f"{name}.onnx"
                shutil.copy(ROOT / "models" / f"{name}.onnx", model)
                subprocess.run([options.isomer.parent / "isomer-fill", model], check=True, stdout=subprocess.DEVNULL)
            page, after = folder / f"{model.stem}.html", pathlib.Path(scratch) / "after.onnx"
            subprocess.run([options.isomer, "optimize", model, "-o", after, "--report", page, "--for", "isomer", "--time", options.time, "-q"], check=True)
            differing = folder / f"{model.stem}-diff.html"
            differing.write_text(subprocess.run([options.isomer, "diff", model, after, "--html"], check=True, capture_output=True, text=True).stdout)
            measured, tuned = folder / f"{model.stem}-bench.html", folder / f"{model.stem}-tune.html"
            subprocess.run([options.isomer, "bench", model, "--duration", "1", "--report", measured, "-q"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([options.isomer, "tune", model, "--trials", "8", "--time", options.time, "--records", pathlib.Path(scratch) / "records", "--report", tuned, "-q"],
                           check=True, stdout=subprocess.DEVNULL)
            for each in (page, differing, measured, tuned):
                failed |= bool(problems_of(options, each.resolve(), folder.resolve()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
