// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/stage_builder.h"

#include <algorithm>
#include <span>

#include "models/lowering.h"

namespace orrery {

std::uint32_t PlanTimer::StageBuilder::number_of(const PassTiming& timing) {
    const auto next = static_cast<std::uint32_t>(step_.timings.size());
    const auto [found, fresh] = numbers_.try_emplace(&timing, next);
    if (fresh) {
        step_.timings.push_back(&timing);
    }
    return found->second;
}

void PlanTimer::StageBuilder::message(
    Line line, std::int32_t pass, std::uint32_t op, bool up, Bytes bytes) {
    std::optional<FixedTransfer>& transfer = prices_of_lines_[static_cast<std::size_t>(line)];
    if (!transfer) {
        // The transfer goes from its sender to the next stage up or down.
        const bool sends = line == Line::forward_send || line == Line::backward_send;
        const int delta = up ? 1 : -1;
        const std::int32_t from = sends ? stage_ : (stage_ - delta + stages()) % stages();
        transfer = prices_.send(layouts_.pipeline_axis, delta, bytes, from);
    }
    if (!transfer) {
        why_ = "messages between two stages differ";
    }
    out_.lines[static_cast<std::size_t>(line)].push_back(
        {.after_pass = pass,
         .after_op = op,
         .launch = ++out_.launches,
         .transfer = transfer.value_or(FixedTransfer{})});
}

void PlanTimer::StageBuilder::receive(const WorkItem& item) {
    const bool forward = item.pass == Pass::forward;
    if (stages() == 1 || item.pass == Pass::backward_weight ||
        (forward ? is_first(item.chunk) : is_last(item.chunk))) {
        return;
    }
    const Line line = forward ? Line::forward_receive : Line::backward_receive;
    if (computed_.size() >= 2) {
        const std::uint32_t pass = computed_[computed_.size() - 2];
        message(line,
                static_cast<std::int32_t>(pass),
                last_op_of(pass),
                forward,
                chunk(item.chunk).message);
    } else {
        message(line, -1, 0, forward, chunk(item.chunk).message);
    }
    if (!plan_.overlap_p2p) {
        exchanges(line);
    }
}

std::uint32_t PlanTimer::StageBuilder::last_op_of(std::uint32_t pass) const {
    return step_.timings[out_.passes[pass].timing]->size() - 1;
}

void PlanTimer::StageBuilder::exchanges(Line line) {
    const auto l = static_cast<std::uint8_t>(line);
    exchange_.push_back({l, static_cast<std::uint32_t>(out_.lines[l].size())});
}

// A pass of its own: the host's way back, when all messages have ended.
void PlanTimer::StageBuilder::restart() {
    if (exchange_.empty()) {
        return;
    }
    out_.passes.push_back({.timing = number_of(restart_timing_),
                           .launches_before = out_.launches,
                           .first_wait = static_cast<std::uint32_t>(out_.waits.size()),
                           .num_waits = static_cast<std::uint32_t>(exchange_.size()),
                           .first_gate = static_cast<std::uint32_t>(out_.gates.size())});
    out_.waits.insert(out_.waits.end(), exchange_.begin(), exchange_.end());
    exchange_.clear();
}

void PlanTimer::StageBuilder::compute(const WorkItem& item) {
    const auto c = static_cast<std::size_t>(item.chunk);
    const ChunkTiming& parts = chunk(item.chunk);
    const ChunkPass which = item.pass == Pass::forward           ? ChunkPass::forward
                            : item.pass == Pass::backward_weight ? ChunkPass::backward_weight
                                                                 : ChunkPass::backward;
    const ChunkPassTiming& timing = parts.pass(which);
    StagePass pass{.timing = number_of(*timing.timing),
                   .launches_before = out_.launches,
                   .first_wait = static_cast<std::uint32_t>(out_.waits.size()),
                   .first_gate = static_cast<std::uint32_t>(out_.gates.size())};
    wait_for_messages(item, which, timing);
    if (!timing.starts_early) {
        pass.num_waits = static_cast<std::uint32_t>(out_.waits.size()) - pass.first_wait;
    }
    if (which == ChunkPass::forward && !gated_[c] && plan_.overlap_param_gather) {
        for (const ChunkGate& gate : parts.parameter_gates) {
            out_.gates.push_back({.op = gate.op,
                                  .kind = GateKind::data,
                                  .number = first_parameter_[c] + gate.number});
        }
    }
    add_early_ops(item, timing, pass);
    pass.num_gates = static_cast<std::uint32_t>(out_.gates.size()) - pass.first_gate;
    const auto number = static_cast<std::uint32_t>(out_.passes.size());
    if (which == ChunkPass::forward) {
        gated_[c] = true;
        forward_pass_[c][static_cast<std::size_t>(item.micro_batch)] = number;
    }
    last_pass_[c][static_cast<std::size_t>(which)] = number;
    computed_.push_back(number);
    out_.launches += timing.timing->launches();
    out_.passes.push_back(pass);
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        const std::uint32_t last = timing.timing->last_on(static_cast<std::uint8_t>(e + 1));
        if (last < timing.timing->size()) {
            last_on_stream_[e] = PassOpPlace{number, last};
        }
    }
}

