"""Builds go where the user wants them, and a home that cannot be written stops nobody."""

import os

import pytest
from skinny.model.cache_folder import cache_folder, user_cache
from skinny.model.errors import InputError


def test_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("SKINNY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == (tmp_path / "xdg" / "skinny").resolve()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == (tmp_path / "home" / ".cache" / "skinny").resolve()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder().parent == tmp_path.resolve()
    assert cache_folder().stat().st_mode & 0o77 == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "file" / "x"))
    with pytest.raises(InputError, match=r"SKINNY_CACHE=.*Not a directory"):
        cache_folder()


@pytest.mark.parametrize("given", ["HOME", "XDG_CACHE_HOME"])
def test_a_cache_folder_for_others_is_one_that_can_be_written(tmp_path, monkeypatch, given):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "ours"))
    monkeypatch.setenv(given, str(tmp_path))
    before = dict(os.environ)
    with user_cache():
        assert dict(os.environ) == before
    (tmp_path / "file").touch()
    monkeypatch.setenv(given, str(tmp_path / "file"))
    before = dict(os.environ)
    with user_cache():
        assert os.environ["XDG_CACHE_HOME"] == str((tmp_path / "ours").resolve())
    assert dict(os.environ) == before
