"""The command line is read as a person means it."""

import pytest
from skinny.model.errors import InputError
from skinny.scripts.commands import parsed


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["bound", "p.skn", "--box", "-1:1"], "box", ["-1:1"]),
        (["compile", "-x*y"], "formula", " -x*y"),
        (["run", "p.skn", "--start", "-1,0,1"], "start", "-1,0,1"),
        (["compile", "--", "-o"], "formula", "-o"),
    ],
)
def test_a_minus_sign_is_no_option(words, name, value):
    assert getattr(parsed(words), name) == value


def test_every_command_has_what_it_executes():
    assert callable(parsed(["info", "p.skn"]).execute)
    with pytest.raises(InputError, match="invalid choice: 'informations'"):
        parsed(["informations", "p.skn"])
