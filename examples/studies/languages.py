"""Study: words of balanced brackets and of the form a…ab…b, recognised by a counter in state registers."""

import numpy as np
import skinny
from study import BLUE, GREY, ORANGE, Study, Table, axes, say

#: Steps of the machines, a symbol a sample. The words so far belong to the language where ``wrong`` is zero.
BRACKETS = """
state depth = 0
state bad = 0
let d = depth + x                  # x is 1 for an opening bracket and -1 for a closing one
let e = bad + relu(-d)             # 1 for a bracket that closes nothing
next depth = relu(d)
next bad = e
wrong = e + relu(d)
"""
COUNTED = """
state count = 0
state seen = 0                     # 1 from the first b on
state bad = 0
let c = count + 1 - 2*x            # x is 0 for an a and 1 for a b
let e = bad + relu(-c) + seen - seen*x
next count = relu(c)
next seen = seen + x - seen*x
next bad = e
wrong = e + relu(c)
"""
#: Two kinds of brackets need a stack. It is a number between 0 and 1 with a digit to base 4 for each open bracket, 1 or
#: 3; the relu cuts the digits out, as Siegelmann and Sontag did.
STACKED = """
state stack = 0
state bad = 0
let some = relu(4*stack) - relu(4*stack - 1)
let top = relu(4*stack - 2) - relu(4*stack - 3)
let pushed = stack/4 + kind/2 + 1/4
let popped = relu(4*stack - 2*top - 1)
let after = open*pushed + (1 - open)*popped
let e = bad + (1 - open)*((top - kind)^2 + 1 - some)
next stack = after
next bad = 1 - relu(1 - e)
wrong = e + after
"""


def belongs_brackets(word):
    """For each prefix whether its brackets are balanced, by a stack that is a list. A bracket is +k or -k."""
    stack, broken, answers = [], False, []
    for x in word:
        if x > 0:
            stack.append(x)
        else:
            broken |= not stack or stack.pop() != -x
        answers.append(not broken and not stack)
    return answers


def belongs_counted(word):
    """For each prefix whether it is so many a and as many b, by comparing with that word."""
    answers = []
    for length in range(1, len(word) + 1):
        half = length // 2
        answers.append(not any(word[:half]) and all(word[half:length]) and length % 2 == 0)
    return answers


def balanced(length, kinds, depth, rng):
    """A random word of balanced brackets that are open at most ``depth`` deep."""
    stack, word = [], []
    while len(word) < length:
        left = length - len(word)
        if stack and (len(stack) >= min(depth, left) or rng.random() < 0.5):
            word.append(-stack.pop())
        else:
            stack.append(int(rng.integers(1, kinds + 1)))
            word.append(stack[-1])
    return word


def spoiled(words, rng):
    """The words, each followed by itself with one symbol changed, and with two neighbours swapped."""
    out = []
    for word in words:
        changed, swapped = list(word), list(word)
        place = int(rng.integers(len(word)))
        changed[place] = 1 - word[place] if set(word) <= {0, 1} else -word[place]
        place = int(rng.integers(len(word) - 1))
        swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
        out += [word, changed, swapped]
    return out


