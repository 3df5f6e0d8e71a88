// The verilated board behind plain C functions, with the host's end of the serial line: bits in time, not bytes.
// Either direction can be disturbed. Times are in cycles of the board's clock; the host's bit need not be a whole number
// of them.
#include <cstdint>
#include <deque>

namespace {

struct Noise {
    uint64_t state = 0;
    uint32_t chance = 0, longest = 1, left = 0;

    // Whether the line is inverted in this cycle: disturbances begin with a chance of `chance` in 2^32.
    bool operator()() {
        if (!chance) return false;
        if (left) return left--, true;
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const uint64_t drawn = state >> 32;
        if (drawn < chance) left = 1 + (state >> 20) % longest;
        return left != 0;
    }
};

struct Board {
    VerilatedContext context;
    Vtop top{&context, ""};
    int64_t cycle = 0;
    double bit;
    std::deque<uint8_t> queue;
    double sends_since = -1;
    double receives_since = -1;
    int sampled = 0;
    uint32_t shifted = 0;
    Noise to_board, to_host;
    uint8_t* flip_byte = nullptr;
    uint8_t flip_mask = 0;
    int64_t flip_wait = 0;
    bool flip_busy = false;

    explicit Board(double bit) : bit(bit) {
        top.clk = 0;
        top.rst = 0;
        top.rx = 1;
        top.eval();
    }

    bool line() {
        if (sends_since >= 0 && cycle >= sends_since + 10 * bit) {
            queue.pop_front();
            sends_since = queue.empty() ? -1 : sends_since + 10 * bit;
        } else if (sends_since < 0 && !queue.empty()) {
            sends_since = static_cast<double>(cycle);
        }
        if (sends_since < 0) return true;
        const int place = static_cast<int>((cycle - sends_since) / bit);
        return place == 0 ? false : place <= 8 ? queue.front() >> (place - 1) & 1 : true;
    }

    // A byte that ends in this cycle, or -1. One whose stop bit is low is dropped.
    int receive(bool level) {
        if (receives_since < 0) {
            if (!level) receives_since = static_cast<double>(cycle), sampled = 0;
            return -1;
        }
        if (cycle < receives_since + (sampled + 0.5) * bit) return -1;
        const bool start = sampled++ == 0;
        if (start && level) receives_since = -1;
        shifted = shifted >> 1 | static_cast<uint32_t>(level) << 9;
        if (sampled < 10) return -1;
        receives_since = -1;
        return level ? shifted >> 1 & 0xff : -1;
    }

    int step() {
        if (flip_byte && (top.busy || !flip_busy) && flip_wait-- == 0) {
            *flip_byte ^= flip_mask;
            flip_byte = nullptr;
        }
        top.rx = line() != to_board();
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        ++cycle;
        return receive(static_cast<bool>(top.tx) != to_host());
    }
};

}  // namespace

extern "C" {

void* board_open(double bit) { return new Board(bit); }

// Scopes of a design unregister from the context of the thread, which is that of the design that was made last.
void board_close(void* handle) {
    Board* const board = static_cast<Board*>(handle);
    Verilated::threadContextp(&board->context);
    delete board;
}

int64_t board_cycles(void* handle) { return static_cast<Board*>(handle)->cycle; }

void board_write(void* handle, const uint8_t* bytes, int64_t count) {
    Board& board = *static_cast<Board*>(handle);
    board.queue.insert(board.queue.end(), bytes, bytes + count);
}

// Runs until a byte has come, or for `limit` cycles. Returns the byte or -1.
int32_t board_run(void* handle, int64_t limit) {
    Board& board = *static_cast<Board*>(handle);
    for (; limit > 0; --limit) {
        const int byte = board.step();
        if (byte >= 0) return byte;
    }
    return -1;
}

void board_reset(void* handle, int64_t cycles) {
    Board& board = *static_cast<Board*>(handle);
    board.top.rst = 1;
    board_run(handle, cycles);
    board.top.rst = 0;
}

void board_disturb(void* handle, uint64_t seed, uint32_t chance, uint32_t longest) {
    Board& board = *static_cast<Board*>(handle);
    board.to_board = Noise{seed, chance, longest};
    board.to_host = Noise{seed + 1, chance, longest};
}

// After `wait` cycles, or with `busy` so many in which the core runs, a cycle begins with the bits `mask` of a byte of
// state flipped.
void board_flip(void* handle, uint8_t* byte, uint8_t mask, int64_t wait, int32_t busy) {
    Board& board = *static_cast<Board*>(handle);
    board.flip_byte = byte;
    board.flip_mask = mask;
    board.flip_wait = wait;
    board.flip_busy = busy;
}
}
