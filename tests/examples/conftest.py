"""The pages of the examples: their commands, run as they are written, and what they print."""

import json
import re
import shlex
import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import islice
from pathlib import Path

import pytest
from skinny.scripts.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def called(line):
    """The exit code of a command, and its lines on stdout and stderr as a person sees them."""
    words = shlex.split(line)
    assert words[0] == "skinny"
    text = StringIO()
    with redirect_stdout(text), redirect_stderr(text):
        code = main(words[1:])
    return code, [line.rstrip() for line in text.getvalue().splitlines()]


def json_of(*words):
    """The JSON object that a command prints."""
    text = StringIO()
    with redirect_stdout(text), redirect_stderr(StringIO()):
        assert main([*words, "--json"]) == 0
    return json.loads(text.getvalue())


def commands(page):
    """The commands of a page, each with the lines that it shows below."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, *shown = part.splitlines()
            yield line, shown


def pattern(shown):
    """What the lines match: a line ``…`` stands for any lines, and times differ."""
    parts = [r"(?:.*\n)*" if line == "…" else re.escape(line) + r"\n" for line in shown]
    return re.sub(r"\d+\\\.\d\d\\ s\\n", r"\\d+\\.\\d\\d s\\n", "".join(parts))


def run_page(place, count=None):
    """Run the commands of the page, or the first ``count`` of them, and compare what they print."""
    for line, shown in islice(commands((place / "README.md").read_text(encoding="utf-8")), count):
        code, seen = called(line)
        assert (code != 0) == any(text.startswith("skinny: error: ") for text in shown), line
        assert re.fullmatch(pattern(shown), "".join(f"{text}\n" for text in seen)), (line, seen)


@pytest.fixture
def folder(request, tmp_path, monkeypatch):
    """A copy of the example, to work in."""
    place = tmp_path / "example"
    shutil.copytree(EXAMPLES / request.param, place)
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def answered():
    """What gives the JSON object that a command prints."""
    return json_of


@pytest.fixture
def check_page():
    """What runs the commands of a page and compares what they print."""
    return run_page
