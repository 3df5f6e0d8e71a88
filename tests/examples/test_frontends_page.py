"""docs/frontends.md: its Python is run, and prints what stands behind each print; its files are compiled."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from .conftest import called, commands, pattern

PAGE = (Path(__file__).parents[2] / "docs/frontends.md").read_text(encoding="utf-8")
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"^## ", PAGE, flags=re.M)[1:]}


def blocks(text, language):
    return re.findall(rf"^```{language}(?: (\S+))?\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_does_what_it_says(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = SECTIONS[section]
    for name, content in [*blocks(text, "json"), *blocks(text, "blif")]:
        if name:
            Path(name).write_text(content, encoding="utf-8")
    names = {}
    for _, source in blocks(text, "python"):
        out = StringIO()
        with redirect_stdout(out):
            exec(compile(source, section, "exec"), names)
        wanted = re.findall(r"^ *print\(.*\)  # (.*)$", source, re.M)
        assert out.getvalue().splitlines() == wanted
    for line, shown in commands(text):
        code, seen = called(line)
        assert code == 0
        assert re.fullmatch(pattern(shown), "".join(f"{row}\n" for row in seen)), (line, seen)
