// SPDX-License-Identifier: Apache-2.0
// Every conflict of two ops on a tensor, in one step or in two that follow each other, is ordered
// by streams, waits and the host: checked op by op with vector clocks over the streams, whatever
// the lowering thought when it made the waits.
#include "models/segments/slot_waits.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>

#include "models/lowering/lowering.h"
#include "models/segments/segment_builder.h"
#include "tests/models/drawn_plans.h"

namespace orrery {
namespace {

using Clock = std::array<std::int64_t, kNumStreams>;  // ops of each stream that have ended by then

struct Event {
    std::size_t stream = 0;
    std::int64_t number = 0;  // of the op on its stream, from 1
};

struct Uses {
    Event writer;
    std::vector<Event> readers;
};

class RaceFinder {
public:
    RaceFinder(const Program& program, const Role& role) : p_(program), role_(role) {
        pieces_of_.resize(p_.tensors.size(), 1);
        for (const Operand& operand : p_.operands) {
            std::uint16_t& pieces = pieces_of_[index(operand.tensor)];
            pieces = std::max(pieces, operand.pieces);
        }
    }

    // "a races with b", one a line.
    std::string run() {
        for (int step = 0; step < 2; ++step) {
            for (std::size_t s = 0; s < role_.slots.size(); ++s) {
                const Segment& segment = p_.segment_of(role_.slots[s]);
                ends_.emplace_back();
                for (std::size_t o = 0; o < segment.ops.size(); ++o) {
                    visit(role_.slots[s], segment.ops[o], o);
                }
            }
            end_step();
        }
        return races_;
    }
    std::int64_t conflicts() const { return conflicts_; }

private:
    // All later ops begin when the host has read what it waits for. By then messages have arrived:
    // their receivers, too, have put their gradients into the norm that it reads.
    void end_step() {
        for (std::uint32_t s = 0; s < ends_.size(); ++s) {
            for (std::uint32_t o = 0; o < ends_[s].size(); ++o) {
                const Op& op = p_.segment_of(role_.slots[s]).ops[o];
                bool ended = role_.host_reads.empty();
                for (const SlotOp& read : role_.host_reads) {
                    ended = ended || (s == read.slot && o == read.op) ||
                            (s < read.slot && only_sends(p_, op));
                }
                if (ended) {
                    join(host_, ends_[s][o]);
                }
            }
        }
        last_step_ = std::move(ends_);
        ends_.clear();
    }

    static void join(Clock& a, const Clock& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] = std::max(a[i], b[i]);
        }
    }

