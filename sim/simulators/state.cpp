// The places of the state of a simulated design. This text follows a harness in the same unit; the handles of the harness
// point to a DEVICE, which has a `context` and a `top`.
#include "verilated_syms.h"

namespace {

// Rows are laid out like Place in state.py.
struct Element {
    uint8_t* at;
    int64_t bytes;
};

}  // namespace

extern "C" {

// Finds the place of an element of state. Returns its bytes, 0 when there is none of that name.
int64_t state_find(void* handle, const char* scope, const char* name, Element* element) {
    const VerilatedScope* const found = static_cast<DEVICE*>(handle)->context.scopeFind(scope);
    VerilatedVar* const variable = found ? found->varFind(name) : nullptr;
    if (!variable) return 0;
    element->at = static_cast<uint8_t*>(variable->datap());
    element->bytes = variable->entSize();
    for (const auto& range : variable->unpackedRanges()) element->bytes *= range.elements();
    return element->bytes;
}

// Settles all signals after some of the state was changed.
void state_settle(void* handle) { static_cast<DEVICE*>(handle)->top.eval(); }
}
