"""The record of a sweep: what was finished is there once, whatever interrupts."""

import pytest
from skinny.model.errors import InputError
from skinny.record import Record


def test_what_is_added_is_there_afterwards(tmp_path):
    path = str(tmp_path / "r.jsonl")
    with Record(path) as record:
        record.add("k", "estimate", {"lut": 300})
        assert record["k"] == {"lut": 300}
    with Record(path) as record:
        assert "k" in record
        assert "l" not in record
        assert record["k"] == {"lut": 300}


def test_without_a_file_it_is_kept_in_memory():
    with Record(None) as record:
        record.add("k", "estimate", {})
        assert "k" in record


def test_half_a_line_is_taken_off_and_the_others_stay(tmp_path):
    path = tmp_path / "r.jsonl"
    with Record(str(path)) as record:
        record.add("k", "estimate", {"lut": 300})
        record.add("l", "estimate", {"lut": 301})
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(whole[:-5])
    with Record(str(path)) as record:
        assert "l" not in record
        record.add("l", "estimate", {"lut": 301})
    assert path.read_bytes().splitlines(keepends=True) == lines


def test_two_sweeps_do_not_share_a_record_at_the_same_time(tmp_path):
    path = str(tmp_path / "r.jsonl")
    with Record(path), pytest.raises(InputError, match=r"r\.jsonl: another sweep is adding to this record$"):
        Record(path)
    with Record(path):
        pass


@pytest.mark.parametrize("line", ["lut,cells", "[1]", '{"key": "k"}', '{"key": "k", "result": 3}'])
def test_another_file_is_left_alone(tmp_path, line):
    path = tmp_path / "r.jsonl"
    path.write_text(f"{line}\nrest")
    with pytest.raises(InputError, match=r"r\.jsonl:1: not a line of a sweep; give another folder$"):
        Record(str(path))
    assert path.read_text() == f"{line}\nrest"


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"^/proc/r\.jsonl: cannot be written"):
        Record("/proc/r.jsonl")
