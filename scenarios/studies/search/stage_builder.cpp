// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/stage_builder.h"

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

Line line_of(const StageWork& message) {
    const bool forward = message.item.pass == Pass::forward;
    return message.task == StageTask::send
               ? (forward ? Line::forward_send : Line::backward_send)
               : (forward ? Line::forward_receive : Line::backward_receive);
}

}  // namespace

std::uint32_t PlanTimer::StageBuilder::number_of(const PassTiming& timing) {
    const auto next = static_cast<std::uint32_t>(step_.timings.size());
    const auto [found, fresh] = numbers_.try_emplace(&timing, next);
    if (fresh) {
        step_.timings.push_back(&timing);
    }
    return found->second;
}

std::uint32_t PlanTimer::StageBuilder::message(Line line,
                                               std::optional<PassOpPlace> after,
                                               const WorkItem& item) {
    std::optional<FixedTransfer>& transfer = prices_of_lines_[static_cast<std::size_t>(line)];
    if (!transfer) {
        // The transfer goes from its sender to the next stage up or down.
        const bool sends = line == Line::forward_send || line == Line::backward_send;
        const int delta = item.pass == Pass::forward ? 1 : -1;
        const std::int32_t stages = shape().stages;
        const std::int32_t from = sends ? stage_ : (stage_ - delta + stages) % stages;
        transfer = prices_.send(layouts_.pipeline_digit, delta, chunk(item.chunk).message, from);
    }
    if (!transfer) {
        why_ = "messages between two stages differ";
    }
    std::vector<LineMessage>& messages = out_.lines[static_cast<std::size_t>(line)];
    messages.push_back({.after_pass = after ? static_cast<std::int32_t>(after->pass) : -1,
                        .after_op = after ? after->op : 0,
                        .launch = ++out_.launches,
                        .transfer = transfer.value_or(FixedTransfer{})});
    return static_cast<std::uint32_t>(messages.size() - 1);
}

// The last op of the awaited pass.
std::optional<PassOpPlace> PlanTimer::StageBuilder::end_of_wait(const StageWork& work) const {
    if (work.num_waits == 0) {
        return std::nullopt;
    }
    const std::uint32_t pass = numbers_of_work_[walk_.waits_of(work).front()];
    return PassOpPlace{pass, step_.timings[out_.passes[pass].timing]->size() - 1};
}

// Adds a pass for the host's resumption after all awaited messages have ended.
std::uint32_t PlanTimer::StageBuilder::restart(const StageWork& work) {
    out_.passes.push_back({.timing = number_of(restart_timing_),
                           .launches_before = out_.launches,
                           .first_wait = static_cast<std::uint32_t>(out_.waits.size()),
                           .num_waits = work.num_waits,
                           .first_gate = static_cast<std::uint32_t>(out_.gates.size())});
    for (const std::uint32_t message : walk_.waits_of(work)) {
        out_.waits.push_back({.line = static_cast<std::uint8_t>(line_of(walk_.work[message])),
                              .messages = numbers_of_work_[message] + 1});
    }
    return static_cast<std::uint32_t>(out_.passes.size() - 1);
}

std::uint32_t PlanTimer::StageBuilder::compute(const WorkItem& item) {
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
    out_.launches += timing.timing->launches();
    out_.passes.push_back(pass);
    for (std::size_t e = 0; e < kEarlyStreams; ++e) {
        const std::uint32_t last = timing.timing->last_on(static_cast<std::uint8_t>(e + 1));
        if (last < timing.timing->size()) {
            last_on_stream_[e] = PassOpPlace{number, last};
        }
    }
    return number;
}

