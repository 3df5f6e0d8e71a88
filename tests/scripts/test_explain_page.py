"""The page of ``skinny explain`` in a real browser: it opens from disk, steps through golden values and is drawn."""

import contextlib
import re
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from skinny.model.program.forms import Input, Linear
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.storage import load, save
from skinny.model.rings import parse_ring
from skinny.model.run.golden import trace
from skinny.scripts.cli import main
from skinny.scripts.explain_page import run_names

DOCS = Path(__file__).parents[2] / "docs" / "explain.md"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)
#: Seconds until a page that does not open is given up; 10^5 steps were shown in 1.4 to 4.
OPENED = 300


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


class Page:
    """A page that is open in the browser."""

    def __init__(self, browser, path):
        self.browser = browser
        browser.get(Path(path).resolve().as_uri())
        WebDriverWait(browser, OPENED, 0.02).until(lambda b: b.execute_script("return document.body.dataset.ready"))

    def by_id(self, name):
        return self.browser.find_element(By.ID, name)

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def step(self):
        return int(self.by_id("step").get_attribute("value"))

    def registers(self):
        """The values of a, of b, and their differences, exactly."""
        return [
            [Fraction(cell) for cell in row]
            for row in self.script(
                "return ['a', 'b', 'd'].map(side => D.start.map((_, r) => document.getElementById(side + r).title))"
            )
        ]

    def places(self, canvas):
        """The colours in the middle of the 64 places of a picture."""
        return self.script(
            "const c = document.getElementById(arguments[0]), unit = c.width / 8;"
            "const data = c.getContext('2d', {willReadFrequently: true}).getImageData(0, 0, c.width, c.height).data;"
            "return [...Array(64).keys()].map(p => {"
            "  const at = 4 * (Math.floor(((p >> 3) + .5) * unit) * c.width + Math.floor((p % 8 + .5) * unit));"
            "  return [...data.slice(at, at + 3)]; })",
            canvas,
        )

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.settle()

    def settle(self):
        """Wait until two frames have been drawn."""
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


@pytest.fixture
def show(browser, skinny):
    """Explain, open the page; at the end the browser must have had nothing to complain about."""

    def make(*words, page="e.html"):
        code, _, err = skinny("explain", *words, "--html", page)
        assert code == 0, err
        return Page(browser, page)

    browser.get_log("browser")
    yield make
    assert browser.get_log("browser") == []


@pytest.fixture(scope="module")
def compiled_digits(tmp_path_factory):
    """A folder with the example of the documentation: ``score.skn`` and ``digits.csv``."""
    folder = tmp_path_factory.mktemp("digits")
    with contextlib.chdir(folder):
        exec(re.search("```python\n(.*?)```", DOCS.read_text(), re.S)[1], {})
        assert main(["compile", "@score.txt", "-o", "score.skn"]) == 0
    return folder


@pytest.fixture
def digits(folder, compiled_digits):
    shutil.copytree(compiled_digits, folder, dirs_exist_ok=True)


