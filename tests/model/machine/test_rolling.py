"""Rolled programs lie in memory with copies of weights only where these make them shorter, and issue what they did."""

import numpy as np
import pytest
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.machine.repeat import loop_words, unroll
from skinny.model.machine.rolling import Layout, roll_words
from skinny.model.rings import Modular

CONFIG = CoreConfig(Modular(16), depth=256, inputs=16, weights=32, repeat=1)


def layout(words, weights):
    return Layout(np.array(words, dtype=np.uint64), np.arange(len(words)), tuple(range(weights)))


def terms(numbers, config=CONFIG):
    """A form of one term for each of ``numbers``, which are weights, its value added to register 0, and an output."""
    words = [config.encode(Op.ATTEND, u=u, k=k, flag=u == 0) for u, k in enumerate(numbers)]
    return [*words, config.encode(Op.APPLY_S, dst=0, src=1), config.encode(Op.EMIT, dst=0, neg=1)]


def values(laid, config=CONFIG):
    """Of each word that is issued and makes no loop: the fields that mean something, and the weight that it reads."""
    issued = unroll(laid.words, config).words
    issued = issued[~loop_words(config, issued)]
    fields = config.decode(issued)
    attends = fields["op"] == Op.ATTEND
    weights = np.array(laid.sources)[np.where(attends, fields["k"], 0)]
    columns = [fields[name] for name in ("op", "neg", "flag", "dst", "src")]
    columns += [np.where(attends, fields["u"], -1), np.where(attends, weights, -1)]
    return np.stack(columns).T.tolist()


def test_weights_in_order_stay_as_they_are():
    flat = layout(terms(range(12)), 12)
    rolled = roll_words(flat, CONFIG)
    assert len(rolled.words) == 6
    assert rolled.sources == flat.sources
    assert values(rolled) == values(flat)


def test_equal_weights_are_copied_where_that_is_shorter():
    flat = layout(terms([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]), 10)
    rolled = roll_words(flat, CONFIG)
    assert len(rolled.words) == 6
    assert len(rolled.sources) > len(flat.sources)
    assert values(rolled) == values(flat)


def test_weights_that_no_word_takes_keep_a_place():
    rolled = roll_words(layout(terms([3, 1, 3, 1, 3, 3, 1, 1]), 6), CONFIG)
    assert set(rolled.sources) == set(range(6))


def test_copies_that_have_no_room_are_not_made():
    config = CoreConfig(Modular(16), depth=256, inputs=16, weights=8, repeat=1)
    flat = layout(terms([0, 2, 1, 0, 0, 2, 1, 1, 2, 0], config), 3)
    rolled = roll_words(flat, config)
    assert rolled.sources == flat.sources
    assert values(rolled, config) == values(flat, config)


def test_words_are_of_the_instructions_that_they_were_of():
    numbers = np.array([7] * 13 + [-2])
    flat = layout(terms(range(12)), 12)
    rolled = roll_words(Layout(flat.words, numbers, flat.sources), CONFIG)
    assert rolled.numbers.tolist() == [7, -1, -1, 7, 7, -2]


@pytest.mark.parametrize("restarts", [True, False])
def test_outputs_that_restart_become_a_loop_with_the_last_one(restarts):
    words = []
    for n in range(4):
        words += [CONFIG.encode(Op.APPLY_X, dst=0, src=1, u=n), CONFIG.encode(Op.APPLY_W, dst=0, src=2, k=n)]
        words.append(CONFIG.encode(Op.EMIT, dst=0, flag=restarts and n < 3, neg=n == 3))
    rolled = roll_words(layout(words, 4), CONFIG)
    assert len(rolled.words) == 5
    fields = CONFIG.decode(unroll(rolled.words, CONFIG).words)
    emits = fields["op"] == Op.EMIT
    assert fields["neg"][emits].tolist() == [0, 0, 0, 1]
    assert fields["flag"][emits].tolist() == [int(restarts)] * 4
