// SPDX-License-Identifier: Apache-2.0
// The state of ops, transfers, flows and ranks in the reference executor, and its clock's alarms.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery::reference {

using Work = __int128;

inline constexpr Work kPicosecondsPerSecond = 1'000'000'000'000;

enum class OpState { waiting, running, ended };

struct OpProgress {
    OpState state = OpState::waiting;
    std::size_t open_waits = 0;      // ops that must end first, and the rank's last step
    std::size_t open_transfers = 0;  // that have not ended
    Work work_left = 0;              // of a kernel
    Time start;
    Time data_start;
    Time end;
};

struct TransferProgress {
    std::size_t missing_sides = 0;
    std::size_t phase = 0;
    std::size_t open_flows = 0;  // of the phase
};

struct Flow {
    std::size_t transfer = 0;
    const TransferPart* part = nullptr;
    Work left = 0;  // bit * ps
    std::int64_t rate = 0;
};

struct RankProgress {
    std::uint32_t party = 0;
    std::uint32_t steps = 0;
    std::uint32_t newest = 0;  // the last step that the host has begun
    std::uint32_t held_sms = 0;
    std::vector<Time> host_start;               // by step
    std::vector<Time> last_launch;              // by step: after host_start
    std::vector<std::size_t> open_reads;        // by step: ops that the host waits for
    std::vector<std::vector<std::size_t>> ops;  // by step
    // Ops that wait for SMs, with the kernels that they wait for
    std::vector<std::pair<std::size_t, std::vector<std::size_t>>> queue;
};

// Takes the ops out of the queue that waited for kernel `k` last.
inline std::vector<std::size_t> leave_queue(RankProgress& rank, std::size_t k) {
    std::vector<std::size_t> leaving;
    for (auto& [i, awaited] : rank.queue) {
        std::erase(awaited, k);
        if (awaited.empty()) {
            leaving.push_back(i);
        }
    }
    std::erase_if(rank.queue, [](const auto& waiting) { return waiting.second.empty(); });
    return leaving;
}

using Alarms = std::set<std::pair<Time, std::size_t>>;

// The first of `alarms`, if it is due, and takes it out.
inline bool take_due(Alarms& alarms, Time now, std::size_t& what) {
    if (alarms.empty() || alarms.begin()->first > now) {
        return false;
    }
    what = alarms.begin()->second;
    alarms.erase(alarms.begin());
    return true;
}

// When `left` is done at `rate`: the first whole picosecond, or never.
inline Time time_done(Time now, Work left, std::int64_t rate) {
    if (left <= 0) {
        return now;
    }
    if (rate == 0) {
        return Time::max();
    }
    const Work ps = now.picoseconds() + (left + rate - 1) / rate;
    return ps >= Time::max().picoseconds() ? Time::max()
                                           : Time::picoseconds(static_cast<std::int64_t>(ps));
}

}  // namespace orrery::reference
