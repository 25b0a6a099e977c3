// SPDX-License-Identifier: Apache-2.0
#include "engine/folded/pass_timing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/program/kernel_cost.h"

namespace orrery {
namespace {

constexpr std::size_t kStreams = kPassStreams;
constexpr std::size_t kKnownMost = 4096;
using Clock = std::array<std::uint32_t, kStreams>;  // by stream: number of ops that must have ended

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 29;
}

// The current op of one stream.
template <class Work>
struct Lane {
    std::uint32_t op = 0;
    bool busy = false;
    bool is_kernel = false;
    Time end{};  // if the held SMs stay the same until then
    // The state of a kernel: its work left at `since`, and its rate. A kernel that has just begun
    // has no rate yet.
    Time since{};
    Work work_left = 0;
    std::int64_t rate = 0;
};

template <class Work>
class Walk {
public:
    Walk(const std::vector<PassOp>& ops,
         const std::vector<std::uint32_t>& waits,
         const std::vector<std::uint32_t>& next_on_stream,
         std::uint32_t num_streams,
         std::uint32_t first,
         std::uint32_t last,
         std::uint32_t num_sms,
         const PassGates& gates,
         std::vector<Time>& ends)
        : ops_(ops),
          waits_(waits),
          next_on_stream_(next_on_stream),
          first_(first),
          last_(last),
          num_sms_(num_sms),
          gates_(gates),
          ends_(ends) {
        ends_.assign(last - first, Time::max());
        lanes_ = std::span{all_lanes_}.first(num_streams);
        for (Lane<Work>& lane : lanes_) {
            lane.op = last;
        }
        std::uint32_t unseen = num_streams;
        for (std::uint32_t op = first; op < last && unseen > 0; ++op) {
            Lane<Work>& lane = lanes_[ops[op].stream];
            unseen -= lane.op == last ? 1 : 0;
            lane.op = std::min(lane.op, op);
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
            const Time end = next_end(now);
            left -= ended_;
            ended_ = 0;
            if (left == 0) {
                return now;
            }
            now = std::min({end, wake_, h < held.size() ? held[h].since : Time::max()});
            if (now == Time::max()) {
                return now;
            }
            finish_all(now);
        }
    }

private:
    // The next end. A kernel's end is recomputed only if the held SMs have changed: at a constant
    // rate it stays the same.
    Time next_end(Time now) {
        const std::uint32_t held = outside_ + inside_;
        Time next = Time::max();
        for (Lane<Work>& lane : lanes_) {
            if (!lane.busy) {
                continue;
            }
            if (lane.is_kernel && (lane.rate == 0 || held != paced_for_)) {
                pace(lane, now, held);
            }
            next = std::min(next, lane.end);
        }
        paced_for_ = held;
        return next;
    }

    void pace(Lane<Work>& lane, Time now, std::uint32_t held) const {
        const PassOp& op = ops_[lane.op];
        lane.work_left -= static_cast<Work>((now - lane.since).picoseconds()) * lane.rate;
        lane.rate = kernel_rate(held, num_sms_, op.sm_sensitivity_permille);
        lane.since = now;
        const Work taken = (lane.work_left + lane.rate - 1) / lane.rate;
        lane.end = now + Time::picoseconds(static_cast<std::int64_t>(taken));
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

    // Starts the ready ops at `now`. Ops without duration end at once and may make others ready.
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
                lane.rate = 0;
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
        lane.op = next_on_stream_[lane.op];
        ++ended_;
    }

    void finish_all(Time now) {
        for (Lane<Work>& lane : lanes_) {
            if (lane.busy && lane.end <= now) {
                finish(lane, now);
            }
        }
    }

