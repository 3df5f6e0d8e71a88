"""docs/language.md: its commands are run and print what stands below them, and no word of the language is left out."""

import re
from pathlib import Path

import pytest
from skinny.model.formula.expressions import KNOWN

from .conftest import called, commands, pattern

PAGE = (Path(__file__).parents[2] / "docs/language.md").read_text(encoding="utf-8")
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"^## ", PAGE, flags=re.M)[1:]}


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_does_what_it_says(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"^```csv (\S+)\n(.*?)^```$", PAGE, re.M | re.S):
        Path(name).write_text(content, encoding="utf-8")
    for line, shown in commands(SECTIONS[section]):
        code, seen = called(line)
        assert (code != 0) == any(text.startswith("skinny: error: ") for text in shown), line
        assert re.fullmatch(pattern(shown), "".join(f"{text}\n" for text in seen)), (line, seen)


#: Everything that has a meaning of its own in a formula, beside the functions.
WORDS = ("let", "weight", "state", "next", "def", "in", "^", "**", "[t-3]", "[t:t-16]", "@W.npy", "@W.csv", "#", ";")


@pytest.mark.parametrize("word", [*KNOWN, *WORDS])
def test_every_word_of_the_language_is_on_the_page(word):
    code = " ".join(re.findall("`([^`\n]+)`", PAGE))
    assert word in code if not word.isalpha() else re.search(rf"\b{word}\b", code)
