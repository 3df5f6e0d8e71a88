"""Random programs use all parts of a core, and the golden words are those of an independent computation."""

from fractions import Fraction

import numpy as np
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import APPLIES, ATTENDS, CoreConfig, Op
from skinny.model.program.forms import Linear
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint, Modular
from skinny.sim.check.generate import golden_words, random_program, random_vectors


def test_programs_use_every_operation_register_and_sign(rng):
    config = CoreConfig(FixedPoint(16, 8), width=4)
    program = random_program(rng, config, 300, outputs=3)
    assert (len(program), len(program.outputs), program.outputs[-1].at) == (300, 3, 300)
    fields = config.decode(assemble(program, config).words)
    assert {*APPLIES, *ATTENDS, Op.EMIT} <= set(fields["op"])
    applied = np.isin(fields["op"], [int(op) for op in APPLIES])
    assert set(fields["dst"][applied]) == set(fields["src"][applied]) == set(range(4))
    assert set(fields["neg"][applied]) == {0, 1}
    assert all((weight * 256).denominator == 1 and -128 <= weight < 128 for weight in map(Fraction, program.weights))


def test_without_attention_there_are_no_linear_forms(rng):
    program = random_program(rng, CoreConfig(Modular(8), attention=False), 50)
    assert not any(isinstance(form, Linear) for form in program.forms)


def test_the_same_seed_gives_the_same_program():
    config = CoreConfig(Modular(8))
    one, two = (random_program(np.random.default_rng(3), config, 30) for _ in range(2))
    assert list(assemble(one, config).words) == list(assemble(two, config).words)


def test_golden_words_by_hand(rng):
    # y = 3·a·b in 8 bits.
    text = "skinny 1\nwidth 3\ninputs a b\nweight w[0] = 3\nR2 += a*R1\nR0 += b*R2\nR2 -= a*R1\nR2 += w[0]*R0\n"
    image = assemble(loads(text + "emit y = R2\nend\n"), CoreConfig(Modular(8)))
    vectors = random_vectors(rng, image, 50)
    assert vectors.shape == (50, 2)
    assert golden_words(image, vectors).tolist() == [[3 * a * b % 256] for a, b in vectors.tolist()]
