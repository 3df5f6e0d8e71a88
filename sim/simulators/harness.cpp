// The verilated core behind plain C functions. One call moves a whole batch list through the core: the caller hands over
// arrays and gets arrays, so that no Python runs between cycles. Compiled with BITS, ADDRESS_BITS, LOAD_BITS (of the pins
// with data), QUIET (idle cycles after which nothing can follow) and LANES, and ROM or EXPOSED where they apply. Rows are
// laid out like RETIRE and RESULT in record.py.
#include <cstdint>
#include <cstring>
#include <memory>

namespace {

struct Retire {
    int64_t cycle;
    uint64_t value;
    uint32_t pc;
    uint16_t dst;
    uint8_t thread, op, fault, lane, unused[6];
};

struct Result {
    int64_t valid, taken;
    uint64_t data;
    uint8_t last, fault, unused[6];
};

// Laid out like _Run in bulk.py: first the stimulus, then arrays for the events that are seen, the lengths of all of them,
// and at last the counts of events. `gaps`, `stalls`, `pauses` and `trace` may be null.
struct Run {
    const uint64_t* words;
    const uint8_t* lasts;
    const uint32_t *gaps, *stalls;
    const uint8_t* space;
    const uint32_t* address;
    const uint64_t* data;
    const uint32_t* pauses;
    int64_t *accepted, *loaded;
    Result* results;
    Retire* trace;
    int64_t *busy, *load_ready;
    int64_t word_count, result_count, load_count, limit, trace_room, change_room;
    int64_t cycles, total, sent, taken, extra, traced, worked, fault, written;
    int64_t busy_changes, load_ready_changes, changed, changed_result, changed_pin;
};

// The cycles in which a pin changes.
struct Changes {
    bool level;
    int64_t* cycles;
    int64_t room, count = 0;