    const std::vector<PassOp>& ops_;
    const std::vector<std::uint32_t>& waits_;
    const std::vector<std::uint32_t>& next_on_stream_;
    std::uint32_t first_;
    std::uint32_t last_;
    std::uint32_t num_sms_;
    const PassGates& gates_;
    std::vector<Time>& ends_;
    std::array<Lane<Work>, kStreams> all_lanes_{};
    std::span<Lane<Work>> lanes_;
    std::uint32_t outside_ = 0;  // held SMs
    std::uint32_t inside_ = 0;
    std::uint32_t paced_for_ = 0;
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
    next_on_stream_.assign(ops_.size(), size());
    last_on_.fill(size());
    std::array<std::uint32_t, kStreams> next;
    next.fill(size());
    for (std::uint32_t o = size(); o-- > 0;) {
        next_on_stream_[o] = std::exchange(next[ops_[o].stream], o);
        num_streams_ = std::max(num_streams_, ops_[o].stream + 1U);
        std::uint32_t& last = last_on_[ops_[o].stream];
        last = last == size() ? o : last;
    }
    find_cuts();
}

// Op o is a bottleneck if all earlier ops must have ended when it ends, and all later ones must
// wait for it: then there is a cut before it and one after it.
void PassTiming::find_cuts() {
    const std::size_t n = ops_.size();
    // By op: the ops of each stream that end no later, including itself
    std::vector<Clock> before(n);
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
    // From the last op to the first: the part of each stream that all later ops wait for.
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

const PassTiming::Steady& PassTiming::steady(std::uint32_t held_sms) const {
    if (held_sms >= steady_.size()) {
        steady_.resize(held_sms + 1);
    }
    if (!steady_[held_sms]) {
        Steady times;
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
        steady_[held_sms] = std::make_shared<const Steady>(std::move(times));
    }
    return *steady_[held_sms];
}

std::uint64_t PassTiming::hash() const {
    std::uint64_t h = ops_.size();
    for (const PassOp& op : ops_) {
        h = mixed(mixed(h, op.stream), static_cast<std::uint64_t>(op.duration.picoseconds()));
    }
    return h;
}

const PassTiming::Known::Entry* PassTiming::Known::find(std::span<const std::int64_t> key,
                                                        std::uint64_t hash) const {
    if (slots_.empty()) {
        return nullptr;
    }
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
        const Entry& entry = entries_[slots_[slot] - 1];
        if (entry.hash == hash &&
            std::ranges::equal(std::span{keys_}.subspan(entry.key, entry.key_size), key)) {
            return &entry;
        }
    }
    return nullptr;
}

void PassTiming::Known::add(std::span<const std::int64_t> key,
                            std::uint64_t hash,
                            const Offsets& found) {
    if (entries_.size() >= kKnownMost) {
        *this = {};
    }
    entries_.push_back({.hash = hash,
                        .key = keys_.size(),
                        .ends = ends_.size(),
                        .key_size = static_cast<std::uint32_t>(key.size()),
                        .num_ends = static_cast<std::uint32_t>(found.ends.size()),
                        .last = found.last});
    keys_.insert(keys_.end(), key.begin(), key.end());
    ends_.insert(ends_.end(), found.ends.begin(), found.ends.end());
    const auto place = [&](std::size_t entry) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = entries_[entry].hash & mask;
        while (slots_[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        slots_[slot] = static_cast<std::uint32_t>(entry) + 1;
    };
    if (2 * entries_.size() > slots_.size()) {
        slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), 0);
        for (std::size_t entry = 0; entry + 1 < entries_.size(); ++entry) {
            place(entry);
        }
    }
    place(entries_.size() - 1);
}

Time PassTiming::run(std::uint32_t first,
                     std::uint32_t last,
                     Time start,
                     std::span<const HeldSms> held,
                     const PassGates& gates,
                     std::vector<Time>& ends) const {
    const auto at = [&](Time offset) { return offset == Time::max() ? offset : start + offset; };
    const Offsets found = offsets(first, last, start, held, gates);
    ends.resize(last - first);
    std::ranges::transform(found.ends, ends.begin(), at);
    return at(found.last);
}

PassTiming::Offsets PassTiming::offsets(std::uint32_t first,
                                        std::uint32_t last,
                                        Time start,
                                        std::span<const HeldSms> held,
                                        const PassGates& gates) const {
    if (gates.launch_cost > Time{}) {
        return work_off(first, last, start, held, gates);
    }
    while (held.size() > 1 && held[1].since <= start) {
        held = held.subspan(1);
    }
    key_.resize(3 + 2 * (held.size() - 1 + gates.gated.size()));
    std::size_t size = 0;
    std::uint64_t hash = 0;
    const auto add = [&](std::int64_t word) {
        key_[size++] = word;
        hash = mixed(hash, static_cast<std::uint64_t>(word));
    };
    add(first);
    add(last);
    add(held.front().sms);
    for (const HeldSms& change : held.subspan(1)) {
        add((change.since - start).picoseconds());
        add(change.sms);
    }
    for (const std::uint32_t op : gates.gated) {
        if (op >= first && op < last && gates.op_earliest[op] > start) {
            const Time earliest = gates.op_earliest[op];
            add(-1 - std::int64_t{op});
            add(earliest == Time::max() ? -1 : (earliest - start).picoseconds());
        }
    }
    key_.resize(size);
    if (const Known::Entry* known = known_.find(key_, hash)) {
        return known_.offsets(*known);
    }
    const Offsets found = work_off(first, last, start, held, gates);
    known_.add(key_, hash, found);
    return found;
}

PassTiming::Offsets PassTiming::work_off(std::uint32_t first,
                                         std::uint32_t last,
                                         Time start,
                                         std::span<const HeldSms> held,
                                         const PassGates& gates) const {
    const auto work = [&]<class Work>(Work) {
        return Walk<Work>{
            ops_, waits_, next_on_stream_, num_streams_, first, last, num_sms_, gates, ends_}
            .work(start, held);
    };
    Time end = long_ops_ ? work(__int128{}) : work(std::int64_t{});
    const auto offset = [&](Time& time) { time = time == Time::max() ? time : time - start; };
    offset(end);
    std::ranges::for_each(ends_, offset);
    return {.last = end, .ends = ends_};
}

}  // namespace orrery
