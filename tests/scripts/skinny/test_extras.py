"""Without the extras, commands that need numpy and rich alone work, and all others name the extra they need."""

import subprocess
import sys

import pytest
from skinny.extras import EXTRAS, missing_extra

#: The command line in an interpreter in which the packages of some extras cannot be imported.
WITHOUT = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
from skinny.scripts.cli import main
sys.exit(main())
"""
CORE = ["p.skn", "--ring", "fixed:16.8"]
AB = ["--inputs", "a=1,b=2"]


def skinny_without(folder, extras, *words):
    """Exit code, stdout and stderr of a command when the packages of ``extras`` are not installed."""
    names = {package for extra in extras for package in EXTRAS[extra][0]}
    command = [sys.executable, "-c", WITHOUT.format(names=names), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    code, _, _ = skinny_without(folder, EXTRAS, "compile", "y = (a + 2*b)^3", "-o", "p.skn")
    assert code == 0
    return folder


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], "compile a formula"),
        (["run", "p.skn", "--ring", "exact", *AB], "125"),
        (["trace", *CORE, *AB], "125.0"),
        (["bound", *CORE, "--box", "-1:1"], "R0"),
        (["info", "p.skn"], "levels"),
        (["explain", "p.skn", "--a", "a=1,b=2", "--b", "a=0,b=2"], "61"),
        (["fpga", *CORE, "--device", "ecp5-25k", "--estimate"], "LUT4"),
        (["sim", "--help"], "--ring"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_numpy_and_rich_are_enough(folder, words, shown):
    code, out, err = skinny_without(folder, EXTRAS, *words)
    assert code == 0, err
    assert shown in out


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        (EXTRAS, ["sim", *CORE, "--random", "1"], "sim"),
        (EXTRAS, ["faults", *CORE, "--count", "1"], "sim"),
        (EXTRAS, ["verilog", *CORE, "-o", "v"], "sim"),
        (EXTRAS, ["fpga", *CORE, "--device", "up5k"], "fpga"),
        (EXTRAS, ["board", "icebreaker", *CORE, "-o", "b"], "board"),
        (["board"], ["board", "icebreaker", *CORE, "-o", "b"], "board"),
        (EXTRAS, ["host", "/dev/null", "run", "p.skn", *AB], "host"),
        (EXTRAS, ["picture", "trace", *CORE, *AB, "-o", "t.png"], "picture"),
        (EXTRAS, ["bench", "sim"], "sim"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_missing_extra_is_named(folder, missing, words, extra):
    before = sorted(folder.iterdir())
    code, out, err = skinny_without(folder, missing, *words)
    assert (code, out) == (2, "")
    assert err.startswith("skinny: error: the Python package ")
    how = f"in the repository, pip install '.[{extra}]'"
    assert err.endswith(f" is missing; it comes with the extra '{extra}' of skinny-inference ({how})\n")
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_other_modules_are_no_extras():
    """A module of our own that is missing is a bug, with its traceback."""
    assert missing_extra(ModuleNotFoundError("No module named 'skinny.nothing'", name="skinny.nothing")) is None
    assert missing_extra(ModuleNotFoundError("without a name")) is None


#: What a person types in Python, and how the answer begins.
IN_PYTHON = """
import skinny

program = skinny.load("p.skn")
try:
    {call}
except skinny.InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("program.simulate({'a': 1, 'b': 2}, ring='fixed:16.8')", "extra 'sim'"),
        ("program.verilog('out', ring='fixed:16.8')", "extra 'sim'"),
        ("program.fpga('ecp5-25k', ring='fixed:16.8')", "extra 'fpga'"),
        ("program.trace({'a': 1, 'b': 2}, ring='exact').picture('p.png')", "extra 'picture'"),
        ("print(program.trace({'a': 1, 'b': 2}, ring='exact')._repr_png_())", "None"),
    ],
)
def test_in_python_a_missing_extra_is_one_line_too(folder, call, shown):
    names = {package for packages, _ in EXTRAS.values() for package in packages}
    hidden = WITHOUT.format(names=names).partition("from skinny.scripts.cli")[0]
    command = [sys.executable, "-c", hidden + IN_PYTHON.format(call=call)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert len(done.stdout.splitlines()) == 1
