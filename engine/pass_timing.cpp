// SPDX-License-Identifier: Apache-2.0
#include "engine/pass_timing.h"

#include <algorithm>
#include <array>

#include "engine/kernel_cost.h"

namespace orrery {
namespace {

constexpr std::size_t kStreams = 8;
constexpr std::size_t kKnownMost = 4096;
using Clock = std::array<std::uint32_t, kStreams>;  // by stream: ops that have to have ended

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 29;
}

// What is under way on one stream.
template <class Work>
struct Lane {
    std::uint32_t op = 0;
    bool busy = false;
    bool is_kernel = false;
    Time end{};  // of what no SMs can slow down
    Time since{};
    Work work_left = 0;
};

template <class Work>
class Walk {
public:
    Walk(const std::vector<PassOp>& ops,
         const std::vector<std::uint32_t>& waits,
         std::uint32_t first,
         std::uint32_t last,
         std::uint32_t num_sms,
         const PassGates& gates,
         std::vector<Time>& ends)
        : ops_(ops),
          waits_(waits),
          first_(first),
          last_(last),
          num_sms_(num_sms),
          gates_(gates),
          ends_(ends) {
        ends_.assign(last - first, Time::max());
        for (std::size_t s = 0; s < kStreams; ++s) {
            lanes_[s].op = next_on(static_cast<std::uint8_t>(s), first);
        }
    }

    Time work(Time start, std::span<const HeldSms> held) {
        Time now = start;
        std::size_t h = 0;
        std::uint32_t left = last_ - first_;
        while (true) {
            while (h < held.size() && held[h].since <= now) {
                outside_ = held[h++].sms;
            }
            start_all(now);
            left -= ended_;
            ended_ = 0;
            if (left == 0) {
                return now;
            }
            Time next = h < held.size() ? held[h].since : Time::max();
            for (const Lane<Work>& lane : lanes_) {
                if (lane.busy) {
                    next = std::min(next, end_of(lane));
                }
            }
            next = std::min(next, wake_);
            if (next == Time::max()) {
                return next;
            }
            advance(next);
            now = next;
        }
    }

private:
    std::uint32_t next_on(std::uint8_t stream, std::uint32_t from) const {
        while (from < last_ && ops_[from].stream != stream) {
            ++from;
        }
        return from;
    }

    std::int64_t rate_of(const Lane<Work>& lane) const {
        return kernel_rate(outside_ + inside_, num_sms_, ops_[lane.op].sm_sensitivity_permille);
    }

    Time end_of(const Lane<Work>& lane) const {
        if (!lane.is_kernel) {
            return lane.end;
        }
        const std::int64_t rate = rate_of(lane);
        return lane.since +
               Time::picoseconds(static_cast<std::int64_t>((lane.work_left + rate - 1) / rate));
    }

    bool may_start(const PassOp& op, Time now) const {
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            const std::uint32_t target = waits_[op.first_wait + w];
            if (target >= first_ && ends_[target - first_] > now) {
                return false;
            }
        }
        return true;
    }

    // Starts what can start at `now`; ops that take no time end, and let others start.
    void start_all(Time now) {
        wake_ = Time::max();
        for (bool again = true; again;) {
            again = false;
            for (Lane<Work>& lane : lanes_) {
                if (lane.busy || lane.op >= last_ || !may_start(ops_[lane.op], now)) {
                    continue;
                }
                const PassOp& op = ops_[lane.op];
                Time gate = gates_.host + gates_.launch_cost * op.launch;
                if (!gates_.op_earliest.empty()) {
                    gate = std::max(gate, gates_.op_earliest[lane.op]);
                }
                if (gate > now) {
                    wake_ = std::min(wake_, gate);
                    continue;
                }
                lane.busy = true;
                lane.is_kernel = op.is_kernel;
                lane.end = now + op.duration;
                lane.since = now;
                lane.work_left = static_cast<Work>(op.duration.picoseconds()) * kFullKernelRate;
                inside_ += op.is_kernel ? 0 : op.sms;
                if (op.duration == Time{}) {
                    finish(lane, now);
                    again = true;
                }
            }
        }
    }