    void visit(const Slot& slot, const Op& op, std::size_t position) {
        const std::size_t stream = index(op.stream);
        Clock start = stream_ends_[stream];
        join(start, host_);
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            join(start, ends_.back()[p_.waits[op.first_wait + w]]);
        }
        for (const SlotWait& wait : slot.waits) {
            if (wait.op == position && !wait.carried) {
                join(start, ends_[wait.slot][wait.slot_op]);
            } else if (wait.op == position && !last_step_.empty()) {
                join(start, last_step_[wait.slot][wait.slot_op]);
            }
        }
        const Event here{stream, ++numbers_[stream]};
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = p_.operands[op.first_operand + i];
            const std::uint16_t pieces = pieces_of_[index(operand.tensor)];
            EXPECT_TRUE(operand.pieces == 1 || operand.pieces == pieces);
            for (std::uint16_t piece = 0; piece < pieces; ++piece) {
                if (operand.pieces == 1 || operand.piece == piece) {
                    check(slot, op, operand, piece, start, here);
                }
            }
        }
        start[stream] = here.number;
        stream_ends_[stream] = start;
        ends_.back().push_back(start);
    }

    void check(const Slot& slot,
               const Op& op,
               const Operand& operand,
               std::uint16_t piece,
               const Clock& start,
               Event at) {
        const Lifetime lifetime = p_.tensors[index(operand.tensor)].lifetime;
        const std::int64_t instance = lifetime == Lifetime::slot
                                          ? std::ssize(last_step_) + std::ssize(ends_)
                                      : lifetime == Lifetime::micro_batch ? slot.micro_batch
                                                                          : -1;
        auto& uses = uses_[{operand.tensor, instance, piece}];
        const bool first = uses.writer.number == 0 && uses.readers.empty();
        const bool made_here = !p_.tensors[index(operand.tensor)].input &&
                               (lifetime == Lifetime::slot || lifetime == Lifetime::micro_batch);
        if (first && operand.access == Access::read && made_here) {
            report("reads what no op wrote", slot, op, operand);
        }
        const auto ordered = [&](Event before) {
            conflicts_ += before.number > 0 ? 1 : 0;
            const bool same_op = before.stream == at.stream && before.number == at.number;
            if (!same_op && before.number > start[before.stream] && before.stream != at.stream) {
                report("races with an earlier op", slot, op, operand);
            }
        };
        ordered(uses.writer);
        if (operand.access == Access::read) {
            uses.readers.push_back(at);
            return;
        }
        for (const Event& reader : uses.readers) {
            ordered(reader);
        }
        uses = {.writer = at, .readers = {}};
    }

    void report(const std::string& what, const Slot& slot, const Op& op, const Operand& operand) {
        if (races_.size() < 1000) {
            races_ += p_.segment_of(slot).name + " / " + p_.names[op.name] + " " + what + " on " +
                      p_.tensors[index(operand.tensor)].name + "\n";
        }
    }

    const Program& p_;
    const Role& role_;
    std::array<Clock, kNumStreams> stream_ends_{};
    std::array<std::int64_t, kNumStreams> numbers_{};
    std::vector<std::vector<Clock>> ends_;  // by slot and op
    std::vector<std::vector<Clock>> last_step_;  // the same
    Clock host_{};
    std::map<std::tuple<TensorId, std::int64_t, std::uint16_t>, Uses> uses_;
    std::vector<std::uint16_t> pieces_of_;  // in which a tensor is used
    std::int64_t conflicts_ = 0;
    std::string races_;
};

TEST(SlotWaits, OrderEveryConflictOnATensor) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (const Role& role : program.roles) {
            RaceFinder finder{program, role};
            EXPECT_EQ(finder.run(), "") << d.text();
            EXPECT_GT(finder.conflicts(), 0);
        }
    }
}

TEST(SlotWaits, AreGivenOnce) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (const Role& role : program.roles) {
            for (const Slot& slot : role.slots) {
                std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>> seen;
                for (const SlotWait& wait : slot.waits) {
                    EXPECT_TRUE(seen.emplace(wait.op, wait.slot, wait.slot_op, wait.carried).second)
                        << d.text();
                }
            }
        }
    }
}

// The finder itself: without the waits between slots it must find races wherever several streams
// share a tensor.
TEST(SlotWaits, AreMissedWhenTheyAreTakenAway) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        Program program = lower(d.model, d.plan);
        if (program.roles.size() == 1) {
            continue;
        }
        for (Slot& slot : program.roles[0].slots) {
            slot.waits.clear();
        }
        found += RaceFinder{program, program.roles[0]}.run().empty() ? 0 : 1;
    }
    EXPECT_GT(found, 25);
}

// The same of the waits that are carried into the next step.
TEST(SlotWaits, AreMissedWhenTheCarriedOnesAreTakenAway) {
    int overlapping = 0;
    int found = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        if (!d.plan.overlap_param_gather_with_optimizer_step || d.plan.data_parallel_size == 1) {
            continue;
        }
        ++overlapping;
        Program program = lower(d.model, d.plan);
        for (Slot& slot : program.roles[0].slots) {
            std::erase_if(slot.waits, [](const SlotWait& wait) { return wait.carried; });
        }
        found += RaceFinder{program, program.roles[0]}.run().empty() ? 0 : 1;
    }
    EXPECT_GT(overlapping, 2);
    EXPECT_EQ(found, overlapping);
}

}  // namespace
}  // namespace orrery
