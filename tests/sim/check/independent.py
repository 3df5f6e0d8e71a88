"""A model of the core that was written from ``docs/isa.md`` alone, stepped cycle by cycle.

It shares nothing with the cycle model, the golden model or the RTL, not even the encoding, so that a mistake has to be
made twice, or stand on the page, to stay hidden. What the page leaves open the model refuses: memory that was never
written is None, and an input past the end of its vector raises ``IndexError``.
"""

from collections import deque

APPLY_X, APPLY_W, APPLY_S, ATTEND, BIAS, EMIT, CHECK = range(1, 8)
PROGRAM, WEIGHTS, START, SETTINGS = range(4)
LAST_WORD, LAST_INPUT, BATCHES, STATE, WINDOW = range(5)
NO_WORD = (0, 0, 0, 0)
NO_RETIREMENT = (0, 0, 0, 0, 0, 0, 0)


def bits(count):
    """Bits of an index below ``count``."""
    return max(1, (count - 1).bit_length())


def arithmetic(kind, *parameters):
    """Bits of a word, the number of elements, and ``add``, ``subtract``, ``multiply`` on words of a ring."""
    if kind == "boolean":
        (size,) = parameters
        return size, 1 << size, int.__xor__, int.__xor__, int.__and__
    if kind == "prime":
        (p,) = parameters
        return p.bit_length(), p, lambda a, b: (a + b) % p, lambda a, b: (a - b) % p, lambda a, b: a * b % p
    size, frac = (*parameters, 0)[:2]
    mask, sign = (1 << size) - 1, 1 << size - 1
    half = 1 << frac >> 1

    def multiply(a, b):
        return ((a ^ sign) - sign) * ((b ^ sign) - sign) + half >> frac & mask

    return size, 1 << size, lambda a, b: a + b & mask, lambda a, b: a - b & mask, multiply


