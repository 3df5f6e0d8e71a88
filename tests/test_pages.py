"""The README leads to every page and picture, and no page leads to a place that is not there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]


def places(page: Path) -> set[Path]:
    """The files that a page leads to."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return {(page.parent / place).resolve() for place in found if "://" not in place}


def test_every_place_is_there():
    assert [(page.name, place) for page in PAGES for place in places(page) if not place.exists()] == []


def test_the_readme_has_every_page_of_the_docs():
    pages = {page.resolve() for page in (ROOT / "docs").glob("*.md")}
    assert pages - places(ROOT / "README.md") == set()


def test_every_picture_is_on_a_page():
    pictures = {path.resolve() for folder in ("docs", "examples") for path in (ROOT / folder).rglob("*.png")}
    assert pictures - set().union(*map(places, PAGES)) == set()