    void see(bool now, int64_t cycle) {
        if (now == level) return;
        if (count < room) cycles[count++] = cycle;
        level = now;
    }
};

// The retirement of one lane in this cycle; LANES stands for all lanes, one after the other.
#define LANE(number, port)                                                                                       \
    if (top.port##_valid)                                                                                        \
        retire(number, top.port##_value, top.port##_pc, top.port##_thread, top.port##_op, top.port##_dst,        \
               top.port##_fault);

constexpr uint64_t mask(int bits) { return bits == 64 ? ~0ull : (1ull << bits % 64) - 1; }
struct Core {
    VerilatedContext context;
    Vtop top{&context, ""};
    int64_t flip_cycle = -1;
    uint8_t* flip_byte = nullptr;
    uint8_t flip_mask = 0;
    uint64_t state = 0x9e3779b97f4a7c15;

    Core() {
        top.clk = 0;
        top.rst = 0;
        rest();
        top.eval();
    }

    // New bits for pins that mean nothing in this cycle (xorshift after Marsaglia).
    uint64_t noise() {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    }

    void offer_nothing() {
        const uint64_t bits = noise();
        top.i_valid = 0;
        top.i_data = bits & mask(BITS);
        top.i_last = (bits ^ bits >> 32) & 1;
    }

    void load_nothing() {
#ifndef ROM
        const uint64_t bits = noise();
        top.load_valid = 0;
        top.load_data = bits & mask(LOAD_BITS);
        top.load_address = (bits >> 32) & mask(ADDRESS_BITS);
        top.load_space = (bits ^ bits >> 32) & 3;
#endif
    }

    // Nothing moves at any port.
    void rest() {
        offer_nothing();
        load_nothing();
        top.o_ready = !top.o_valid && (noise() & 1);
    }

    void tick() {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
    }
};

}  // namespace

extern "C" {

void* skinny_open() { return new Core; }

// Scopes of a design unregister from the context of the thread, which is that of the design that was made last.
void skinny_close(void* handle) {
    Core* const core = static_cast<Core*>(handle);
    Verilated::threadContextp(&core->context);
    delete core;
}

// A cycle of reset, in which `i` and `o` do anything.
void skinny_reset(void* handle) {
    Core& core = *static_cast<Core*>(handle);
    core.rest();
    core.top.i_valid = core.noise() & 1;
    core.top.o_ready = core.noise() & 1;
    core.top.rst = 1;
    core.tick();
    core.top.rst = 0;
    core.rest();
    core.top.eval();
}

// Writes `count` items at the load port, with a pause now and then and a cycle after the last one, which windows take to
// become empty; returns how many were taken in `limit` cycles with
// an offer.
int64_t skinny_load(void* handle, const uint8_t* space, const uint32_t* address, const uint64_t* data, int64_t count,
                    int64_t limit) {
    int64_t done = 0;
#ifndef ROM
    Core& core = *static_cast<Core*>(handle);
    while (done < count && limit > 0) {
        core.rest();
        if (core.noise() & 7) {
            core.top.load_valid = 1;
            core.top.load_space = space[done];
            core.top.load_address = address[done];
            core.top.load_data = data[done];
            done += core.top.load_ready;
            --limit;
        }
        core.tick();
    }
    core.rest();
    core.tick();
    core.rest();
    core.top.eval();
#endif
    return done;
}

// Offers words and takes results until the core is idle again, or for `limit` cycles.
void skinny_run(void* handle, Run* run) {
    Core& core = *static_cast<Core*>(handle);
    Vtop& top = core.top;
    // Copies: the compiler keeps them in registers.
    const Run given = *run;
    const uint32_t *const gaps = given.gaps, *const stalls = given.stalls;
    Changes busy{false, given.busy, given.change_room}, load_ready{true, given.load_ready, given.change_room};
    int64_t sent = 0, taken = 0, extra = 0, traced = 0, worked = 0, fault = -1, written = 0;
    int64_t changed = -1, changed_result = 0, changed_pin = 0;
    int64_t offer = gaps && given.word_count ? gaps[0] : 0, write = given.pauses && given.load_count ? given.pauses[0] : 0;
    int64_t active = 0, working = 0, cycle = 0;
    bool waits = false;
    Result held{};
    const auto retire = [&](uint8_t lane, uint64_t value, uint32_t pc, uint8_t thread, uint8_t op, uint16_t dst, uint8_t fault) {
        worked += op >= 1 && op <= 5;
        if (given.trace && traced < given.trace_room)
            given.trace[traced] = Retire{cycle, value, pc, dst, thread, op, fault, lane, {}};
        ++traced;
        active = cycle + 1;
    };
    for (; cycle < given.limit; ++cycle) {
#ifdef EXPOSED
        if (cycle == core.flip_cycle) *core.flip_byte ^= core.flip_mask;
#endif
        LANES
        if (fault < 0 && top.fault) fault = cycle;
        busy.see(top.busy, cycle);
        if (top.busy) working = cycle + 1;

#ifndef ROM
        load_ready.see(top.load_ready, cycle);
        core.load_nothing();
        if (written < given.load_count && cycle >= write) {
            top.load_valid = 1;
            if (top.load_ready) {
                top.load_space = given.space[written];
                top.load_address = given.address[written];
                top.load_data = given.data[written];
                given.loaded[written++] = cycle;
                working = cycle + 1;
                write = cycle + 1 + (given.pauses && written < given.load_count ? given.pauses[written] : 0);
            }
        }
#endif

        if (sent < given.word_count && cycle >= offer) {
            top.i_valid = 1;
            top.i_data = given.words[sent];
            top.i_last = given.lasts[sent];
            if (top.i_ready) {
                given.accepted[sent++] = cycle;
                offer = cycle + 1 + (gaps && sent < given.word_count ? gaps[sent] : 0);
                active = cycle + 1;
            }
        } else {
            core.offer_nothing();
        }

        const bool valid = top.o_valid;
        bool ready = !stalls || (!valid && (core.noise() & 1));
        if (waits && changed < 0) {
            changed_pin = !valid ? 0 : top.o_data != held.data ? 1 : top.o_last != held.last ? 2 : 3;
            if (changed_pin < 3 || top.o_fault != held.fault) {
                changed = cycle;
                changed_result = taken;
            }
        }
        if (valid) {
            if (!waits) held = Result{cycle, -1, top.o_data, top.o_last, top.o_fault, {}};
            waits = true;
            if (stalls) ready = taken >= given.result_count || cycle >= held.valid + stalls[taken];
            if (ready) {
                waits = false;
                held.taken = cycle;
                if (taken < given.result_count) given.results[taken++] = held;
                else ++extra;
            }
            active = cycle + 1;
        }
        top.o_ready = ready;

        const bool quiet = cycle >= active + QUIET && cycle >= working + QUIET;
        if (quiet && sent == given.word_count && written == given.load_count) break;
        core.tick();
    }
    if (waits && taken < given.result_count) given.results[taken++] = held;
    core.rest();
    top.eval();
    core.flip_cycle = -1;
    run->cycles = active;
    run->total = cycle;
    run->sent = sent;
    run->taken = taken;
    run->extra = extra;
    run->traced = traced;
    run->worked = worked;
    run->fault = fault;
    run->written = written;
    run->busy_changes = busy.count;
#ifdef ROM
    run->load_ready_changes = -1;
#else
    run->load_ready_changes = load_ready.count;
#endif
    run->changed = changed;
    run->changed_result = changed_result;
    run->changed_pin = changed_pin;
}

// In the next run, cycle `cycle` begins with the bits `mask` of a byte of state flipped.
void skinny_flip(void* handle, uint8_t* byte, uint8_t mask, int64_t cycle) {
    Core& core = *static_cast<Core*>(handle);
    core.flip_byte = byte;
    core.flip_mask = mask;
    core.flip_cycle = cycle;
}
}
