"""The two errors stay apart: a caller that catches one never hides the other."""

from skinny.model.errors import CheckError, InputError


def test_messages_have_the_first_digits_of_long_numbers():
    assert str(InputError(f"{7 * 10**499} does not fit")) == "700000000000… (500 digits) does not fit"
    assert str(InputError(f"1.{'0' * 40}1 and {10**39} stay")) == f"1.000000000000… (41 digits) and {10**39} stay"


def test_an_input_error_is_a_value_error_and_a_check_error_is_not():
    assert issubclass(InputError, ValueError)
    assert not issubclass(CheckError, ValueError)
    assert not issubclass(CheckError, InputError)
    assert not issubclass(InputError, CheckError)