def brackets(count, length, rng):
    words = [balanced(length, 1, length, rng) for _ in range(count - 1)]
    return spoiled([*words, [1] * (length // 2) + [-1] * (length // 2)], rng)


def counted(count, length, rng):
    return spoiled([[0] * (length // 2) + [1] * (length // 2) for _ in range(count)], rng)


def two_kinds(count, length, rng):
    return spoiled([balanced(length, 2, 10, rng) for _ in range(count)], rng)


#: Each language: its step, the ring of its core, random words, samples of a word, and who knows better.
LANGUAGES = {
    "brackets": (BRACKETS, "modular:16", brackets, lambda x: [x], belongs_brackets),
    "a…ab…b": (COUNTED, "modular:16", counted, lambda x: [x], belongs_counted),
    "two kinds, 12 deep": (STACKED, "fixed:32.24", two_kinds, lambda x: [abs(x) - 1, int(x > 0)], belongs_brackets),
}


def measure(quick):
    rng = np.random.default_rng(0)
    count, length, deep = (2, 24, 200) if quick else (20, 1_000, 20_000)
    simulated = 4
    found = {}
    for name, (step, ring, draw_words, samples, belongs) in LANGUAGES.items():
        say(name)
        program = skinny.compile(step, keep="none")
        words = draw_words(count, length, rng)
        given = np.array([[samples(x) for x in word] for word in words])
        right = np.array([belongs(word) for word in words])
        model = np.array(program.run_stream(given, ring)) == 0
        seen = program.simulate_stream(given[:simulated], ring, simulator="amaranth" if quick else None)
        core = np.array(seen["results"]["wrong"]) == 0
        found[name] = {
            "cycles": program.info(ring)["memory_words"]["flat"],
            "registers": program.width,
            "words": len(words),
            "symbols": length,
            "belong": int(right[:, -1].sum()),
            "mistakes": int(np.sum(model != right)),
            "on the core": simulated,
            "core as the model": seen["match"],
            "mistakes there": int(np.sum(core != right[:simulated])),
        }
    say(f"brackets nested {deep:,} deep")
    program = skinny.compile(BRACKETS, keep="none")
    answer = program.run_stream([[1]] * deep + [[-1]] * deep, "modular:16")
    word = [*balanced(60, 1, 60, rng), -1, *balanced(60, 1, 60, rng)]
    wrong = program.run_stream([[x] for x in word], "modular:16")
    right = answer[-1] == 0 and all(answer[:-1])
    return {"languages": found, "deep": deep, "right": right, "word": word, "wrong": wrong}


def tables(found):
    rows = [[name, *row.values()] for name, row in found["languages"].items()]
    head = ["", "cycles a symbol", *list(next(iter(found["languages"].values())))[1:]]
    title = "every prefix of every word judged; a mistake is a prefix judged wrongly"
    deep = [[f"{found['deep']:,} opened, then as many closed, 16 bit", found["right"]]]
    return [Table(title, head, rows), Table("one word more", ["", "right at every symbol"], deep)]


def draw(found):
    figure, (left, right) = axes(2, height=3.4)
    word, wrong = found["word"], found["wrong"]
    depth = np.cumsum(word)
    left.step(range(1, len(word) + 1), depth, color=GREY, where="post", label="opened less closed")
    left.step(range(1, len(word) + 1), wrong, color=BLUE, where="post", label="the program's answer")
    zero = [n + 1 for n, value in enumerate(wrong) if value == 0]
    left.plot(zero, [0] * len(zero), "o", color=ORANGE, markersize=4, label="balanced so far", clip_on=False)
    first = int(np.argmax(depth < 0)) + 1
    left.axvline(first, color=ORANGE, linewidth=1)
    left.text(first + 1, max(wrong) + 2, "closes nothing", va="top", fontsize=9)
    left.set(xlabel="symbol", ylabel="counter", ylim=(-1.5, max(wrong) + 3), title="a closing bracket too many")
    left.legend(fontsize=8, loc="upper left", ncols=1)
    longest = np.array([10, 100, 1_000, 10_000, 32_767])
    right.loglog(longest, longest + 2, color=GREY, marker="o", label="states of a finite automaton: N + 2")
    for (name, row), colour in zip(found["languages"].items(), (BLUE, ORANGE), strict=False):
        right.loglog(longest, np.full(len(longest), row["cycles"]), color=colour, label=f"words of the program, {name}")
    right.set(xlabel="deepest nesting N", ylabel="size", ylim=(3, 1e5), title="a counter against a list of cases")
    right.legend(fontsize=8)
    return figure


STUDY = Study(__file__, measure, tables, draw)

if __name__ == "__main__":
    STUDY.main()