def large_program(length, fractions):
    """A polynomial of degree two in 64 inputs with forms of eight terms."""
    rng = np.random.default_rng(0)
    bottoms = rng.choice([1, 3, 7, 16], 40) if fractions else np.ones(40, int)
    weights = tuple(map(Fraction, rng.integers(-9, 9, 40).tolist(), bottoms.tolist()))
    forms = [Linear(tuple(zip(rng.integers(0, 40, 8).tolist(), rng.permutation(64)[:8].tolist(), strict=True)), 0)
             for _ in range(200)]  # fmt: skip
    first, second = rng.integers(0, 264, (2, length // 3 + 1))
    form = np.stack([first, second, first], axis=1).ravel()[:length]
    dst, src, sign = (np.tile(column, length // 3 + 1)[:length] for column in ((2, 0, 2), (1, 2, 1), (1, 1, -1)))
    names = tuple(f"x{u}" for u in range(64))
    code = Columns.of(dst, src, sign, form)
    return Program(3, names, weights, (*forms, *map(Input, range(64))), code, (Output("y", 0, length),))


def write_values(path, fractions):
    rng = np.random.default_rng(1)
    rows = [",".join(f"x{u}" for u in range(64))]
    for _ in range(2):
        bottoms = rng.choice([1, 5, 11], 64) if fractions else np.ones(64, int)
        rows.append(",".join(f"{top}/{bottom}" for top, bottom in zip(rng.integers(0, 99, 64), bottoms, strict=True)))
    Path(path).write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("ring", ["exact", "fixed:16.8", "prime:8191", "real"])
def test_stepping_shows_the_golden_values(show, answer, ring):
    given = ("p.skn", "--a", "a=3,b=5", "--b", "a=4,b=1", "--ring", ring)
    page = show(*given)
    ring, program = parse_ring(ring), load("p.skn")
    golden = ring.decode_all(trace(program, ring, ring.encode_all([[3, 5], [4, 1]])))
    assert page.step() == answer("explain", *given)["growth"][0]["step"]  # where they part most
    page.press(Keys.HOME)
    for at, (a, b) in enumerate(golden):
        assert page.step() == at
        shown = page.registers()
        assert shown[:2] == [a, b]
        assert [ring.embed(d) for d in shown[2]] == [
            ring.embed(Fraction(y) - Fraction(x)) for x, y in zip(a, b, strict=True)
        ]
        page.press(Keys.ARROW_RIGHT)
    assert page.step() == len(program)
    assert page.by_id("sends").text == "sends R2 as z"


def test_large_numbers_stay_exact(show, folder):
    (folder / "l.skn").write_text("skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nR2 += a*R0\nR0 -= a*R2\nemit y = R0\nend\n")
    a, b = Fraction(10**11 + 1, 3), 10**12 + 7
    page = show("l.skn", "--a", f"a={a}", "--b", f"a={b}")
    page.press(Keys.END)
    assert page.registers()[0] == [a - a**3, 1, a**2]
    assert page.registers()[1] == [b - b**3, 1, b**2]
    assert page.registers()[2] == [b - b**3 - a + a**3, 0, b**2 - a**2]
    assert page.by_id("a0").text.startswith("≈-3.7")
    a, b = 1 - 2**53, 2**53 - 2  # each is a float, their difference is none
    page = show("l.skn", "--a", f"a={a}", "--b", f"a={b}")
    page.script("go(1)")
    assert page.registers() == [[a, 1, 0], [b, 1, 0], [b - a, 0, 0]]
    page = show("l.skn", "--a", f"a={10**20}", "--b", f"a={10**20 + 1}")  # one as floats
    page.script("go(1)")
    assert page.by_id("apart").text == "apart by 1 (+1)"


def test_every_way_to_move(show, digits):
    page = show("score.skn", "--a", "digits.csv:1", "--b", "digits.csv:2")
    last = len(load("score.skn"))
    page.by_id("last").click()
    assert (page.step(), page.by_id("more").is_enabled()) == (last, False)
    page.by_id("less").click()
    assert page.step() == last - 1
    page.by_id("slider").send_keys(Keys.ARROW_LEFT)
    assert page.step() == last - 2
    page.by_id("step").send_keys(Keys.CONTROL, "a", Keys.NULL, "7", Keys.ENTER)
    assert page.step() == 7
    biggest = page.browser.find_elements(By.CSS_SELECTOR, "#big button")[0]
    biggest.click()
    assert page.step() == int(biggest.get_attribute("data-step"))
    assert biggest.get_attribute("aria-current") == "step"
    plot = page.by_id("trace")
    ActionChains(page.browser).move_to_element(plot).click().perform()
    width = plot.size["width"]
    assert page.step() == int((width / 2 - 66) / (width - 66 - 12) * (last + 1))
    for _ in range(2):
        page.by_id("in").click()
    assert page.script("return view[1] - view[0]") == pytest.approx((last + 1) / 4)
    before = page.script("return view[0]")
    ActionChains(page.browser).move_to_element(plot).click_and_hold().move_by_offset(-100, 0).release().perform()
    assert page.script("return view[0]") == pytest.approx(before + 100 / (width - 78) * (last + 1) / 4)
    page.by_id("fit").click()
    assert page.script("return view") == [0, last + 1]
    ActionChains(page.browser).move_to_element_with_offset(plot, width / 2 - 12 - 3, 0).click().perform()
    assert page.step() == last  # the last state is as wide as the others
    page.by_id("symlog").click()
    assert page.by_id("symlog").get_attribute("aria-pressed") == "true"


def test_the_runs_are_called_by_what_was_given(show, digits):
    names = ["digits.csv:1", "digits.csv:2"]
    page = show("score.skn", "--a", names[0], "--b", names[1], "--shape", "8x8")
    assert [key.text for key in page.browser.find_elements(By.CSS_SELECTOR, "#trace-card .key")] == names
    heads = [cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "#step-card thead th")]
    assert heads == ["register", *names, "difference", "term", *names, "change"]
    assert [each.text for each in page.browser.find_elements(By.CSS_SELECTOR, "figcaption")][:2] == names
    assert "from digits.csv:1 to digits.csv:2" in page.by_id("method").text


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (("a=1,b=2", "a=3,b=2"), ["a=1,b=2", "a=3,b=2"]),
        (("some/where/x.csv:1", "other/x.csv:12"), ["x.csv:1", "x.csv:12"]),
        (("x.csv:1", "x.csv:1"), ["a: x.csv:1", "b: x.csv:1"]),
        (
            ("first=100,second=200,third=3", "first=100,second=200,third=4"),
            ["a: first=100,second=200,th…", "b: first=100,second=200,th…"],
        ),
    ],
)
def test_names_of_runs(given, names):
    assert run_names(*given) == names


def test_numbers_are_decimals(show):
    page = show("p.skn", "--a", "a=1/2,b=-1/3", "--b", "a=3/8,b=1/7")
    for at in range(len(load("p.skn")) + 1):
        page.script("go(arguments[0])", at)
        assert "/" not in page.by_id("registers").text + page.by_id("terms").text
    page.script("go(2)")
    row = page.browser.find_elements(By.CSS_SELECTOR, "#terms tr:first-child td")
    assert [cell.text for cell in row] == ["2·a", "0.5", "0.375", "-0.25"]
    assert "/" not in page.by_id("sharelist").text + page.by_id("outputs").text


def test_the_distance_has_a_scale(show):
    page = show("p.skn", "--a", "a=3,b=5", "--b", "a=4,b=1")
    texts, most = page.script(
        "const seen = [], old = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { seen.push(text); };"
        "try { drawOverview(); } finally { CanvasRenderingContext2D.prototype.fillText = old; }"
        "return [seen, Math.max(...apart)]"
    )
    assert texts[:2] == [f"{most:g}", "0"]
    assert texts[-1] == "apart"


def test_the_current_step_is_highlighted(show):
    page = show("p.skn", "--a", "a=3,b=5", "--b", "a=4,b=1")
    page.press(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.by_id("instruction").text == "R0 += f[0]·R2"
    assert page.browser.find_element(By.CSS_SELECTOR, "#registers .marked code").text == "R0"
    assert [cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "#terms tr:first-child td")] == [
        "2·a", "3", "4", "2",
    ]  # fmt: skip
    assert [row.text for row in page.browser.find_elements(By.CSS_SELECTOR, "#sharelist .marked code")] == ["a"]


def test_shares_are_sorted_bars_for_each_output(show):
    page = show("p.skn", "--a", "a=3,b=5", "--b", "a=4,b=1")

    def rows():
        return [row.text.split("\n") for row in page.browser.find_elements(By.CSS_SELECTOR, "#sharelist .share")]

    assert [(row[0], row[-2]) for row in rows()] == [("b", "-28"), ("a", "6"), ("sum", "-22")]
    widths = [bar.size["width"] for bar in page.browser.find_elements(By.CSS_SELECTOR, "#sharelist .track i")]
    assert widths[0] / widths[1] == pytest.approx(28 / 6, rel=0.05)
    page.browser.find_element(By.CSS_SELECTOR, "#tabs button:last-child").click()
    assert [(row[0], row[-2]) for row in rows()] == [("a", "1"), ("sum", "1")]


def test_differences_beyond_the_floats(show, folder):
    (folder / "l.skn").write_text("skinny 1\nwidth 3\ninputs a\nR0 += a*R1\nR2 += a*R0\nR0 += a*R2\nemit y = R0\nend\n")
    page = show("l.skn", "--a", f"a={10**150}", "--b", f"a={3 * 10**120}")
    page.press(Keys.END)
    assert [page.by_id(f"{side}0").text for side in "abd"] == ["≈1.00e450", "≈2.70e361", "≈-1.00e450"]
    assert page.by_id("apart").text.startswith("apart by >1e300")
    far = page.script("return [minus('≈3.0e400', '≈2.5e400'), times('≈3e200', '≈-4e200'), minus('≈1e400', '≈1e400')]")
    assert far == ["≈5.000000e399", "≈-1.200000e401", 0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_drawn_in_their_colours(show, digits, answer, scheme):
    page = show("score.skn", "--a", "digits.csv:1", "--b", "digits.csv:2", "--shape", "8x8")
    page.scheme(scheme)
    found = answer("explain", "score.skn", "--a", "digits.csv:1", "--b", "digits.csv:2")
    colours = page.script("return colours")

    seen = {canvas: page.places(f"picture-{canvas}") for canvas in ("a", "b", "shares")}

    def at(canvas, name):
        return seen[canvas][int(name[1:])]

    def near(colour, name):
        wanted = list(map(float, re.findall(r"[\d.]+", colours[name])[:3]))
        return max(abs(x - y) for x, y in zip(colour, wanted, strict=True)) < 12

    for side in "ab":
        values = found["inputs"][side]
        assert near(at(side, min(values, key=values.get)), "card")
        levels = [sum(at(side, name)) for name in sorted(values, key=values.get)]
        assert levels == sorted(levels, reverse=scheme == "light")
    shares = {name: Fraction(share) for name, share in found["outputs"]["zero"]["shares"].items()}
    assert near(at("shares", min(shares, key=shares.get)), "minus")
    red, green, blue = at("shares", max(shares, key=shares.get))
    assert green > max(red, blue)
    none = [name for name, share in shares.items() if share == 0]
    assert none
    for name in none:
        assert np.ptp(at("shares", name)) < 12  # a grey
    low, high = page.by_id("least").text, page.by_id("most").text
    assert -float(low) == float(high) == pytest.approx(max(map(abs, map(float, shares.values()))), rel=1e-3)
    page.scheme("light")


def test_the_traces_are_drawn(show, digits):
    page = show("score.skn", "--a", "digits.csv:1", "--b", "digits.csv:2")
    page.settle()
    seen = page.script(
        "const c = document.getElementById('trace'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const kinds = {a: 0, b: 0};"
        "for (let i = 0; i < d.length; i += 4) {"
        "  if (d[i + 2] > d[i] + 60) kinds.a++; if (d[i] > d[i + 2] + 60) kinds.b++; }"
        "return kinds"
    )
    assert min(seen.values()) > 500


def test_a_phone_needs_no_sideways_scrolling(show, digits):
    page = show("score.skn", "--a", "digits.csv:1", "--b", "digits.csv:2", "--shape", "8x8")
    page.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        page.settle()
        assert page.script("return document.documentElement.scrollWidth <= innerWidth")
        assert page.by_id("trace-card").rect["width"] > 360
        tables = page.script(
            "return [...document.querySelectorAll('table')].map(e => e.scrollWidth - e.parentElement.clientWidth)"
        )
        assert max(tables) <= 0
        tops = [page.by_id(name).rect["y"] for name in ("trace-card", "step-card", "big-card", "picture")]
        assert tops == sorted(tops)
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_nothing_is_loaded_from_elsewhere(show):
    page = show("p.skn", "--a", "a=3,b=5", "--b", "a=4,b=1")
    assert page.script("return performance.getEntriesByType('resource').map(entry => entry.name)") in ([], ["data:,"])
    assert not re.search(r"https?:|(?:src|href)=\"(?!data:)", Path("e.html").read_text())


def test_ten_thousand_steps_are_far_below_two_megabytes(show):
    save(large_program(10_000, fractions=True), "large.npz")
    write_values("large.csv", fractions=True)
    page = show("large.npz", "--a", "large.csv:1", "--b", "large.csv:2", "--shape", "8x8")
    assert Path("e.html").stat().st_size < 500_000
    assert page.by_id("of").text == "of 10,000"


def test_a_hundred_thousand_steps_open_and_few_points_are_drawn(show):
    save(large_program(100_000, fractions=False), "large.npz")
    write_values("large.csv", fractions=False)
    page = show("large.npz", "--ring", "modular:32", "--a", "large.csv:1", "--b", "large.csv:2")
    # What is drawn does not grow with the program: at most four points a pixel column for each register of each run.
    drawn, width = page.script(
        "let count = 0; const old = Path2D.prototype.lineTo;"
        "Path2D.prototype.lineTo = function (...place) { count++; return old.apply(this, place); };"
        "try { go(90000); drawTrace(); drawOverview(); } finally { Path2D.prototype.lineTo = old; }"
        "return [count, document.getElementById('trace').clientWidth]"
    )
    assert 100 < drawn <= 3 * 2 * (4 * width + 2)
    program, ring = load("large.npz"), parse_ring("modular:32")
    values = [line.split(",") for line in Path("large.csv").read_text().split()[1:]]
    inputs = ring.encode_all([[Fraction(value) for value in row] for row in values])
    assert page.registers()[:2] == ring.decode_all(trace(program, ring, inputs)[90_000])


def test_shares_beyond_the_floats_are_those_of_the_terminal(show, folder, skinny):
    """From (1, 1) to (2e160, 3e160) the output changes by 8e320, of which 5e320 are a's and 3e320 are b's."""
    given = ("--ring", "exact", "--a", "a=1,b=1", "--b", "a=2e160,b=3e160")
    skinny("compile", "y = a*b + 1e160*a", "-o", "big.skn")
    terminal = skinny("explain", "big.skn", *given)[1]
    page = show("big.skn", *given)
    listed = page.script(
        "const rows = [...document.querySelectorAll('#sharelist .share')];"
        "return rows.map(row => [...row.children].map(cell => cell.textContent))"
    )
    for name in ("a", "b", "sum"):
        (said,) = (line.split() for line in terminal.splitlines() if line.startswith(f"{name} ") and "%" in line)
        (seen,) = (row for row in listed if row[0] == name)
        assert seen[-1] == f"{said[-2]} %"
        mantissa, tens = (float(part) for part in seen[-2].strip("≈").split("e"))
        expected, e = (float(part) for part in said[-3].strip("≈").split("e"))
        assert (round(mantissa, 2), tens) == (round(expected, 2), e)
    assert [row[-1] for row in listed] == ["62.5 %", "37.5 %", "100.0 %"]