void PlanTimer::StageBuilder::wait_for_messages(const WorkItem& item,
                                                ChunkPass which,
                                                const ChunkPassTiming& timing) {
    const bool forward = which == ChunkPass::forward;
    const bool receives = stages() > 1 && which != ChunkPass::backward_weight &&
                          !(forward ? is_first(item.chunk) : is_last(item.chunk));
    if (receives) {
        const auto l =
            static_cast<std::uint8_t>(forward ? Line::forward_receive : Line::backward_receive);
        const auto messages = static_cast<std::uint32_t>(out_.lines[l].size());
        for (const std::uint32_t op : timing.message_gates) {
            out_.gates.push_back({.op = op, .kind = GateKind::line, .line = l, .number = messages});
        }
        if (timing.waits_for_message) {
            out_.waits.push_back({l, messages});
        }
        if (which == ChunkPass::backward && chunk(item.chunk).backward_waits_for_send) {
            const auto c = static_cast<std::size_t>(item.chunk);
            out_.waits.push_back(
                {static_cast<std::uint8_t>(Line::forward_send),
                 sent_forward_[c][static_cast<std::size_t>(item.micro_batch)] + 1});
        }
    }
}

// They start behind what their stream did last, in the pass before or earlier. The waits of a pass
// that begins with one are that one's.
void PlanTimer::StageBuilder::add_early_ops(const WorkItem& item,
                                            const ChunkPassTiming& timing,
                                            StagePass& pass) {
    const auto c = static_cast<std::size_t>(item.chunk);
    std::array<std::uint32_t, kEarlyStreams> first{};
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        first[e] = static_cast<std::uint32_t>(out_.early[e].size());
    }
    bool first_of_pass = timing.starts_early;
    for (const ChunkEarlyOp& early : timing.early) {
        const std::size_t e = early.stream - 1U;
        EarlyOp op{.after_last = !last_on_stream_[e] && !out_.early[e].empty(),
                   .launch = out_.launches + early.launch,
                   .transfer = early.transfer};
        if (last_on_stream_[e]) {
            op.after[op.num_after++] = *last_on_stream_[e];
            last_on_stream_[e].reset();
        }
        if (early.after) {
            const bool backward = early.after->pass == ChunkPass::backward;
            op.after[op.num_after++] = {
                backward ? last_pass_[c][static_cast<std::size_t>(ChunkPass::backward)]
                         : forward_pass_[c][static_cast<std::size_t>(item.micro_batch)],
                early.after->op};
        }
        if (first_of_pass) {
            op.first_wait = pass.first_wait;
            op.num_waits = static_cast<std::uint32_t>(out_.waits.size()) - pass.first_wait;
        } else if (early.after_message) {
            why_ = "an early exchange waits for a message";
        }
        first_of_pass = false;
        out_.early[e].push_back(op);
    }
    for (const ChunkGate& gate : timing.early_gates) {
        const auto e = static_cast<std::uint8_t>(gate.stream - 1);
        const std::uint32_t number = first[e] + gate.number;
        if (gate.op == 0) {
            pass.early_before[e] = std::max(pass.early_before[e], number + 1);
        } else {
            out_.gates.push_back(
                {.op = gate.op, .kind = GateKind::early, .line = e, .number = number});
        }
    }
}

void PlanTimer::StageBuilder::send(const WorkItem& item) {
    const bool forward = item.pass == Pass::forward;
    if (stages() == 1 || item.pass == Pass::backward_weight ||
        (forward ? is_last(item.chunk) : is_first(item.chunk))) {
        return;
    }
    const auto c = static_cast<std::size_t>(item.chunk);
    const ChunkTiming& parts = chunk(item.chunk);
    const ChunkPlace& place = forward ? parts.sends_forward : parts.sends_backward;
    const Line line = forward ? Line::forward_send : Line::backward_send;
    auto& messages = out_.lines[static_cast<std::size_t>(line)];
    if (forward) {
        sent_forward_[c].resize(static_cast<std::size_t>(plan_.num_micro_batches()));
        sent_forward_[c][static_cast<std::size_t>(item.micro_batch)] =
            static_cast<std::uint32_t>(messages.size());
    }
    const bool wraps = stage_ == (forward ? stages() - 1 : 0);
    if (plan_.overlap_p2p) {
        message(line,
                static_cast<std::int32_t>(last_pass_[c][static_cast<std::size_t>(place.pass)]),
                place.op,
                forward,
                parts.message);
        return;
    }
    message(line,
            static_cast<std::int32_t>(computed_.back()),
            last_op_of(computed_.back()),
            forward,
            parts.message);
    if (!wraps) {
        exchanges(line);
    }
}

