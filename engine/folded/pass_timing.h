// SPDX-License-Identifier: Apache-2.0
// How long one pass over a micro-batch takes on a rank, when the only thing that may disturb it is
// communication outside of it that holds SMs. Its ops follow the rules of engine/world/simulation.h
// on their streams. A *cut* is a place in program order where everything before has ended when
// anything after starts: what follows depends on nothing but the time of the cut and the SMs held
// from then on. So a pass under a constant number of held SMs is worked off once, and when that
// number changes, only what lies between two cuts is worked off again, and that only if the same
// has not happened before: in the middle of a step every micro-batch meets the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

inline constexpr std::size_t kPassStreams = 8;

struct PassOp {
    std::uint8_t stream = 0;
    bool is_kernel = true;
    std::uint32_t sm_sensitivity_permille = 1000;  // of a kernel
    std::uint32_t sms = 0;                         // that communication holds
    Time duration{};                               // alone on the device and on its links
    std::uint32_t launch = 0;                      // launches of the pass up to this op
    std::uint32_t first_wait = 0;                  // positions of earlier ops
    std::uint32_t num_waits = 0;
    bool operator==(const PassOp&) const = default;
};

// The SMs that others hold from then on.
struct HeldSms {
    Time since{};
    std::uint32_t sms = 0;
};

// What an op has to wait for besides.
struct PassGates {
    Time host{};  // op o starts no earlier than host + launch_cost * o.launch
    Time launch_cost{};
    std::span<const Time> op_earliest{};     // by op, or empty; Time::max(): not known yet
    std::span<const std::uint32_t> gated{};  // all ops whose `op_earliest` may lie ahead
};

class PassTiming {
public:
    // Offsets from the start of the pass while the same number of SMs is held.
    struct Steady {
        std::vector<Time> op_end;
        std::vector<Time> cut;
    };

    PassTiming() = default;
    PassTiming(std::vector<PassOp> ops, std::vector<std::uint32_t> waits, std::uint32_t num_sms);

    const std::vector<PassOp>& ops() const { return ops_; }
    std::uint32_t wait(std::uint32_t i) const { return waits_[i]; }
    // The last op on a stream, or size().
    std::uint32_t last_on(std::uint8_t stream) const { return last_on_[stream]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }
    // Positions, ascending: 0, …, size().
    const std::vector<std::uint32_t>& cuts() const { return cuts_; }
    // The first op starts before all others, the last one ends after them, both on stream 0: one
    // pass can follow another only when that has ended.
    bool is_closed() const { return closed_; }
    bool is_same(const PassTiming& other) const {
        return ops_ == other.ops_ && waits_ == other.waits_ && num_sms_ == other.num_sms_;
    }
    std::uint64_t hash() const;  // the same of what is_same()
    std::uint32_t launches() const { return ops_.empty() ? 0 : ops_.back().launch; }

    // Offsets from where some ops started: of each op's end, and of the last one. Time::max() of
    // what waits for something that is not known yet.
    struct Offsets {
        Time last{};
        std::span<const Time> ends{};
    };

    const Steady& steady(std::uint32_t held_sms) const;
    // Works ops [first, last) off, between two cuts, from `start` on. `held` ascends in time and
    // begins no later than `start`. What it returns holds until the next call.
    Offsets offsets(std::uint32_t first,
                    std::uint32_t last,
                    Time start,
                    std::span<const HeldSms> held,
                    const PassGates& gates) const;
    // The same as times: sets ends[op - first]; returns the last end.
    Time run(std::uint32_t first,
             std::uint32_t last,
             Time start,
             std::span<const HeldSms> held,
             const PassGates& gates,
             std::vector<Time>& ends) const;

private:
    // What offsets() gave for equal inputs: a hash table with open addresses, keys and times of all
    // entries in a row.
    class Known {
    public:
        struct Entry {
            std::uint64_t hash = 0;
            std::size_t key = 0;
            std::size_t ends = 0;
            std::uint32_t key_size = 0;
            std::uint32_t num_ends = 0;
            Time last{};
        };
        // Null if there is none.
        const Entry* find(std::span<const std::int64_t> key, std::uint64_t hash) const;
        void add(std::span<const std::int64_t> key, std::uint64_t hash, const Offsets& found);
        Offsets offsets(const Entry& e) const {
            return {.last = e.last, .ends = std::span{ends_}.subspan(e.ends, e.num_ends)};
        }

    private:
        std::vector<std::uint32_t> slots_;  // of an entry: its number + 1; a power of two
        std::vector<Entry> entries_;
        std::vector<std::int64_t> keys_;
        std::vector<Time> ends_;
    };

    void find_cuts();
    Offsets work_off(std::uint32_t first,
                     std::uint32_t last,
                     Time start,
                     std::span<const HeldSms> held,
                     const PassGates& gates) const;

    std::vector<PassOp> ops_;
    std::vector<std::uint32_t> waits_;
    std::vector<std::uint32_t> cuts_;
    std::vector<std::uint32_t> next_on_stream_;  // by op; size(): none
    std::array<std::uint32_t, kPassStreams> last_on_{};
    std::uint32_t num_streams_ = 0;
    std::uint32_t num_sms_ = 0;
    bool closed_ = false;
    bool long_ops_ = false;  // their work does not fit into 64 bits
    mutable std::vector<std::shared_ptr<const Steady>> steady_;  // by held SMs, once asked for
    mutable Known known_;
    mutable std::vector<std::int64_t> key_;
    mutable std::vector<Time> ends_;  // of what was worked off last
};

}  // namespace orrery