void PlanTimer::StageBuilder::wait_for_messages(const WorkItem& item,
                                                ChunkPass which,
                                                const ChunkPassTiming& timing) {
    if (receives(shape(), stage_, item)) {
        const auto l =
            static_cast<std::uint8_t>(line_of({.task = StageTask::receive, .item = item}));
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

// Adds early ops, which start after the last op on their stream, in the previous pass or earlier.
// If a pass begins with an early op, that op takes over the pass's waits.
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

std::uint32_t PlanTimer::StageBuilder::send(const StageWork& work) {
    const WorkItem& item = work.item;
    const bool forward = item.pass == Pass::forward;
    const ChunkTiming& parts = chunk(item.chunk);
    // A message follows the whole awaited pass, or directly the op that makes it.
    const std::optional<PassOpPlace> after = end_of_wait(work);
    const std::uint32_t number = message(
        line_of(work),
        after ? after
              : last_place(item.chunk, forward ? parts.sends_forward : parts.sends_backward),
        item);
    if (forward) {
        sent_forward_[static_cast<std::size_t>(item.chunk)]
                     [static_cast<std::size_t>(item.micro_batch)] = number;
    }
    return number;
}

// In the chunk's last pass of the kind.
PassOpPlace PlanTimer::StageBuilder::last_place(std::int32_t c, const ChunkPlace& place) const {
    return {last_pass_[static_cast<std::size_t>(c)][static_cast<std::size_t>(place.pass)],
            place.op};
}

// Gathers overlap the first passes, which wait for them, or follow at the end of the step.
void PlanTimer::StageBuilder::gather_parameters(const StageWork& work) {
    const std::int32_t c = work.item.chunk;
    first_parameter_[static_cast<std::size_t>(c)] = static_cast<std::uint32_t>(out_.data.size());
    for (const ChunkDataOp& op : chunk(c).parameters) {
        ++out_.launches;
        if (work.num_waits == 0) {
            out_.data.push_back({.after = {}, .launch = out_.launches, .transfer = op.transfer});
        } else {
            out_.tail += op.transfer.alone;
        }
    }
}

// A data op after ops of the chunk's last passes, and after `also`.
DataOp PlanTimer::StageBuilder::data_op(std::int32_t c,
                                        const ChunkDataOp& op,
                                        std::optional<PassOpPlace> also) {
    DataOp data{.after = {}, .launch = ++out_.launches, .transfer = op.transfer};
    for (const ChunkPlace& place : op.after) {
        data.after.push_back(last_place(c, place));
    }
    if (also) {
        data.after.push_back(*also);
    }
    std::ranges::sort(data.after, {}, &PassOpPlace::pass);
    return data;
}

void PlanTimer::StageBuilder::reduce_gradients(const StageWork& work) {
    std::optional<PassOpPlace> first_after = end_of_wait(work);
    for (const ChunkDataOp& op : chunk(work.item.chunk).gradients) {
        out_.data.push_back(data_op(work.item.chunk, op, std::exchange(first_after, {})));
    }
}

void PlanTimer::StageBuilder::reduce_tied(std::int32_t c) {
    if (const auto& tied = chunk(c).tied) {
        out_.data.push_back(data_op(c, *tied, {}));
        out_.data.back().meeting = 0;
        ++step_.meeting_sizes[0];
    }
}

void PlanTimer::StageBuilder::optimizer(const StepEnd& last) {
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
}

std::uint32_t PlanTimer::StageBuilder::add(const StageWork& work, const StepEnd& last) {
    switch (work.task) {
        case StageTask::receive:
            return message(line_of(work), end_of_wait(work), work.item);
        case StageTask::restart:
            return restart(work);
        case StageTask::pass:
            return compute(work.item);
        case StageTask::send:
            return send(work);
        case StageTask::gather_parameters:
            gather_parameters(work);
            return 0;
        case StageTask::reduce_gradients:
            reduce_gradients(work);
            return 0;
        case StageTask::reduce_tied:
            reduce_tied(work.item.chunk);
            return 0;
        case StageTask::optimizer:
        case StageTask::optimizer_of_rest:
            optimizer(last);
            return 0;
        case StageTask::reduce_copies:  // PlanTimer::parts_of() refuses plans with this task
            break;
    }
    ORRERY_CHECK(false);
    return 0;
}

std::string_view PlanTimer::StageBuilder::build(std::int32_t stage,
                                                std::vector<const ChunkTiming*> chunks,
                                                const StepEnd& last) {
    stage_ = stage;
    chunks_ = std::move(chunks);
    const std::vector<std::uint32_t> by_micro_batch(
        static_cast<std::size_t>(plan_.num_micro_batches()));
    gated_.assign(chunks_.size(), false);
    last_pass_.resize(chunks_.size());
    first_parameter_.resize(chunks_.size());
    sent_forward_.assign(chunks_.size(), by_micro_batch);
    forward_pass_.assign(chunks_.size(), by_micro_batch);
    // Whether embeddings are tied is a fact of the chunks, which have no passes without ops.
    walk_ = stage_work(rules_of(plan_, true), shape(), stage);
    numbers_of_work_.reserve(walk_.work.size());
    for (const StageWork& work : walk_.work) {
        numbers_of_work_.push_back(add(work, last));
    }
    step_.stages.push_back(std::move(out_));
    return why_;
}

}  // namespace orrery
