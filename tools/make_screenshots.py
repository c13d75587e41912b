"""Takes the pictures of the page in docs/images/ again: the sample paper asked, in light, dark and on a narrow screen.

    python tools/make_screenshots.py

It needs requirements-dev.txt and the system's Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
QUESTION = "Why does keyword search receive a weight of 0.3?"
SHOTS = (("page-light", 1400, 860, "light"), ("page-dark", 1400, 860, "dark"), ("page-narrow", 360, 720, "light"))
"""Name, width, height and theme."""
COLOURS = 64
"""Of a picture: a quarter of the bytes, and nobody sees it."""


def main() -> None:
    """Serve the sample, and take all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed (apt-get install chromium).")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(ROOT / "papers" / "sample", home / "papers")
        subprocess.run([sys.executable, "ingest.py", "--home", str(home), "--offline"], cwd=ROOT, check=True)
        command = [sys.executable, "query.py", "serve", "--port", "0", "--home", str(home), "--offline"]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            try:
                address = next(line.split()[1] for line in server.stderr if line.startswith("Serving "))
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                    for name, width, height, theme in SHOTS:
                        take(browser, address, IMAGES / f"{name}.png", (width, height), theme)
                    browser.close()
            finally:
                server.terminate()


def take(browser: Browser, address: str, target: Path, size: tuple[int, int], theme: str) -> None:
    """Ask, open the page behind the first quote where there is room, and take the picture."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#papers li", state="attached")
    page.fill("#question", QUESTION)
    page.press("#question", "Enter")
    page.wait_for_selector(".answer button.cite")
    if width > 760:
        page.click(".answer button.cite >> nth=0")
        page.wait_for_selector(".pdf-mark-box")
        page.wait_for_selector(".textLayer span")
    page.evaluate("document.activeElement.blur(), document.fonts.ready")
    page.mouse.move(2, 2)
    page.wait_for_timeout(500)
    page.screenshot(path=target)
    context.close()
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(COLOURS).save(target, optimize=True)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
