// SPDX-License-Identifier: Apache-2.0
// The part of FoldedSimulation for passes and early ops.
#include "engine/folded/folded_simulation.h"

namespace orrery {

bool FoldedSimulation::messages_ended(std::uint32_t s,
                                      std::uint32_t first,
                                      std::uint32_t count) const {
    for (std::uint32_t w = first; w < first + count; ++w) {
        const LineWait& wait = plan(s).waits[w];
        if (stages_[s].lines[wait.line].next < wait.messages) {
            return false;
        }
    }
    return true;
}

bool FoldedSimulation::start_pass(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    if (stage.working || stage.pass == plan(s).passes.size()) {
        return false;
    }
    const StagePass& pass = plan(s).passes[stage.pass];
    if (!messages_ended(s, pass.first_wait, pass.num_waits) ||
        stage.data_next < pass.data_ops_before) {
        return false;
    }
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        const std::uint32_t before = pass.early_before[e];
        if (before > 0 && stage.early_end[e][before - 1] > now_) {
            return false;
        }
    }
    stage.working = true;
    stage.cut = 0;
    stage.base = now_;
    stage.held.assign(1, {now_, stage.sms});
    stage.next_known = false;
    close_gates(s, pass);
    find_watches(s);
    mark_dirty(s);
    return true;
}

// Finds the last cut before which launches or gates may bind.
void FoldedSimulation::close_gates(std::uint32_t s, const StagePass& pass) {
    FoldedStageState& stage = stages_[s];
    const PassTiming& timing = *step_.timings[pass.timing];
    const std::span gates = std::span{plan(s).gates}.subspan(pass.first_gate, pass.num_gates);
    stage.gate_times.clear();
    stage.closed.clear();
    stage.gated.clear();
    std::uint32_t bound = 0;  // ops before this one may be bound
    for (const PassGate& gate : gates) {
        stage.gate_times.push_back(time_of(s, gate));
        if (stage.gate_times.back() > now_) {
            stage.closed.push_back(static_cast<std::uint32_t>(stage.gate_times.size() - 1));
            stage.gated.push_back(gate.op);
            bound = std::max(bound, gate.op + 1);
        }
    }
    if (!stage.closed.empty()) {
        stage.op_earliest.assign(timing.size(), Time{});
    }
    stage.launch_bound = launch(s, pass.launches_before + timing.launches()) > now_;
    waited_for_launch_ = waited_for_launch_ || stage.launch_bound;
    bound = stage.launch_bound ? timing.size() : bound;
    const std::vector<std::uint32_t>& cuts = timing.cuts();
    stage.gated_to = static_cast<std::uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), bound) -
                                                cuts.begin());
}

Time FoldedSimulation::time_of(std::uint32_t s, const PassGate& gate) const {
    const FoldedStageState& stage = stages_[s];
    switch (gate.kind) {
        case GateKind::data:
            return stage.data_end[gate.number];
        case GateKind::early:
            return stage.early_end[gate.line][gate.number];
        case GateKind::line:
            break;
    }
    return stage.lines[gate.line].next < gate.number ? kNever : now_;
}

// Updates the gates that were closed at the start of the pass. A known time never changes.
void FoldedSimulation::look_at_gates(std::uint32_t s, const StagePass& pass) {
    FoldedStageState& stage = stages_[s];
    for (const std::uint32_t op : stage.gated) {
        stage.op_earliest[op] = {};
    }
    for (const std::uint32_t g : stage.closed) {
        const PassGate& gate = plan(s).gates[pass.first_gate + g];
        Time& known = stage.gate_times[g];
        known = known == kNever ? time_of(s, gate) : known;
        Time& earliest = stage.op_earliest[gate.op];
        earliest = std::max(earliest, known);
    }
}

bool FoldedSimulation::start_early(std::uint32_t s, std::size_t stream) {
    FoldedStageState& stage = stages_[s];
    const std::vector<EarlyOp>& all = plan(s).early[stream];
    std::uint32_t& next = stage.early_next[stream];
    bool any = false;
    for (; next < all.size(); ++next) {
        const EarlyOp& op = all[next];
        for (std::uint32_t a = 0; a < op.num_after; ++a) {
            if (!has_ended(s, static_cast<std::int32_t>(op.after[a].pass), op.after[a].op)) {
                return any;
            }
        }
        if (!messages_ended(s, op.first_wait, op.num_waits) ||
            (op.after_last && stage.early_end[stream][next - 1] > now_) ||
            !launched(s, op.launch)) {
            return any;
        }
        change_sms(s, op.transfer.sms);
        const Time end = now_ + op.transfer.alone;
        stage.early_end[stream][next] = end;
        mark_dirty(s);
        schedule(end, FoldedEventKind::early, s, 0, op.transfer.sms);
        any = true;
    }
    return any;
}

