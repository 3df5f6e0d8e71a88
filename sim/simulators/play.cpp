// All pins of a core, a row a cycle. This text follows harness.cpp in the same unit. Columns are those of INPUTS and OUTPUTS in
// play.py.
extern "C" {

// Plays `count` rows of input pins and records the output pins of each cycle as they are while its inputs are applied.
void skinny_play(void* handle, const uint64_t* rows, uint64_t* seen, int64_t count) {
    Core& core = *static_cast<Core*>(handle);
    Vtop& top = core.top;
    for (; count > 0; --count) {
        top.rst = *rows++;
        top.i_valid = *rows++;
        top.i_data = *rows++;
        top.i_last = *rows++;
        top.o_ready = *rows++;
        top.load_valid = *rows++;
        top.load_space = *rows++;
        top.load_address = *rows++;
        top.load_data = *rows++;
        top.eval();
        *seen++ = top.i_ready;
        *seen++ = top.o_valid;
        *seen++ = top.o_data;
        *seen++ = top.o_last;
        *seen++ = top.o_fault;
        *seen++ = top.load_ready;
        *seen++ = top.busy;
        *seen++ = top.fault;
        *seen++ = top.retire_valid;
        *seen++ = top.retire_thread;
        *seen++ = top.retire_pc;
        *seen++ = top.retire_op;
        *seen++ = top.retire_dst;
        *seen++ = top.retire_value;
        *seen++ = top.retire_fault;
        core.tick();
    }
}
}
