"""Files are complete or not there; a place that cannot be used is named in one line."""

import io
import os
import stat
import sys
import threading

import pytest
from skinny.model.errors import InputError
from skinny.model.files import is_stream, read_text, write_file, write_folder
from skinny.model.limits import Limits


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 125 + ".skn")
    write_file(path, lambda file: file.write(b"x"))
    assert os.listdir(tmp_path) == [path.name]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"a: cannot be written \(No space left on device\)$"):
        write_file(path, fail)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_is_replaced_keeps_its_permissions_and_its_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_file(link, lambda file: file.write(b"new"))
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_pipe_is_written_into_and_read_from(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert is_stream(path)
    assert not is_stream(tmp_path)
    assert not is_stream(tmp_path / "missing")
    writer = threading.Thread(target=write_file, args=(path, lambda file: file.write("ä".encode())))
    writer.start()
    assert read_text(path, 1) == "ä"
    writer.join()
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_folder_is_made_with_its_files(tmp_path):
    folder = tmp_path / "a" / "b"
    write_folder(folder, {"one": b"1", "two": b"2"})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"one": b"1", "two": b"2"}
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^.*/file/c: cannot be made \(Not a directory\)$"):
        write_folder(tmp_path / "file" / "c", {})


def test_text_is_read_up_to_the_limit(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfabc")
    with Limits(memory=60).applied():
        assert read_text(path, 10) == "abc"
        with pytest.raises(InputError, match=r"text: more than 5 bytes need more memory than 60: --limit memory=SIZE$"):
            read_text(path, 12)


def test_text_of_another_encoding_is_refused_with_its_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"abc\n\xff")
    with pytest.raises(InputError, match=r"text:2: not UTF-8 text$"):
        read_text(path, 1)


def test_a_dash_stands_for_the_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x = 1\n")))
    assert read_text("-", 1) == "x = 1\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    with pytest.raises(InputError, match=r"^<stdin>:1: not UTF-8 text$"):
        read_text("-", 1)
