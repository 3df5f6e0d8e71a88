"""The two errors stay apart: a caller that catches one never hides the other."""

from skinny.model.errors import CheckError, InputError


def test_an_input_error_is_a_value_error_and_a_check_error_is_not():
    assert issubclass(InputError, ValueError)
    assert not issubclass(CheckError, ValueError)
    assert not issubclass(CheckError, InputError)
    assert not issubclass(InputError, CheckError)