void FoldedSimulation::find_watches(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    stage.watches.clear();
    const auto current = static_cast<std::int32_t>(stage.pass);
    const auto add = [&](std::uint32_t op) {
        if (std::ranges::none_of(stage.watches, [&](const PassWatch& w) { return w.op == op; })) {
            stage.watches.push_back({.op = op});
        }
    };
    add(timing(s).size() - 1);
    for (std::size_t line = 0; line < kNumLines; ++line) {
        const auto& messages = plan(s).lines[line];
        for (std::size_t m = stage.lines[line].next;
             m < messages.size() && messages[m].after_pass <= current;
             ++m) {
            if (messages[m].after_pass == current) {
                add(messages[m].after_op);
            }
        }
    }
    for (std::size_t stream = 0; stream < kEarlyStreams; ++stream) {
        const std::vector<EarlyOp>& early = plan(s).early[stream];
        for (std::size_t e = stage.early_next[stream]; e < early.size(); ++e) {
            if (early[e].num_after > 0 && early[e].after[0].pass > stage.pass) {
                break;
            }
            for (std::uint32_t a = 0; a < early[e].num_after; ++a) {
                if (early[e].after[a].pass == stage.pass) {
                    add(early[e].after[a].op);
                }
            }
        }
    }
    for (std::size_t d = stage.data_next; d < plan(s).data.size(); ++d) {
        const std::vector<PassOpPlace>& after = plan(s).data[d].after;
        if (!after.empty() && after.front().pass > stage.pass) {
            break;
        }
        for (const PassOpPlace& place : after) {
            if (place.pass == stage.pass) {
                add(place.op);
            }
        }
    }
}

// Advances to the last cut that the pass has reached since its prediction; everything before it is
// final.
void FoldedSimulation::pass_cuts(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    const std::vector<std::uint32_t>& cuts = timing(s).cuts();
    const std::uint32_t first = cuts[stage.cut];
    const Time base = stage.base;
    Time last;  // end of all ops before the cut, relative to the base
    for (std::uint32_t cut = stage.cut + 1; cuts[cut] - first < stage.op_ends.size(); ++cut) {
        for (std::uint32_t op = cuts[cut - 1]; op < cuts[cut]; ++op) {
            last = std::max(last, stage.op_ends[op - first]);
        }
        if (last > now_ - base) {
            break;
        }
        stage.cut = cut;
        stage.base = base + last;
    }
    while (stage.held.size() > 1 && stage.held[1].since <= stage.base) {
        stage.held.erase(stage.held.begin());
    }
}

// The pass continues with another number of held SMs.
void FoldedSimulation::disturb(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    if (stage.next_known && now_ >= stage.next_cut) {
        stage.cut = std::max(stage.cut + 1, stage.gated_to);
        stage.base = stage.next_cut;
        stage.held.erase(stage.held.begin(), stage.held.end() - 1);
        stage.next_known = false;
    } else if (stage.next_known) {
        pass_cuts(s);
    }
    if (stage.cut >= stage.gated_to && stage.held.size() == 1) {
        const std::vector<Time>& cuts = timing(s).steady(stage.held.front().sms).cut;
        const Time offset = stage.base - cuts[stage.cut];
        const auto after = std::upper_bound(cuts.begin() + stage.cut, cuts.end(), now_ - offset);
        // The last cut is the end of the pass, so that the one before it is the latest to continue
        // from.
        const auto cut = static_cast<std::uint32_t>(after - cuts.begin()) - 1;
        stage.cut = std::min(cut, static_cast<std::uint32_t>(cuts.size()) - 2);
        stage.base = offset + cuts[stage.cut];
    }
    if (stage.held.back().since == now_) {
        stage.held.back().sms = stage.sms;
    } else {
        stage.held.push_back({now_, stage.sms});
    }
    if (stage.held.size() > 1 && (stage.held.end() - 2)->sms == stage.sms) {
        stage.held.pop_back();  // the number is the same as before this instant
    }
    stage.next_known = false;
    mark_dirty(s);
}

// Predicts the end of the next watched op if the held SMs stay the same.
void FoldedSimulation::predict(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    stage.dirty = false;
    if (!stage.working) {
        return;
    }
    const StagePass& pass = plan(s).passes[stage.pass];
    const PassTiming& timing = *step_.timings[pass.timing];
    const std::vector<std::uint32_t>& cuts = timing.cuts();
    const bool gated = stage.cut < stage.gated_to;
    const bool changes = gated || stage.held.size() > 1;
    const std::uint32_t next = changes ? std::max(stage.cut + 1, stage.gated_to) : stage.cut;
    const std::uint32_t first = cuts[stage.cut];
    const std::uint32_t last = cuts[next];
    const auto after_base = [&](Time offset) {
        return offset == kNever ? kNever : stage.base + offset;
    };
    const PassTiming::Steady& steady = timing.steady(stage.held.back().sms);
    PassTiming::Offsets worked;
    if (changes) {
        PassGates gates;
        if (gated) {
            if (stage.launch_bound) {
                gates.host = launch(s, pass.launches_before);
                gates.launch_cost = step_.launch_cost;
            }
            if (!stage.gated.empty()) {
                look_at_gates(s, pass);
                gates.op_earliest = stage.op_earliest;
                gates.gated = stage.gated;
            }
        }
        worked = timing.offsets(first, last, stage.base, stage.held, gates);
        stage.next_cut = after_base(worked.last);
        stage.op_ends.assign(worked.ends.begin(), worked.ends.end());
        stage.next_known = true;
    }
    const bool unknown = changes && stage.next_cut == kNever;
    const Time offset = (changes ? stage.next_cut : stage.base) - steady.cut[next];
    Time due = kNever;
    for (PassWatch& watch : stage.watches) {
        if (watch.op >= last) {
            watch.end = unknown ? kNever : offset + steady.op_end[watch.op];
        } else if (watch.op >= first) {
            watch.end = after_base(worked.ends[watch.op - first]);
        }
        due = std::min(due, watch.end);
    }
    set_due(s, due);
}

}  // namespace orrery