    void finish(Lane<Work>& lane, Time now) {
        const PassOp& op = ops_[lane.op];
        ends_[lane.op - first_] = now;
        inside_ -= op.is_kernel ? 0 : op.sms;
        lane.busy = false;
        lane.op = next_on(op.stream, lane.op + 1);
        ++ended_;
    }

    void advance(Time to) {
        std::array<bool, kStreams> ends{};
        for (std::size_t s = 0; s < kStreams; ++s) {
            Lane<Work>& lane = lanes_[s];
            if (!lane.busy) {
                continue;
            }
            ends[s] = end_of(lane) <= to;
            if (!ends[s] && lane.is_kernel) {
                lane.work_left -=
                    static_cast<Work>((to - lane.since).picoseconds()) * rate_of(lane);
                lane.since = to;
            }
        }
        for (std::size_t s = 0; s < kStreams; ++s) {
            if (ends[s]) {
                finish(lanes_[s], to);
            }
        }
    }

    const std::vector<PassOp>& ops_;
    const std::vector<std::uint32_t>& waits_;
    std::uint32_t first_;
    std::uint32_t last_;
    std::uint32_t num_sms_;
    const PassGates& gates_;
    std::vector<Time>& ends_;
    std::array<Lane<Work>, kStreams> lanes_{};
    std::uint32_t outside_ = 0;  // SMs held
    std::uint32_t inside_ = 0;
    std::uint32_t ended_ = 0;
    Time wake_ = Time::max();
};

}  // namespace

PassTiming::PassTiming(std::vector<PassOp> ops,
                       std::vector<std::uint32_t> waits,
                       std::uint32_t num_sms)
    : ops_(std::move(ops)), waits_(std::move(waits)), num_sms_(num_sms) {
    long_ops_ = std::ranges::any_of(ops_, [](const PassOp& op) {
        return op.duration.picoseconds() > INT64_MAX / kFullKernelRate / 4;
    });
    find_cuts();
}

// Op o closes what is before it if all earlier ops have to have ended when it ends, and if all
// later ones have to wait for it: then there is a cut before it and one behind it.
void PassTiming::find_cuts() {
    const std::size_t n = ops_.size();
    std::vector<Clock> before(n);  // ops of each stream that end no later, itself included
    std::vector<std::uint32_t> ordinal(n);
    Clock count{};
    Clock last_on{};  // position + 1
    std::vector<bool> after_all(n);
    for (std::size_t o = 0; o < n; ++o) {
        const std::size_t s = ops_[o].stream;
        Clock clock{};
        const auto take = [&](const Clock& other) {
            for (std::size_t i = 0; i < kStreams; ++i) {
                clock[i] = std::max(clock[i], other[i]);
            }
        };
        if (last_on[s] > 0) {
            take(before[last_on[s] - 1]);
        }
        for (std::uint32_t w = 0; w < ops_[o].num_waits; ++w) {
            take(before[waits_[ops_[o].first_wait + w]]);
        }
        ordinal[o] = ++count[s];
        last_on[s] = static_cast<std::uint32_t>(o) + 1;
        clock[s] = ordinal[o];
        before[o] = clock;
        after_all[o] = clock == count;
    }
    // From the back: how much of each stream all later ops have waited for.
    Clock known;
    known.fill(UINT32_MAX);
    cuts_ = {static_cast<std::uint32_t>(n)};
    for (std::size_t o = n; o-- > 0;) {
        if (after_all[o] && (o + 1 == n || known[ops_[o].stream] >= ordinal[o])) {
            for (const std::size_t cut : {o + 1, o}) {
                if (cut < cuts_.back()) {
                    cuts_.push_back(static_cast<std::uint32_t>(cut));
                }
            }
        }
        for (std::size_t i = 0; i < kStreams; ++i) {
            known[i] = std::min(known[i], before[o][i]);
        }
    }
    if (n > 0) {
        if (cuts_.back() > 0) {
            cuts_.push_back(0);
        }
        closed_ = ops_.front().stream == 0 && ops_.back().stream == 0 && after_all[n - 1] &&
                  known[0] >= 1;
    }
    std::reverse(cuts_.begin(), cuts_.end());
}

