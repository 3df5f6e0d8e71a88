"""The studies, in their quick form: what their pages say holds on less."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "examples" / "studies"


@pytest.fixture(scope="module")
def module():
    """What imports a module of the studies, which find each other as scripts do."""
    sys.path.insert(0, str(STUDIES))
    yield import_module
    sys.path.remove(str(STUDIES))


@pytest.fixture
def quick(module):
    """What runs the quick form of a study, and draws it."""

    def run(name):
        study = module(name).STUDY
        found = study.run(quick=True)
        assert study.draw(found).axes
        return found

    return run


def test_every_study_has_a_page_and_a_picture(module):
    names = module("all").STUDIES
    scripts = {path.stem for path in STUDIES.glob("*.py")} - {"all", "study"}
    assert sorted(names) == sorted(scripts)
    index = (STUDIES / "README.md").read_text(encoding="utf-8")
    for name in names:
        page = (STUDIES / f"{name}.md").read_text(encoding="utf-8")
        assert f"({name}.md)" in index
        assert f"]({name}.png)" in page
        assert (STUDIES / f"{name}.png").stat().st_size > 10_000
        assert page.count(f"$ python examples/studies/{name}.py\n") == 1
        assert "## Where it disagrees with the document" in page


def test_a_run_renews_the_figures_of_its_page(module, tmp_path):
    renew = module("study").renew
    page = tmp_path / "parity.md"
    page.write_text("Before.\n\n```console\n$ python examples/studies/parity.py\nold\n```\n\nAfter.\n")
    renew(tmp_path / "parity.py", "new\ntable")
    shown = "```console\n$ python examples/studies/parity.py\nnew\ntable\n```"
    assert page.read_text() == f"Before.\n\n{shown}\n\nAfter.\n"
    page.write_text("no block")
    with pytest.raises(SystemExit, match=r"parity\.md has no block for the figures"):
        renew(tmp_path / "parity.py", "new")


def test_tables_show_numbers_as_people_read_them(module):
    table = module("study").Table("title", ["", "a", "long head"], [["row", 1234, True], ["second", 0.12345, None]])
    assert str(table).splitlines() == [
        "title",
        "             a   long head",
        "─" * 26,
        "row      1,234         yes",
        "second   0.123           –",
    ]


def test_theorem(quick):
    found = quick("theorem")
    laws = found["laws"]
    assert laws.pop("2×2 matrices") < found["programs"]
    assert set(laws.values()) == {found["programs"]}
    for row in found["lengths"]["products, balanced"]:
        assert row["textbook"] == row["4^d"]
    for rows in found["lengths"].values():
        for row in rows:
            assert row["none"] <= row["all promises"] <= row["in place"] <= row["textbook"] <= row["4^d"]
    for counts in found["curves"].values():
        assert counts == sorted(counts, reverse=True)
    assert found["curves"]["none"][0] == 17
    assert found["curves"]["linear,reversible"][0] == 58


def test_the_textbook_program_is_that_of_the_document(module):
    theorem = module("theorem")
    assert theorem.textbook(("*", "f", "g"), 0, 2) == [(2, 1, -1, "g"), (1, 0, 1, "f"), (2, 1, 1, "g"), (1, 0, -1, "f")]
    formula = theorem.chain(9)
    assert len(theorem.textbook(formula, 1, 0)) == theorem.length(formula)


def test_machines(quick):
    found = quick("machines")
    assert all(held for laws in found["laws"].values() for held in laws.values())
    for row in found["shapes"].values():
        assert row["instructions"] == row["weights"] + row["nodes"]
        assert row["program depth"] == row["backward depth"] == row["depth"] + 1
    assert found["depths"]["all nodes of the step before"] == [3 * steps - 1 for steps in (1, 2, 4, 8, 16)]
    assert found["depths"]["only layers up to its own"] == [steps + 1 for steps in (1, 2, 4, 8, 16)]
    assert found["agreed"]
    for row in found["costs"].values():
        assert row["backwards, at a point"] <= row["anywhere"] < 1.1 * row["forwards"]
    assert all(row[2] and row[4] for row in found["core"].values())


def test_block(quick):
    found = quick("block")
    assert [row[4] for row in found["ranks"]] == [7, 10, 9]
    assert all(share > 0.3 for (share,) in found["learned"].values())


def test_ranks_and_gradients_of_products(module):
    """Against fractions, and against small differences."""
    block = module("block")
    rng = np.random.default_rng(0)
    table = rng.integers(0, 9, (6, 2)) @ rng.integers(0, 9, (2, 7))
    assert block.rank(table) == np.linalg.matrix_rank(table) == 2
    assert block.rank(np.zeros((3, 3), int)) == 0
    network = block.Network(3, 2, 3, rng)
    network.weights = [w.astype(float) for w in network.weights]
    x, slope = rng.standard_normal((4, 3)), rng.standard_normal((4, 2))
    found = network.gradients(slope, network.run(x)[1])
    for w, g in zip(network.weights, found, strict=True):
        at = tuple(rng.integers(size) for size in w.shape)
        values = []
        for step in (1e-5, -2e-5):
            w[at] += step
            values.append((network.run(x)[0] * slope).sum())
        w[at] += 1e-5
        assert g[at] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4, abs=1e-8)


def test_sparsity(quick):
    found = quick("sparsity")
    for row in found["sizes"]:
        assert row["equal"]
        assert row["none"] <= row["expanded"]
        assert row["none"] <= 7 * row["inputs"] - 6
    for row in found["graphs"]:
        assert (row["inputs"], row["pairing"]) == (True, True)
        assert row["weights"][1] < row["weights"][0] == 46
        assert row["cycles"][1] < row["cycles"][0]


def test_forms_follow_their_gradients_and_their_formula(module):
    sparsity = module("sparsity")
    rng = np.random.default_rng(0)
    forms = sparsity.Forms(rng)
    x = np.concatenate([rng.uniform(-1, 1, (5, 6)), np.ones((5, 1))], axis=1)
    slope = rng.standard_normal(5)
    found = forms.gradients(x, slope, forms.run(x)[1])
    for w, g in zip(forms.w, found, strict=True):
        for at in np.ndindex(w.shape):
            values = []
            for step in (1e-5, -2e-5):
                w[at] += step
                values.append((forms.run(x)[0] * slope).sum())
            w[at] += 1e-5
            assert g[at] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4, abs=1e-8)
    names = {f"x{n}": x[:, n] for n in range(6)}
    for line in forms.written().splitlines():
        name, _, text = line.removeprefix("let ").partition(" = ")
        names[name] = eval(text, {}, names)
    assert names["y"] == pytest.approx(forms.run(x)[0], abs=0.1)


def test_explain(quick):
    found = quick("explain")
    assert found["rest"]["program"][1] < 0.01
    counts = {name: np.mean(found["counts"][name]) for name in found["counts"]}
    assert counts["program: shares"] < counts["program: by chance"] / 2
    assert counts["network: shares"] < counts["network: by chance"] / 2
    assert all(first == 1 for first, _ in found["parts"])


def test_parity(quick):
    found = quick("parity")
    assert found["wrong"] == 0
    assert list(found["words"]["exclusive or, over GF(2)"]) == [n + 1 for n in found["sizes"]]
    assert list(found["words"]["product, registers assigned"]) == [3 * n + 1 for n in found["sizes"]]
    assert list(found["words"]["own inverse, all promises"]) == [7 * n + 1 for n in found["sizes"]]
    assert [row["rolled"] for row in found["core"].values()] == [10, 9, 5]
    assert all(row["match"] and row["wrong"] == 0 for row in found["core"].values())
    assert found["core"]["own inverse, all promises"]["linear"]
    assert found["core"]["own inverse, all promises"]["reversible"]


def test_addition(quick):
    found = quick("addition")
    assert [(row["words"], row["outputs"]) for row in found["small"].values()] == [(2, 1), (3, 1), (4, 2)]
    assert all(row["match"] and row["right"] for row in found["small"].values())
    for row in found["sums"].values():
        assert (row["wrong"], row["match"], row["wrong_core"]) == (0, True, 0)
    assert found["sums"]["8 bits"]["flat"] <= 63
    assert found["sums"]["40 bits, carry as state"]["flat"] == 8


def test_languages(quick):
    found = quick("languages")
    for row in found["languages"].values():
        assert (row["mistakes"], row["core as the model"], row["mistakes there"]) == (0, True, 0)
        assert 0 < row["belong"] < row["words"]
    assert found["right"]


def test_who_knows_languages_is_right(module):
    languages = module("languages")
    assert languages.belongs_brackets([1, 1, -1, -1, -1, 1]) == [False, False, False, True, False, False]
    assert languages.belongs_brackets([1, 2, -1, -2]) == [False, False, False, False]
    assert languages.belongs_counted([0, 1, 0, 1]) == [False, True, False, False]
    assert languages.belongs_counted([0, 0, 1, 1, 1]) == [False, False, False, True, False]


def test_sawtooth(quick):
    found = quick("sawtooth")
    assert all(row["wrong"] == 0 and row["pieces"] == 2 ** row["depth"] for row in found["teeth"])
    assert [row["shallow"] for row in found["teeth"]] == [2 ** (row["depth"] + 2) - 1 for row in found["teeth"]]
    assert found["teeth"][-1]["loop"] == found["teeth"][-2]["loop"] == 14
    assert all((wrong, match) == (0, True) for *_, wrong, match in found["core"].values())
    for row in found["nets"]:
        assert (row["unrolled wrong"], row["tied wrong"]) == (0, 0)
        assert row["cycles, tied"] > 1.5 * row["words and cycles"]


def test_gradients(quick):
    found = quick("gradients")
    for bits, row in found["parities"].items():
        assert 1 - 5 / 2**bits < row["squared"] <= 1 + 1e-9
        assert row["logistic"] == pytest.approx(row["squared"] / 4)
        assert row["logistic"] < row["hinge"] <= 1 + 1e-9
    assert found["learned"][8] == [1]
    assert abs(found["learned"][32][0] - 0.5) < 0.03
    for right, new in found["pools"].values():
        assert right > 0.9
        assert abs(new - 0.5) < 0.03
    assert found["explained"][1][0] > 0.8
    assert found["explained"][6][0] < 0.1


def test_gradients_agree_with_a_sum_over_all_targets(module):
    """The Hadamard transform against each target by itself; the integral against random directions."""
    gradients = module("gradients")
    found, bound = gradients.variance(4, np.random.default_rng(1))
    outputs, derivatives = gradients.network(4, gradients.HIDDEN, np.random.default_rng(1), 1.0)
    g = np.concatenate(derivatives, axis=1)
    words = np.arange(16)
    signs = 1 - 2 * (np.bitwise_count(words[:, None] & words).astype(int) % 2)
    assert bound == pytest.approx((g * g).sum() / 16 / 16)
    for name, slope in gradients.LOSSES.items():
        each = np.array([(slope(outputs, h)[:, None] * g).mean(axis=0) for h in signs])
        assert found[name] * bound == pytest.approx(((each - each.mean(axis=0)) ** 2).sum() / 16)
    rng = np.random.default_rng(2)
    v = rng.standard_normal((200_000, 3))
    v *= 2 / np.linalg.norm(v, axis=1)[:, None]
    w = np.array([2.0, 0, 0])
    near, far = (np.exp(-((w + s * v) ** 2).sum(axis=1) / 2)[:, None] for s in (-1, 1))
    slopes = (w - v) * near + (w + v) * far
    assert gradients.periodic(3, 2) == pytest.approx(slopes.var(axis=0).sum(), rel=0.02)
