"""The animation of the README: `make animation` records the story of the first minute.

The page is that of `bathysphere serve` without a model, as after an install: a scripted model
answers, and research works on the sample pages. Only the caption and the pointer are drawn here.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).parent))

from rigging import ROOT, WEB, process, tell

FILE = ROOT / "docs" / "assets" / "first-minute.webp"
BAR = 46
INK, PAPER, ACCENT = "#1c2424", "#ffffff", "#0e6672"


def record(folder: Path) -> list[dict[str, Any]]:
    """Tell the story on a server of its own; the frames that it took."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BATHYSPHERE_")}
    environment = {**kept, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    command = str(Path(sys.executable).with_name("bathysphere"))
    serve = [command, "serve", "--port", "0"]
    browse = ["node", str(WEB / "stories" / "browser.mjs")]
    os.environ["STORY_FRAMES"] = str(folder)
    with (
        process(["env", "-C", str(folder), *serve], environment, folder / "serve.log") as first,
        process(browse, dict(os.environ), folder / "browser.log") as endpoint,
    ):
        [url] = [word for word in first.split() if word.startswith("http")]
        stage = SimpleNamespace(url=url, browser=endpoint, told={})
        tell(stage, "first_minute", str(folder), seconds=300)
    return json.loads((folder / "frames.json").read_text())


def drawn(path: Path, caption: str, pointer: dict[str, float] | None) -> Image.Image:
    """A picture of the page with the caption below it, and the pointer where it was."""
    page = Image.open(path).convert("RGB")
    picture = Image.new("RGB", (page.width, page.height + BAR), ACCENT)
    picture.paste(page, (0, 0))
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=22)
    draw.text((24, page.height + BAR / 2), caption, fill=PAPER, font=font, anchor="lm")
    if pointer:
        x, y = pointer["x"], pointer["y"]
        arrow = [(0, 0), (0, 21), (5, 17), (9, 26), (13, 24), (9, 15), (16, 15)]
        draw.polygon([(x + dx, y + dy) for dx, dy in arrow], fill=INK, outline=PAPER, width=2)
    return picture


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frames = record(folder)
        pictures = [drawn(folder / f["file"], f["caption"], f["pointer"]) for f in frames]
    pictures[0].save(
        FILE,
        save_all=True,
        append_images=pictures[1:],
        duration=[frame["milliseconds"] for frame in frames],
        loop=0,
        lossless=True,
        method=6,
    )
    size = FILE.stat().st_size
    sys.stdout.write(f"{FILE.relative_to(ROOT)}: {len(frames)} frames, {size // 1000} kB\n")


if __name__ == "__main__":
    main()
