// The verilated core behind plain C functions. One call moves a whole batch list through the core: the caller hands over
// arrays and gets arrays, so that no Python runs between cycles. Compiled with BITS and LANES, and ROM or PUBLIC where
// they apply. Rows are laid out like RETIRE and RESULT in check.py.
#include <cstdint>
#include <cstring>
#include <memory>

namespace {

struct Retire {
    int64_t cycle;
    uint64_t value;
    uint32_t pc;
    uint8_t thread, op, dst, fault, lane, unused[7];
};

struct Result {
    int64_t valid, taken;
    uint64_t data;
    uint8_t last, fault, unused[6];
};

struct Stats {
    int64_t cycles, total, accepted, results, extra, trace, busy, fault;
};

// What one lane retires in this cycle; LANES is this for all of them.
#define LANE(number, port)                                                                                       \
    if (top.port##_valid)                                                                                        \
        retire(number, top.port##_value, top.port##_pc, top.port##_thread, top.port##_op, top.port##_dst,        \
               top.port##_fault);

constexpr uint64_t MASK = BITS == 64 ? ~0ull : (1ull << BITS % 64) - 1;
// The core has been idle long enough that nothing can follow: a batch starts two cycles after its last input word.
constexpr int64_t QUIET = 4;

struct Core {
    VerilatedContext context;
    Vtop top{&context, ""};
    int64_t flip_cycle = -1;
    uint8_t* flip_byte = nullptr;
    uint8_t flip_mask = 0;

    Core() {
        top.clk = 0;
        top.rst = 0;
        top.i_valid = 0;
        top.o_ready = 0;
#ifndef ROM
        top.load_valid = 0;
#endif
        top.eval();
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

void skinny_reset(void* handle) {
    Core& core = *static_cast<Core*>(handle);
    core.top.rst = 1;
    core.tick();
    core.top.rst = 0;
    core.top.eval();
}

// Writes `count` items at the load port; returns how many were taken within `limit` cycles.
int64_t skinny_load(void* handle, const uint8_t* space, const uint32_t* address, const uint64_t* data, int64_t count,
                    int64_t limit) {
    int64_t done = 0;
#ifndef ROM
    Core& core = *static_cast<Core*>(handle);
    core.top.load_valid = 1;
    for (; done < count && limit > 0; --limit) {
        core.top.load_space = space[done];
        core.top.load_address = address[done];
        core.top.load_data = data[done];
        done += core.top.load_ready;
        core.tick();
    }
    core.top.load_valid = 0;
    core.top.eval();
#endif
    return done;
}

// Offers `words` and takes results until the core is idle again, or for `limit` cycles. `gaps`, `stalls`, `accepted`
// and `trace` may be null.
void skinny_run(void* handle, const uint64_t* words, const uint8_t* lasts, int64_t word_count, const uint32_t* gaps,
                const uint32_t* stalls, int64_t result_count, int64_t limit, int32_t noise, Result* results,
                int64_t* accepted, Retire* trace, int64_t trace_room, Stats* stats) {
    Core& core = *static_cast<Core*>(handle);
    Vtop& top = core.top;
    int64_t sent = 0, taken = 0, extra = 0, traced = 0, busy = 0, fault = -1;
    int64_t offer = gaps && word_count ? gaps[0] : 0;
    int64_t since = -1, active = 0, working = 0, cycle = 0;
    const auto retire = [&](uint8_t lane, uint64_t value, uint32_t pc, uint8_t thread, uint8_t op, uint8_t dst, uint8_t fault) {
        busy += op >= 1 && op <= 5;
        if (trace && traced < trace_room) trace[traced] = Retire{cycle, value, pc, thread, op, dst, fault, lane, {}};
        ++traced;
        active = cycle + 1;
    };
    for (; cycle < limit; ++cycle) {
#ifdef PUBLIC
        if (cycle == core.flip_cycle) *core.flip_byte ^= core.flip_mask;
#endif
        const bool wants = sent < word_count && cycle >= offer;
        if (wants) {
            top.i_data = words[sent];
            top.i_last = lasts[sent];
        } else if (noise) {
            top.i_data = MASK;
            top.i_last = 1;
        }
        top.i_valid = wants;
        if (wants && top.i_ready) {
            if (accepted) accepted[sent] = cycle;
            ++sent;
            offer = cycle + 1 + (gaps && sent < word_count ? gaps[sent] : 0);
            active = cycle + 1;
        }

        const bool valid = top.o_valid;
        bool ready = stalls == nullptr;
        if (valid) {
            if (since < 0) since = cycle;
            if (stalls) ready = taken >= result_count || cycle >= since + stalls[taken];
            if (ready) {
                if (taken < result_count) {
                    Result& row = results[taken++];
                    row.valid = since;
                    row.taken = cycle;
                    row.data = top.o_data;
                    row.last = top.o_last;
                    row.fault = top.o_fault;
                } else {
                    ++extra;
                }
                since = -1;
            }
            active = cycle + 1;
        } else if (noise) {
            ready = cycle & 1;
        }
        top.o_ready = ready;

        LANES
        if (fault < 0 && top.fault) fault = cycle;
        if (top.busy) working = cycle + 1;
        if (cycle >= active + QUIET && cycle >= working + QUIET && sent == word_count) break;
        core.tick();
    }
    top.i_valid = 0;
    top.o_ready = 0;
    top.eval();
    core.flip_cycle = -1;
    *stats = Stats{active, cycle, sent, taken, extra, traced, busy, fault};
}

#ifdef PUBLIC
// In the next run, cycle `cycle` begins with bit `bit` of a register flipped. Returns the bits it is stored in, 0 when
// there is none of that name.
int32_t skinny_flip(void* handle, const char* scope, const char* name, int32_t bit, int64_t cycle) {
    Core& core = *static_cast<Core*>(handle);
    const VerilatedScope* const found = core.context.scopeFind(scope);
    VerilatedVar* const variable = found ? found->varFind(name) : nullptr;
    if (!variable) return 0;
    core.flip_byte = static_cast<uint8_t*>(variable->datap()) + bit / 8;
    core.flip_mask = static_cast<uint8_t>(1 << bit % 8);
    core.flip_cycle = cycle;
    return static_cast<int32_t>(8 * variable->entSize());
}
#endif
}
