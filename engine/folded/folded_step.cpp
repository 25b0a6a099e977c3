// SPDX-License-Identifier: Apache-2.0
#include "engine/folded/folded_simulation.h"

namespace orrery {

std::uint32_t FoldedSimulation::peer_of(std::uint32_t s, std::uint32_t line) const {
    const auto n = static_cast<std::uint32_t>(stages_.size());
    const auto to = static_cast<Line>(line);
    const bool up = to == Line::forward_send || to == Line::backward_receive;
    return up ? (s + 1) % n : (s + n - 1) % n;
}

void FoldedSimulation::begin(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    stage.start = plan(s).tail;
    stage.data_end.assign(plan(s).data.size(), kNever);
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        stage.early_end[e].assign(plan(s).early[e].size(), kNever);
    }
    // Data ops at the start that wait for nothing have known ends.
    Time end = stage.start;
    for (std::size_t d = 0; d < plan(s).data.size(); ++d) {
        const DataOp& op = plan(s).data[d];
        if (!op.after.empty() || op.meeting >= 0) {
            break;
        }
        end = std::max(end, launch(s, op.launch)) + op.transfer.alone;
        stage.data_end[d] = end;
    }
    schedule(stage.start, FoldedEventKind::wake, s);
}

std::optional<Time> FoldedSimulation::run() {
    for (std::uint32_t s = 0; s < stages_.size(); ++s) {
        begin(s);
    }
    while (next_time() < kNever && !failed_ && !barrier_) {
        now_ = next_time();
        // First all ends at this instant, then all starts.
        do {
            while (due_.first() == now_) {
                end_watched(due_.first_stage());
            }
            while (!events_.empty() && events_.front().time == now_) {
                const FoldedEvent event = events_.front();
                std::pop_heap(events_.begin(), events_.end());
                events_.pop_back();
                handle(event);
            }
            while (!to_poll_.empty() && !failed_) {
                const std::uint32_t s = to_poll_.back();
                to_poll_.pop_back();
                stages_[s].to_poll = false;
                poll(s);
            }
            for (const std::uint32_t s : dirty_) {
                predict(s);
            }
            dirty_.clear();
        } while (next_time() == now_ && !failed_);
        if (stages_[0].pass >= next_round_ && !barrier_ && !failed_) {
            look_at_round();
        }
    }
    return failed_ || !barrier_ || !all_done() ? std::nullopt : barrier_;
}

bool FoldedSimulation::all_done() const {
    for (std::uint32_t s = 0; s < stages_.size(); ++s) {
        const FoldedStageState& stage = stages_[s];
        bool done = stage.pass == plan(s).passes.size() && !stage.working &&
                    launch(s, plan(s).launches) <= *barrier_;
        for (std::size_t l = 0; l < kNumLines; ++l) {
            done = done && stage.lines[l].next == plan(s).lines[l].size();
        }
        if (!done) {
            return false;
        }
    }
    return true;
}

// Watched ops of the current pass have ended, perhaps the last one.
void FoldedSimulation::end_watched(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    set_due(s, kNever);
    std::erase_if(stage.watches, [&](const PassWatch& w) { return w.end <= now_; });
    if (stage.watches.empty()) {
        stage.working = false;
        ++stage.pass;
    } else if (stage.cut < stage.gated_to) {
        mark_dirty(s);
    } else {
        set_due(s, std::ranges::min(stage.watches, {}, &PassWatch::end).end);
    }
    mark_to_poll(s);
}

void FoldedSimulation::end_message(std::uint32_t s, std::uint32_t line) {
    const LineMessage& message = plan(s).lines[line][stages_[s].lines[line].next];
    for (const auto& [side, there] : {std::pair{s, line}, std::pair{peer_of(s, line), line ^ 1U}}) {
        change_sms(side, -std::int64_t{message.transfer.sms});
        stages_[side].lines[there].arrived = false;
        ++stages_[side].lines[there].next;
        mark_dirty(side);
        mark_to_poll(side);
    }
}

void FoldedSimulation::end_meeting(std::uint32_t meeting) {
    if (meeting + 1 == step_.meeting_sizes.size()) {
        barrier_ = now_;
        return;
    }
    for (std::uint32_t s = 0; s < stages_.size(); ++s) {
        const auto& data = plan(s).data;
        const std::uint32_t next = stages_[s].data_next;
        if (next < data.size() && data[next].meeting == static_cast<std::int32_t>(meeting)) {
            end_data(s);
            mark_to_poll(s);
        }
    }
}

