// SPDX-License-Identifier: Apache-2.0
// The time of one pass over a micro-batch on a rank, if only communication outside of the pass can
// slow it down, by holding SMs. Its ops follow the rules of engine/world/simulation.h on their
// streams. A *cut* is a place in program order at which everything before has ended when anything
// after starts. The rest of the pass then depends only on the time of the cut and the SMs held from
// then on. A pass with a constant number of held SMs is computed once. When the number changes,
// only the part between two cuts is computed again, unless the same case is already known: in the
// middle of a step every micro-batch meets the same changes.
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
    std::uint32_t sm_sensitivity_permille = 1000;  // of kernels
    std::uint32_t sms = 0;                         // held by communication
    Time duration{};                               // alone on the device and on its links
    std::uint32_t launch = 0;      // launches of the pass up to and including this op
    std::uint32_t first_wait = 0;  // index of positions of earlier ops
    std::uint32_t num_waits = 0;
    bool operator==(const PassOp&) const = default;
};

// The SMs that ops outside the pass hold from `since` on.
struct HeldSms {
    Time since{};
    std::uint32_t sms = 0;
};

// Further conditions on the start of ops.
struct PassGates {
    Time host{};  // op o starts no earlier than host + launch_cost * o.launch
    Time launch_cost{};
    std::span<const Time> op_earliest{};     // by op, or empty; Time::max(): not known yet
    std::span<const std::uint32_t> gated{};  // all ops whose `op_earliest` may be in the future
};

class PassTiming {
public:
    // Offsets from the start of the pass for a constant number of held SMs.
    struct Steady {
        std::vector<Time> op_end;
        std::vector<Time> cut;
    };

    PassTiming() = default;
    PassTiming(std::vector<PassOp> ops, std::vector<std::uint32_t> waits, std::uint32_t num_sms);

    const std::vector<PassOp>& ops() const { return ops_; }
    std::uint32_t wait(std::uint32_t i) const { return waits_[i]; }
    // The index of the last op on a stream, or size().
    std::uint32_t last_on(std::uint8_t stream) const { return last_on_[stream]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }
    // Positions of the cuts, ascending from 0 to size().
    const std::vector<std::uint32_t>& cuts() const { return cuts_; }
    // True if the first op starts before all others, the last one ends after all others, and both
    // are on stream 0. The next pass can then start only when the last op has ended.
    bool is_closed() const { return closed_; }
    bool is_same(const PassTiming& other) const {
        return ops_ == other.ops_ && waits_ == other.waits_ && num_sms_ == other.num_sms_;
    }
    std::uint64_t hash() const;  // equal if is_same()
    std::uint32_t launches() const { return ops_.empty() ? 0 : ops_.back().launch; }

    // Ends relative to the start: of each op, and of the last. Time::max() if an op waits for a
    // time that is not known yet.
    struct Offsets {
        Time last{};
        std::span<const Time> ends{};
    };

    const Steady& steady(std::uint32_t held_sms) const;
    // Computes ops [first, last), between two cuts, from `start` on. `held` ascends in time and
    // begins no later than `start`. The result is valid until the next call.
    Offsets offsets(std::uint32_t first,
                    std::uint32_t last,
                    Time start,
                    std::span<const HeldSms> held,
                    const PassGates& gates) const;
    // The same as absolute times: sets ends[op - first] and returns the last end.
    Time run(std::uint32_t first,
             std::uint32_t last,
             Time start,
             std::span<const HeldSms> held,
             const PassGates& gates,
             std::vector<Time>& ends) const;

private:
    // Results of offsets() by input: a hash table with open addressing, and contiguous keys and
    // times of all entries.
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
        // Null if the key is unknown.
        const Entry* find(std::span<const std::int64_t> key, std::uint64_t hash) const;
        void add(std::span<const std::int64_t> key, std::uint64_t hash, const Offsets& found);
        Offsets offsets(const Entry& e) const {
            return {.last = e.last, .ends = std::span{ends_}.subspan(e.ends, e.num_ends)};
        }

    private:
        std::vector<std::uint32_t> slots_;  // index of an entry + 1; the size is a power of two
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
    // By held SMs, computed on first use
    mutable std::vector<std::shared_ptr<const Steady>> steady_;
    mutable Known known_;
    mutable std::vector<std::int64_t> key_;
    mutable std::vector<Time> ends_;  // of the last computation
};

}  // namespace orrery