std::uint32_t PassTiming::last_on(std::uint8_t stream) const {
    for (std::uint32_t o = size(); o-- > 0;) {
        if (ops_[o].stream == stream) {
            return o;
        }
    }
    return size();
}

const PassTiming::Steady& PassTiming::steady(std::uint32_t held_sms) const {
    const auto [found, fresh] = steady_.try_emplace(held_sms);
    if (fresh) {
        Steady& times = found->second;
        const HeldSms held{.since = Time{}, .sms = held_sms};
        const PassGates free{.host = Time::picoseconds(INT64_MIN / 2)};
        run(0, size(), Time{}, {&held, 1}, free, times.op_end);
        Time last;
        std::uint32_t op = 0;
        for (const std::uint32_t cut : cuts_) {
            for (; op < cut; ++op) {
                last = std::max(last, times.op_end[op]);
            }
            times.cut.push_back(last);
        }
    }
    return found->second;
}

std::uint64_t PassTiming::hash() const {
    std::uint64_t h = ops_.size();
    for (const PassOp& op : ops_) {
        h = mixed(mixed(h, op.stream), static_cast<std::uint64_t>(op.duration.picoseconds()));
    }
    return h;
}

std::size_t PassTiming::KeyHash::operator()(std::span<const std::int64_t> key) const {
    std::uint64_t h = key.size();
    for (const std::int64_t word : key) {
        h = mixed(h, static_cast<std::uint64_t>(word));
    }
    return static_cast<std::size_t>(h);
}

Time PassTiming::run(std::uint32_t first,
                     std::uint32_t last,
                     Time start,
                     std::span<const HeldSms> held,
                     const PassGates& gates,
                     std::vector<Time>& ends) const {
    if (gates.launch_cost > Time{}) {
        return work_off(first, last, start, held, gates, ends);
    }
    const auto since = [&](Time time) { return (time - start).picoseconds(); };
    key_.assign({first, last});
    while (held.size() > 1 && held[1].since <= start) {
        held = held.subspan(1);
    }
    key_.push_back(held.front().sms);
    for (const HeldSms& change : held.subspan(1)) {
        key_.push_back(since(change.since));
        key_.push_back(change.sms);
    }
    for (std::uint32_t op = first; op < last && !gates.op_earliest.empty(); ++op) {
        if (gates.op_earliest[op] > start) {
            key_.push_back(-1 - std::int64_t{op});
            key_.push_back(gates.op_earliest[op] == Time::max() ? -1
                                                                : since(gates.op_earliest[op]));
        }
    }
    const auto at = [&](Time offset) { return offset == Time::max() ? offset : start + offset; };
    auto found = known_.find(std::span<const std::int64_t>{key_});
    if (found == known_.end()) {
        if (known_.size() >= kKnownMost) {
            known_.clear();
        }
        Known known{.last = work_off(first, last, start, held, gates, ends), .ends = ends};
        const auto offset = [&](Time& time) {
            time = time == Time::max() ? time : Time::picoseconds(since(time));
        };
        offset(known.last);
        std::ranges::for_each(known.ends, offset);
        found = known_.emplace(key_, std::move(known)).first;
        return at(found->second.last);
    }
    ends.resize(last - first);
    std::ranges::transform(found->second.ends, ends.begin(), at);
    return at(found->second.last);
}

Time PassTiming::work_off(std::uint32_t first,
                          std::uint32_t last,
                          Time start,
                          std::span<const HeldSms> held,
                          const PassGates& gates,
                          std::vector<Time>& ends) const {
    if (long_ops_) {
        return Walk<__int128>{ops_, waits_, first, last, num_sms_, gates, ends}.work(start, held);
    }
    return Walk<std::int64_t>{ops_, waits_, first, last, num_sms_, gates, ends}.work(start, held);
}

}  // namespace orrery