class Model:
    """A core of given sizes. ``ring`` is ``("modular", bits)``, ``("fixed", bits, frac)``, ``("prime", p)`` or
    ``("boolean", lanes)``.

    ``out`` are the output pins of the present cycle; :meth:`step` takes the input pins of the same cycle.
    """

    def __init__(self, ring, width, threads, depth, inputs, weights, attention, check, units="", pipeline=0, repeat=0):
        self.bits, self.elements, self.add, self.subtract, self.multiply = arithmetic(*ring)
        self.width, self.threads, self.depth, self.inputs = width, threads, depth, inputs
        self.attention, self.check = attention, check
        self.assign, self.sums, self.relu, self.argmax, self.state, self.window = (
            name in units.split() for name in ("assign", "sums", "relu", "argmax", "state", "window")
        )
        self.memory = pipeline > 0
        self.repeat = repeat
        self.delay = (pipeline or threads + 4) + (repeat > 0)
        if self.memory:
            self.assign, self.sums = True, attention
        self.accumulator = 1 if self.memory else width
        self.one = {"fixed": 1 << ring[-1], "boolean": (1 << ring[-1]) - 1}.get(ring[0], 1)
        register = bits(width + 1) if self.sums and not self.memory else bits(width)
        self.fields = (3, 1, 1, int(self.relu), register, bits(width), bits(inputs), bits(weights))
        self.payload_at = sum(self.fields[:4])  # the lowest bit of what a repeat holds
        if repeat:
            self.fields += (max(0, 18 - sum(self.fields[4:])),)
        self.marks = self.state and not self.memory  # a setting says which registers are state
        settings = 5 if self.window else 4 if self.marks else 3
        self.memories = ([None] * depth, [None] * weights, [None] * width * (not self.memory), [None] * settings)
        self.address_bits = tuple(bits(len(memory)) for memory in self.memories)
        self.data_bits = (sum(self.fields), self.bits, self.bits)
        self.settings_bits = (bits(depth), bits(inputs), 3, width, bits(inputs) + 1)[:settings]
        if not self.marks:
            self.settings_bits = (*self.settings_bits[:3], *(0, bits(inputs) + 1)[: settings - 3])
        self.trace = None  # the words that a run issues: (address, decoded word)
        self.cycle = 0
        self.reset()

    def reset(self):
        """The state after a cycle of reset; the memories stay."""
        self.vector, self.vectors = [], []  # words of the unfinished vector, vectors of the unfinished batch
        self.waiting = deque()  # complete batches that have not started: (cycle of the last word, vectors)
        self.free = deque([self.cycle, self.cycle])  # for each buffer that is or will be free: from which cycle
        self.retirements = {}  # cycle: retire pins and what goes to the FIFO
        self.results = deque()  # words that retired and were not taken: (first cycle at o, pins)
        self.ends = []  # for each batch that started: the cycle in which its last result was taken, None before
        self.ended = 0  # how many of them are not None
        self.issue = 0  # from this cycle on the next batch may issue
        self.idle = 0  # the first cycle in which busy is low
        self.emitted = self.taken = self.barrier = 0  # results: sent, taken, and those that a load found waiting
        self.barrier_end = -3  # when the last of these was taken
        self.fault = 0
        self.anew = True  # streams begin anew with the next batch
        self.registers, self.taints = [None] * self.threads, [0] * self.threads  # what streams keep
        self.started = None  # the cycle in which the last batch issued
        self.words = [[] for _ in range(self.threads)]  # those that came in for each thread
        self.ended_at = -3  # when the last word of a batch was accepted
        self.passing = 0  # from this cycle on no thread passes by
        self.renewed = False  # windows are to be emptied
        self.out = (1, *NO_WORD, 1, 0, 0, *NO_RETIREMENT)

    def decode(self, word, offsets=(0, 0, 0, 0), within=False):
        """The fields of a program word that is moved by ``offsets``, and whether it is malformed; ``within``: a loop is
        open."""
        fields = []
        for size in self.fields:
            fields.append(word & (1 << size) - 1)
            word >>= size
        op, neg, flag, relu, dst, src, u, k = fields[:8]
        if not (self.memory and dst == 1):
            dst = dst + offsets[0] & (1 << self.fields[4]) - 1
        src = src + offsets[1] & (1 << self.fields[5]) - 1
        u = u + offsets[2] & (1 << self.fields[6]) - 1
        k = k + offsets[3] & (1 << self.fields[7]) - 1
        if within and op == EMIT:
            neg = 0
            if self.argmax and src & 3 == 3:
                src -= 2
        begins = self.memory and self.state and op == BIAS
        apply = op in (APPLY_X, APPLY_W, APPLY_S) or begins
        sums = self.sums and (op in (APPLY_X, APPLY_W) or begins) and dst == self.accumulator
        assigns = self.assign and apply and flag
        loops = (0, neg ^ flag, neg | flag)[self.repeat]
        malformed = (
            (op == 0 and not loops)
            or (op in (APPLY_S, ATTEND, BIAS) and not begins and not self.attention)
            or (op == CHECK and not self.check)
            or (dst >= self.width and (apply or op == EMIT) and not sums)
            or (apply and (src >= self.width or (src == dst and not assigns and not (self.memory and sums))))
            or (op in (APPLY_X, ATTEND) and u >= self.inputs)
            or (op in (APPLY_W, ATTEND, BIAS) and k >= len(self.memories[WEIGHTS]))
        )
        if self.memory:
            shown = op in (EMIT, CHECK)
            malformed = (
                malformed
                or (op == BIAS and not begins)
                or (op == ATTEND and dst != 1)
                or ((shown or apply) and dst == 1 and not sums)
                or (op == CHECK and dst >= self.width)
                or (op == EMIT and flag == 1)
            )
        return op, neg, flag, relu, dst, src, u, k, malformed

    def write(self, space, address, data):
        """A write at the load port."""
        address &= (1 << self.address_bits[space]) - 1
        size = self.settings_bits[address] if space == SETTINGS else self.data_bits[space]
        data &= (1 << size) - 1
        self.memories[space][address] = data
        self.trace = None
        if space != WEIGHTS:
            self.anew = True
            self.renewed = self.window

    def coming(self, now):
        """Whether a batch comes in, up to the cycle after its last word."""
        return bool(self.vector or self.vectors) or self.ended_at == now - 1

    def issued(self):
        """The words that a run issues, as (address, decoded word)."""
        if self.trace is None:
            self.trace = self.walk(self.memories[PROGRAM], self.memories[SETTINGS][LAST_WORD])
        return self.trace

    def walk(self, program, last):
        """The words that a run of ``program`` issues, whose last word has the address ``last``."""
        loops = [None, None]  # the open loops: first word of the body, end, rounds
        steps, offsets = [(0, 0, 0, 0), (0, 0, 0, 0)], (0, 0, 0, 0)
        trace, pc = [], 0
        while True:
            word = program[pc]
            trace.append((pc, self.decode(word, offsets, any(loops))))
            op, neg, flag, _, dst, src, u, k, malformed = self.decode(word)
            following = None
            for level in (0, 1):
                if loops[level] and loops[level][1] == pc % 64:
                    following, end, rounds = loops[level]
                    offsets = tuple(map(sum, zip(offsets, steps[level], strict=True)))
                    state = (rounds << 1 | (rounds >> 10 ^ rounds >> 8) & 1) % 2048
                    loops[level] = (following, end, state) if rounds >> 1 else None
                    break
            if following is None:
                if pc == last:
                    return trace
                following = pc + 1
                if self.repeat and op == 0 and not malformed and neg:
                    steps[flag] = (dst, src, u, k) if self.repeat == 2 else (0, 0, u, k)
                elif self.repeat and op == 0 and not malformed:
                    payload = word >> self.payload_at
                    level = payload >> 17 & 1 if self.repeat == 2 else 0
                    loops[level] = (following, payload % 64, payload >> 6 & 2047)
            pc = following

    def run(self, vector, thread, first):
        """The effect of each word that is issued for ``vector`` of ``thread``: pc, op, dst, value, fault as they
        retire; then whether it sends a word, with ``neg``, and the fault of the run so far. ``first``: the stream
        begins. A thread without a vector does only what begins streams."""
        _, weights, start, _ = self.memories
        add, subtract, multiply = self.add, self.subtract, self.multiply
        kept = [n for n in range(self.width) if self.marks and self.memories[SETTINGS][STATE] >> n & 1]
        registers, total, met = list(start), 0, self.taints[thread]
        for n in kept:
            registers[n] = self.registers[thread][n]
        if self.memory:
            registers, total = list(self.registers[thread]) if self.state else [None] * self.width, None
            registers[1] = self.one
        compared = []
        for pc, (op, neg, flag, relu, dst, src, u, k, malformed) in self.issued():
            value = fault = 0
            begins = self.memory and op == BIAS and not malformed
            if vector is None and not begins:
                continue
            if malformed:
                fault = met = 1
            elif op == 0:
                pass
            elif begins and not first:
                product = multiply(weights[k], registers[src])
                before = 0 if flag else total if dst == 1 else registers[dst]
                value = (subtract if neg else add)(before, product)
                if relu and flag and dst != 1 and value >> self.bits - 1:
                    value = 0
            elif op <= APPLY_S or begins:
                if op == APPLY_X:
                    scalar = vector[self.index(u)]
                elif op == APPLY_W or begins:
                    scalar = weights[k]
                else:
                    scalar = 0 if flag and not self.assign else total
                product = multiply(scalar, registers[src])
                if dst == self.accumulator:
                    value = total = (subtract if neg else add)(0 if flag else total, product)
                elif flag and self.assign:
                    value = (subtract if neg else add)(0, product)
                    if relu and value >> self.bits - 1:
                        value = 0
                    registers[dst] = value
                else:
                    value = registers[dst] = (subtract if neg else add)(registers[dst], product)
            elif op <= BIAS:
                term = multiply(weights[k], vector[self.index(u)]) if op == ATTEND else weights[k]
                value = total = (subtract if neg else add)(0 if flag else total, term)
            elif op == EMIT:
                value = 0 if self.argmax and src & 3 == 2 else registers[dst]
                if flag:
                    registers = [registers[n] if n in kept else word for n, word in enumerate(start)]
            elif self.memory:
                value = registers[dst]
                if value != (self.one if flag else 0):
                    fault = met = 1
            elif registers != start:
                fault = met = 1
            sent = value if op == EMIT else None
            if op == EMIT and self.argmax and src & 3:
                compared.append((value ^ 1 << self.bits - 1) - (1 << self.bits - 1))
                sent = compared.index(max(compared)) if src & 3 == 3 else None
            attends = self.attention and not self.memory and op in (ATTEND, BIAS)
            yield pc, op, self.width if attends else dst, value, fault, sent, neg, met
        if self.state:
            self.registers[thread], self.taints[thread] = registers, met

    def index(self, u):
        """The input that the field ``u`` stands for."""
        return self.inputs - 1 - u if self.window else u

    def windows(self, vectors):
        """What the threads of a batch of ``vectors`` read, those that run it."""
        if not self.window:
            return vectors
        for words, vector in zip(self.words, vectors, strict=False):
            words += vector
        return [w[::-1] for w in self.words[: len(vectors)] if len(w) >= self.memories[SETTINGS][WINDOW]]

    def start(self, now):
        """Issue the first instruction of a batch in cycle ``now``."""
        vectors = self.waiting.popleft()[1]
        if self.anew:
            start = [None] * self.width if self.memory else list(self.memories[START])
            self.registers, self.taints = [start] * self.threads, [0] * self.threads
        first, self.anew = self.anew, False
        if first and self.memory and self.state:
            for thread in range(len(vectors), self.threads):
                list(self.run(None, thread, first))
        self.started = now
        threads = self.threads
        cycles = len(self.issued()) * threads
        for thread, vector in enumerate(vectors):
            at = now + thread + self.delay
            for pc, op, dst, value, fault, sent, neg, met in self.run(vector, thread, first):
                word = None if sent is None else (1, sent, int(neg and thread == len(vectors) - 1), met)
                self.retirements[at] = ((1, thread, pc, op, dst, value, fault), word)
                at += threads
        self.ends.append(None)
        self.issue = now + cycles
        self.idle = now + cycles + self.delay
        self.free.append(now + cycles + 2 + (self.repeat > 0))

    def may_start(self, now):
        """Whether a batch starts in cycle ``now``, if nothing was offered at ``load`` in the cycle before."""
        if (
            self.waiting[0][0] > now - 2 - self.window
            or self.issue > now
            or self.taken < self.barrier
            or self.barrier_end > now - 3
        ):
            return False
        if self.state and not self.anew and (now - self.started) % self.threads:
            return False
        before = len(self.ends) - self.memories[SETTINGS][BATCHES]
        return before < 0 or (self.ends[before] is not None and self.ends[before] <= now - 3)

    def step(self, pins):
        """The output pins of the present cycle; then the next one begins."""
        reset, i_valid, i_data, i_last, o_ready, load_valid, load_space, load_address, load_data = pins
        out, cycle = self.out, self.cycle
        self.cycle = now = cycle + 1
        if reset:
            self.reset()
            return out

        results = self.results
        waited = self.emitted > self.taken
        if out[1] and o_ready:
            results.popleft()
            self.taken += 1
            if out[3]:
                self.ends[self.ended] = cycle
                self.ended += 1
            if self.taken == self.barrier:
                self.barrier_end = cycle
        if out[8]:
            pins, word = self.retirements.pop(cycle)
            self.fault |= pins[6]
            if word:
                self.emitted += 1
                results.append((cycle + 3 + self.argmax, word))

        free, renewed = self.free, self.renewed
        quiet = not self.coming(cycle) and len(free) == 2 and free[1] <= cycle
        if i_valid and out[0]:
            self.vector.append(i_data)
            if len(self.vector) == self.memories[SETTINGS][LAST_INPUT] + 1:
                self.vectors.append(self.vector)
                self.vector = []
                if i_last or len(self.vectors) == self.threads:
                    if self.window:
                        self.passing = now + max(1, self.threads - len(self.vectors))
                        self.ended_at = cycle
                    if vectors := self.windows(self.vectors):
                        self.waiting.append((cycle, vectors))
                        self.free.popleft()
                    self.vectors = []

        if load_valid and out[5]:
            self.write(load_space, load_address, load_data)
            if waited:
                self.barrier = self.emitted
                self.barrier_end = cycle if self.taken == self.emitted else -3
            else:
                self.fault = 0

        if renewed and quiet:
            self.words = [[] for _ in range(self.threads)]
            self.renewed = bool(load_valid and out[5] and load_space != WEIGHTS)

        if self.waiting and not load_valid and self.may_start(now):
            self.start(now)
        elif not out[6] and not waited:
            while self.ended < len(self.ends):
                self.ends[self.ended] = cycle
                self.ended += 1
        busy = int(now < self.idle)
        word = NO_WORD
        if results and results[0][0] <= now:
            word = results[0][1]
        emptied = not self.renewed or self.coming(now)
        retirement = self.retirements.get(now)
        self.out = (
            int(bool(free) and free[0] <= now and self.passing <= now and emptied),
            *word,
            1 - busy,
            busy,
            self.fault,
            *(retirement[0] if retirement else NO_RETIREMENT),
        )
        return out