void PlanTimer::StageBuilder::gradients(std::int32_t c, bool after_all) {
    bool first = true;
    for (const ChunkDataOp& op : chunk(c).gradients) {
        DataOp data{.after = {}, .launch = ++out_.launches, .transfer = op.transfer};
        for (const ChunkPlace& place : op.after) {
            data.after.push_back(
                {last_pass_[static_cast<std::size_t>(c)][static_cast<std::size_t>(place.pass)],
                 place.op});
        }
        if (first && after_all) {
            data.after.push_back({static_cast<std::uint32_t>(out_.passes.size() - 1),
                                  step_.timings[out_.passes.back().timing]->size() - 1});
        }
        std::ranges::sort(data.after, {}, &PassOpPlace::pass);
        out_.data.push_back(std::move(data));
        first = false;
    }
}

void PlanTimer::StageBuilder::end(const StepEnd& last) {
    for (std::int32_t c = layouts_.chunks; c-- > 0 && !plan_.overlap_grad_reduce;) {
        gradients(c, true);
    }
    for (std::int32_t c = 0; c < layouts_.chunks; ++c) {
        if (const auto& tied = chunk(c).tied) {
            DataOp data{
                .after = {}, .launch = ++out_.launches, .transfer = tied->transfer, .meeting = 0};
            for (const ChunkPlace& place : tied->after) {
                data.after.push_back(
                    {last_pass_[static_cast<std::size_t>(c)][static_cast<std::size_t>(place.pass)],
                     place.op});
            }
            std::ranges::sort(data.after, {}, &PassOpPlace::pass);
            out_.data.push_back(std::move(data));
            ++step_.meeting_sizes[0];
        }
    }
    out_.passes.push_back({.timing = number_of(*last.norm),
                           .launches_before = out_.launches,
                           .data_ops_before = static_cast<std::uint32_t>(out_.data.size())});
    out_.launches += last.norm->launches();
    out_.data.push_back(
        {.after = {{static_cast<std::uint32_t>(out_.passes.size() - 1), last.norm->size() - 1}},
         .launch = last.barrier ? ++out_.launches : out_.launches,
         .transfer = last.barrier.value_or(FixedTransfer{}),
         .meeting = 1});
    ++step_.meeting_sizes[1];
    out_.tail = last.tail;
    out_.launches += last.tail_launches;
    for (std::int32_t c = 0; c < layouts_.chunks && !plan_.overlap_param_gather; ++c) {
        for (const ChunkDataOp& op : chunk(c).parameters) {
            out_.tail += op.transfer.alone;
            ++out_.launches;
        }
    }
}

std::string_view PlanTimer::StageBuilder::build(std::int32_t stage,
                                                std::vector<const ChunkTiming*> chunks,
                                                const StepEnd& last) {
    stage_ = stage;
    chunks_ = std::move(chunks);
    const auto n = static_cast<std::size_t>(layouts_.chunks);
    gated_.assign(n, false);
    last_pass_.resize(n);
    sent_forward_.resize(n);
    forward_pass_.assign(
        n, std::vector<std::uint32_t>(static_cast<std::size_t>(plan_.num_micro_batches())));
    for (std::int32_t c = 0; c < layouts_.chunks; ++c) {
        first_parameter_.push_back(static_cast<std::uint32_t>(out_.data.size()));
        for (const ChunkDataOp& op : chunk(c).parameters) {
            if (plan_.overlap_param_gather) {
                out_.data.push_back(
                    {.after = {}, .launch = ++out_.launches, .transfer = op.transfer});
            }
        }
    }
    const auto batches = static_cast<std::int32_t>(plan_.num_micro_batches());
    const StageOrder order =
        stage_order(plan_.schedule,
                    {.stages = stages(), .chunks = layouts_.chunks, .micro_batches = batches},
                    stage);
    std::vector<std::int64_t> left(n, 0);
    for (const WorkItem& item : order) {
        left[static_cast<std::size_t>(item.chunk)] += item.pass == Pass::forward ? 0 : 1;
    }
    for (std::size_t i = 0; i < order.size();) {
        const bool pair = i + 1 < order.size() &&
                          shares_exchange(plan_, stages(), layouts_.chunks, order[i], order[i + 1]);
        const std::span<const WorkItem> turn{&order[i], pair ? 2U : 1U};
        std::ranges::for_each(turn, [&](const WorkItem& item) { receive(item); });
        restart();
        std::ranges::for_each(turn, [&](const WorkItem& item) { compute(item); });
        std::ranges::for_each(turn, [&](const WorkItem& item) { send(item); });
        i += turn.size();
        const WorkItem& done = turn.back();
        if (done.pass != Pass::forward && --left[static_cast<std::size_t>(done.chunk)] == 0 &&
            plan_.overlap_grad_reduce) {
            gradients(done.chunk, false);
        }
    }
    end(last);
    step_.stages.push_back(std::move(out_));
    return why_;
}

}  // namespace orrery