void FoldedSimulation::handle(const FoldedEvent& event) {
    const std::uint32_t s = event.stage;
    switch (event.what) {
        case FoldedEventKind::message:
            return end_message(s, event.line);
        case FoldedEventKind::meeting:
            return end_meeting(event.line);
        case FoldedEventKind::data:
            end_data(s);
            break;
        case FoldedEventKind::early:
            change_sms(s, -std::int64_t{event.sms});
            break;
        case FoldedEventKind::wake:
            stages_[s].wake = kNever;
            break;
    }
    mark_to_poll(s);
}

void FoldedSimulation::poll(std::uint32_t s) {
    // A pass and an early op may make each other ready; the other starts make nothing ready at
    // once.
    for (bool again = true; again && !failed_;) {
        again = !stages_[s].working && start_pass(s);
        for (std::size_t stream = 0; stream < kEarlyStreams; ++stream) {
            if (stages_[s].early_next[stream] < plan(s).early[stream].size()) {
                again = start_early(s, stream) || again;
            }
        }
    }
    for (std::uint32_t line = 0; line < kNumLines; ++line) {
        const FoldedLineState& state = stages_[s].lines[line];
        if (!state.arrived && state.next < plan(s).lines[line].size()) {
            arrive(s, line);
        }
    }
    arrive_data(s);
}

// Whether the host has made this number of launches. If not, the stage wakes when it has.
bool FoldedSimulation::launched(std::uint32_t s, std::uint32_t launches) {
    const Time at = launch(s, launches);
    if (at <= now_) {
        return true;
    }
    waited_for_launch_ = true;
    if (at < stages_[s].wake) {
        stages_[s].wake = at;
        schedule(at, FoldedEventKind::wake, s);
    }
    return false;
}

void FoldedSimulation::arrive(std::uint32_t s, std::uint32_t line) {
    FoldedLineState& state = stages_[s].lines[line];
    const auto& messages = plan(s).lines[line];
    const LineMessage& message = messages[state.next];
    if (!has_ended(s, message.after_pass, message.after_op) || !launched(s, message.launch)) {
        return;
    }
    state.arrived = true;
    change_sms(s, message.transfer.sms);
    const std::uint32_t other = peer_of(s, line);
    const FoldedLineState& there = stages_[other].lines[line ^ 1U];
    if (there.arrived && there.next == state.next) {
        schedule(now_ + message.transfer.alone, FoldedEventKind::message, s, line);
    }
}

void FoldedSimulation::arrive_data(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    const auto& data = plan(s).data;
    if (stage.data_arrived || stage.data_next == data.size()) {
        return;
    }
    const DataOp& op = data[stage.data_next];
    const bool ready = std::ranges::all_of(op.after, [&](const PassOpPlace& place) {
        return has_ended(s, static_cast<std::int32_t>(place.pass), place.op);
    });
    if (!ready || !launched(s, op.launch)) {
        return;
    }
    stage.data_arrived = true;
    change_sms(s, op.transfer.sms);
    const Time end = now_ + op.transfer.alone;
    if (op.meeting < 0) {
        schedule(end, FoldedEventKind::data, s);
        return;
    }
    const auto meeting = static_cast<std::uint32_t>(op.meeting);
    if (++meeting_arrivals_[meeting] == step_.meeting_sizes[meeting]) {
        schedule(end, FoldedEventKind::meeting, s, meeting);
    }
}

void FoldedSimulation::end_data(std::uint32_t s) {
    FoldedStageState& stage = stages_[s];
    change_sms(s, -std::int64_t{plan(s).data[stage.data_next].transfer.sms});
    stage.data_end[stage.data_next++] = now_;
    stage.data_arrived = false;
}

void FoldedSimulation::change_sms(std::uint32_t s, std::int64_t change) {
    if (change == 0) {
        return;
    }
    stages_[s].sms = static_cast<std::uint32_t>(std::int64_t{stages_[s].sms} + change);
    if (stages_[s].working) {
        disturb(s);
    }
}

std::optional<Time> period_of(const FoldedStep& step) {
    return FoldedSimulation{step}.run();
}

}  // namespace orrery
