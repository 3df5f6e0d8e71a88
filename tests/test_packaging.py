"""What is installed: packages, versions, extras, types."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from skinny.extras import DISTRIBUTION, EXTRAS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(TEXT)["project"]
SETUPTOOLS = tomllib.loads(TEXT)["tool"]["setuptools"]
FOLDERS = {ROOT / folder: name for name, folder in SETUPTOOLS["package-dir"].items()}
PINS = dict(
    re.fullmatch(r"([\w.-]+)==([\w.]+)", line).groups()
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
PINS = {canonicalize_name(name): version for name, version in PINS.items()}


def package_name(folder):
    """The name under which a folder is imported: that of the nearest folder above that has one, and the rest."""
    above = next(parent for parent in (folder, *folder.parents) if parent in FOLDERS)
    return ".".join([FOLDERS[above], *folder.relative_to(above).parts])


def requirements(extras):
    """Direct requirements of the distribution with ``extras``."""
    texts = [*PROJECT["dependencies"], *(text for name in extras for text in PROJECT["optional-dependencies"][name])]
    return [Requirement(text) for text in texts]


def closure(name, extras, seen):
    """Adds to ``seen`` all that is installed with the installed distribution ``name`` and its ``extras``."""
    for text in metadata.requires(name) or []:
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
            if key not in seen:
                seen.add(key)
                closure(wanted.name, wanted.extras, seen)


def test_every_package_folder_is_installed():
    layers = [ROOT / name for name in ("model", "hdl", "sim", "scripts")]
    folders = {path.parent for layer in layers for path in layer.rglob("*.py")}
    assert sorted(map(package_name, folders)) == sorted(SETUPTOOLS["packages"])
    assert all((folder / "__init__.py").is_file() for folder in folders)


def test_every_package_is_typed():
    assert [folder for folder in FOLDERS if not (folder / "py.typed").is_file()] == []
    assert "py.typed" in SETUPTOOLS["package-data"]["*"]


def test_the_type_checker_sees_what_is_installed():
    links = ROOT / ".typing"
    for folder, name in FOLDERS.items():
        place = links.joinpath(*name.split("."))
        if "." in name:
            assert place.resolve() == folder
        else:  # the top package has the layers beside its own modules
            assert [path.name for path in folder.glob("*.py") if (place / path.name).resolve() != path] == []


def test_every_requirement_has_its_reason_and_its_range():
    lines = re.findall(
        r'^    "(?!skinny)([a-z0-9-]+)(?:\[[a-z]+\])?([^"\[]*)",(.*)$', TEXT.partition("[project.scripts]")[0], re.M
    )
    assert {name for name, _, _ in lines} == {r.name for r in requirements(EXTRAS | {"dev": ()})} - {DISTRIBUTION}
    for name, versions, reason in lines:
        assert re.fullmatch(r">=[0-9.]+,<[0-9.]+", versions), name
        assert re.fullmatch(r"  # .{10,}", reason), name


def test_pins_are_complete_within_the_ranges_and_installed():
    extras = list(PROJECT["optional-dependencies"])
    for wanted in requirements(extras):
        if wanted.name != DISTRIBUTION:
            assert wanted.specifier.contains(PINS[canonicalize_name(wanted.name)]), wanted
    seen = set()
    closure(DISTRIBUTION, extras, seen)
    found = {name: metadata.version(name) for name, _ in seen if name != DISTRIBUTION}
    assert {name: version for name, version in found.items() if PINS.get(name) != version} == {}
    assert len(found) > 40


def test_setup_installs_every_extra_with_the_pins():
    text = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    assert "--constraint constraints.txt" in text
    (listed,) = re.findall(r"--editable '\.\[(.*)\]'", text)
    assert set(listed.split(",")) == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("extra", EXTRAS)
def test_extras_are_those_of_the_project(extra):
    packages, included = EXTRAS[extra]
    providers = metadata.packages_distributions()
    expected = {canonicalize_name(provider) for package in packages for provider in providers[package]}
    wanted = [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
    assert {canonicalize_name(r.name) for r in wanted if r.name != DISTRIBUTION} == expected
    assert [r.extras for r in wanted if r.name == DISTRIBUTION] == ([{included}] if included else [])


def test_the_version_has_its_section():
    assert PROJECT["name"] == DISTRIBUTION
    assert metadata.version(DISTRIBUTION) == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d[\d.]*)\] - \d{4}-\d\d-\d\d$", changelog, re.M)
    assert versions[0] == PROJECT["version"]
