// Single-event upsets. This text follows harness.cpp and state.cpp in the same unit. One run without upsets is recorded
// with snapshots of all state; each upset starts from the snapshot before it and ends as soon as its outcome is known: the receiver met
// something, or the core is back in a state that it also has without the upset.
#include <vector>

namespace {

// Rows are laid out like FLIP in campaign.py.
struct Flip {
    int64_t cycle;
    uint32_t element, byte;
    uint8_t mask, outcome, recovered, unused[5];
    int64_t when;
};

enum Outcome : uint8_t { MASKED, DETECTED, TIMEOUT, WRONG };

struct Stimulus {
    const uint64_t* words;
    const uint8_t* lasts;
    const uint32_t* stalls;
    const uint64_t* data;
    const uint8_t *ends, *matters;
    int64_t word_count, result_count;
};

// The words that are written at the load port.
struct Loads {
    const uint8_t* space;
    const uint32_t* address;
    const uint64_t* data;
    int64_t count;
};

// Source and receiver. The receiver trusts a batch when its `last` word is taken: by then no word had `fault` set, the
// port `fault` is low, and `last` came with the right word.
struct Outside {
    int64_t sent = 0, taken = 0, since = -1;
    uint8_t wrong = 0, unused[7] = {};
};

// Simulates a cycle. Returns the outcome that ends the run, MASKED while it goes on.
Outcome step(Core& core, const Stimulus& s, Outside& outside, int64_t cycle) {
    Vtop& top = core.top;
    const bool wants = outside.sent < s.word_count;
    top.i_valid = wants;
    if (wants) {
        top.i_data = s.words[outside.sent];
        top.i_last = s.lasts[outside.sent];
        outside.sent += top.i_ready;
    }
    top.o_ready = 0;
    Outcome outcome = MASKED;
    if (top.fault) outcome = DETECTED;
    if (top.o_valid && outcome == MASKED) {
        if (outside.since < 0) outside.since = cycle;
        const int64_t at = outside.taken;
        if (top.o_fault) {
            outcome = DETECTED;
        } else if (at >= s.result_count) {
            outcome = TIMEOUT;
        } else if (cycle >= outside.since + s.stalls[at]) {
            top.o_ready = 1;
            outside.since = -1;
            ++outside.taken;
            outside.wrong |= s.matters[at] && top.o_data != s.data[at];
            if (top.o_last != s.ends[at]) {
                outcome = TIMEOUT;
            } else if (s.ends[at] && outside.wrong) {
                outcome = WRONG;
            }
        }
    }
    core.tick();
    return outcome;
}

}  // namespace

extern "C" {

// Runs all `flips` and leaves the core as it was. `quiet` cycles are enough for the run without upsets, `limit` is when
// the receiver gives up. After each flip the receiver resets, loads and sends everything again, and it is noted whether
// that gave the right results, unless `loads` is null. Returns the outcome of the run without upsets, which must be
// MASKED.
int64_t skinny_upsets(void* handle, const Element* elements, int64_t element_count, const Stimulus* stimulus,
                      int64_t stride, int64_t quiet, int64_t limit, const Loads* loads, Flip* flips, int64_t count) {
    Core& core = *static_cast<Core*>(handle);
    const Stimulus& s = *stimulus;
    int64_t size = 0;
    for (int64_t n = 0; n < element_count; ++n) size += elements[n].bytes;
    std::vector<uint8_t> saved;
    std::vector<Outside> outsides;

    const auto save = [&](const Outside& outside) {
        outsides.push_back(outside);
        size_t at = saved.size();
        saved.resize(at + size);
        for (int64_t n = 0; n < element_count; at += elements[n++].bytes)
            std::memcpy(&saved[at], elements[n].at, elements[n].bytes);
    };
    const auto restore = [&](int64_t number) {
        const uint8_t* from = &saved[number * size];
        for (int64_t n = 0; n < element_count; from += elements[n++].bytes)
            std::memcpy(elements[n].at, from, elements[n].bytes);
        core.top.eval();
        return outsides[number];
    };
    const auto same = [&](int64_t number, const Outside& outside) {
        if (std::memcmp(&outside, &outsides[number], sizeof outside)) return false;
        const uint8_t* with = &saved[number * size];
        for (int64_t n = 0; n < element_count; with += elements[n++].bytes)
            if (std::memcmp(elements[n].at, with, elements[n].bytes)) return false;
        return true;
    };

    const auto recovers = [&] {
        core.top.i_valid = core.top.o_ready = 0;
        skinny_reset(handle);
        // A core that nothing runs on takes a word every cycle.
        if (skinny_load(handle, loads->space, loads->address, loads->data, loads->count, loads->count) != loads->count)
            return false;
        Outside outside;
        for (int64_t cycle = 0; cycle < quiet; ++cycle)
            if (step(core, s, outside, cycle)) return false;
        return outside.taken == s.result_count;
    };

    Outside outside;
    for (int64_t cycle = 0; cycle < quiet; ++cycle) {
        if (cycle % stride == 0) save(outside);
        if (const Outcome outcome = step(core, s, outside, cycle)) return outcome;
    }
    if (outside.taken != s.result_count) return TIMEOUT;

    for (int64_t n = 0; n < count; ++n) {
        Flip& flip = flips[n];
        int64_t cycle = flip.cycle / stride * stride;
        outside = restore(cycle / stride);
        for (; cycle < flip.cycle; ++cycle) step(core, s, outside, cycle);
        elements[flip.element].at[flip.byte] ^= flip.mask;
        core.top.eval();
        Outcome outcome = MASKED;
        for (; outcome == MASKED && cycle < limit; ++cycle) {
            if (cycle % stride == 0 && cycle < quiet && same(cycle / stride, outside)) break;
            if (cycle >= quiet && outside.taken == s.result_count) break;
            outcome = step(core, s, outside, cycle);
        }
        flip.outcome = cycle == limit ? TIMEOUT : outcome;
        flip.when = cycle;
        if (loads) flip.recovered = recovers();
    }
    restore(0);
    return MASKED;
}
}
