// The loop over cycles around a circuit that Yosys wrote as C++. ports.h, which is generated, says what its ports are.
//
// A cycle: the next element is offered (and stays until it is taken), the reader is ready or not, everything settles,
// what is taken and given is noted, the clock rises.

#include <cstdint>
#include <cstring>

#include "circuit.cc"

using cxxrtl_design::p_top;
#include "ports.h"

namespace {

template <size_t Bits>
void put(cxxrtl_yosys::value<Bits> &port, const uint64_t *limbs) {
    std::memcpy(port.data, limbs, sizeof(port.data));
    port.data[port.chunks - 1] &= port.msb_mask;
}

template <size_t Bits>
void get(const cxxrtl_yosys::value<Bits> &port, uint64_t *limbs) {
    std::memcpy(limbs, port.data, sizeof(port.data));
}

template <size_t Bits>
void get(const cxxrtl_yosys::wire<Bits> &port, uint64_t *limbs) {
    get(port.curr, limbs);
}

template <class Port>
bool is_set(const Port &port) {
    uint64_t limb = 0;
    get(port, &limb);
    return limb & 1;
}

template <size_t Bits>
void set_bit(cxxrtl_yosys::value<Bits> &port, bool bit) {
    port.data[0] = bit;
}

// Without feedback a circuit settles in one evaluation, in which its registers get their next values too: they are
// taken over by commit. Otherwise it settles first, and then sees the clock rise.
inline void settle(p_top &top) {
#if ONE_EVALUATION
    top.p_clk.data[0] = 1;
    top.prev_p_clk.data[0] = 0;
    top.eval();
#else
    top.p_clk.data[0] = 0;
    top.step();
#endif
}

inline void rise(p_top &top) {
#if ONE_EVALUATION
    top.commit();
#else
    top.p_clk.data[0] = 1;
    top.step();
#endif
}

}  // namespace

extern "C" {

struct State {
    uint64_t cycle, taken, given, stalled, quiet, holds, done, waits;
};

struct Pattern {
    const uint8_t *bits;
    uint64_t length;
};

void *make_circuit() { return new p_top(); }

void drop_circuit(void *circuit) { delete static_cast<p_top *>(circuit); }

// Writes to registers, before the first element; returns how many of them were taken.
uint64_t configure(void *circuit, const uint64_t *writes, uint64_t rows, uint64_t patience) {
    uint64_t taken = 0;
#if CONFIGURE_LIMBS
    p_top &top = *static_cast<p_top *>(circuit);
    for (uint64_t quiet = 0; taken < rows && quiet < patience; quiet++) {
        put(top.p_configure__payload, writes + taken * CONFIGURE_LIMBS);
        set_bit(top.p_configure__valid, true);
        settle(top);
        if (is_set(top.p_configure__ready)) taken++, quiet = 0;
        rise(top);
    }
    set_bit(top.p_configure__valid, false);
#endif
    (void)circuit, (void)writes, (void)rows, (void)patience;
    return taken;
}

void get_outputs(void *circuit, uint64_t *limbs) {
    p_top &top = *static_cast<p_top *>(circuit);
    settle(top);
    GET_OUTPUTS
    (void)top, (void)limbs;
}

// Until `last_cycle`, the end of the stream, `patience` cycles in which nothing moved, or no room for results.
void advance(void *circuit, State *state, uint64_t last_cycle, uint64_t patience, const uint64_t *elements,
             uint64_t rows, const Pattern *offers, const Pattern *ready, uint64_t *taken_at, uint64_t *results,
             uint64_t *given_at, uint64_t room) {
    p_top &top = *static_cast<p_top *>(circuit);
    uint64_t offer_at = state->cycle % offers->length, ready_at = state->cycle % ready->length, filled = 0;
    while (state->cycle < last_cycle && !state->done && state->quiet < patience && filled < room) {
        bool offered = state->taken < rows && (state->holds || offers->bits[offer_at]);
        if (offered && !state->holds) put(top.p_input__payload, elements + state->taken * INPUT_LIMBS);
        set_bit(top.p_input__valid, offered);
        set_bit(top.p_output__ready, ready->bits[ready_at]);
        settle(top);
        bool takes = offered && is_set(top.p_input__ready);
        bool waits = is_set(top.p_output__valid);
        bool gives = waits && ready->bits[ready_at];
        if (gives) {
            get(top.p_output__payload, results + filled * OUTPUT_LIMBS);
            given_at[filled] = state->cycle;
            if (DONE_BIT >= 0) state->done = results[filled * OUTPUT_LIMBS] >> (DONE_BIT & 63) & 1;
            filled++;
        }
        if (takes) taken_at[state->taken++] = state->cycle;
        state->given += gives;
        state->stalled += offered && !takes;
        state->holds = offered && !takes;
        state->waits = waits;
        state->quiet = takes || gives ? 0 : state->quiet + 1;
        rise(top);
        state->cycle++;
        if (++offer_at == offers->length) offer_at = 0;
        if (++ready_at == ready->length) ready_at = 0;
    }
}
}
