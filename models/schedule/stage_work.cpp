// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/stage_work.h"

namespace orrery {
namespace {

bool is_forward(const WorkItem& item) {
    return item.pass == Pass::forward;
}

// Whether the pass has messages between stages.
bool moves(const WorkItem& item) {
    return item.pass == Pass::forward || item.pass == Pass::backward ||
           item.pass == Pass::backward_input;
}

// Passes of the shared vocabulary end with exchanges between all stages, for which no message
// waits.
bool is_of_vocabulary(const WorkItem& item) {
    return item.pass >= Pass::loss_input && item.pass <= Pass::embedding_backward;
}

// Two passes of a DualPipe pair send and receive together (its repository,
// _commit_and_wait_comm()).
bool shares_messages(const ScheduleShape& shape, const WorkItem& item, const WorkItem& next) {
    return shape.placement != ChunkPlacement::looping && item.pass == Pass::backward &&
           is_forward(next);
}

// Between the warm-up and the last passes, Megatron-LM's interleaved schedule exchanges messages
// once for a forward pass and the following backward pass, in both directions together
// (schedules.py, send_forward_backward_recv_forward_backward()). It requires p | m. `position` is
// that of the forward pass in the stage's order.
bool shares_exchange(const StageRules& rules,
                     const ScheduleShape& shape,
                     std::int32_t stage,
                     std::size_t position,
                     const WorkItem& item,
                     const WorkItem& next) {
    const ScheduleShape one = shape.of_flush();
    const std::size_t in_flush =
        position % (2 * static_cast<std::size_t>(one.chunks * one.micro_batches));
    return !rules.overlap_p2p && !rules.pairs_passes &&
           rules.schedule == ScheduleKind::interleaved_1f1b && shape.chunks > 1 &&
           one.micro_batches % one.stages == 0 && is_forward(item) && next.pass == Pass::backward &&
           in_flush >= static_cast<std::size_t>(interleaved_warm_up(one, stage));
}

class StageWalker {
public:
    StageWalker(const StageRules& rules, const ScheduleShape& shape, std::int32_t stage)
        : rules_(rules), shape_(shape), stage_(stage) {}

    StageWalk walk() {
        if (rules_.overlap_param_gather && !rules_.overlap_param_gather_with_optimizer_step) {
            // Parameters that are gathered at the start of the step arrive while the first
            // micro-batches run. The gather has no predecessor in the step, because the host has
            // waited for the last step's optimizer.
            gather_parameters({});
        }
        add_passes();
        add_end();
        return std::move(walk_);
    }

private:
    std::uint32_t add(StageTask task, const WorkItem& item, std::span<const std::uint32_t> waits) {
        walk_.work.push_back({.task = task,
                              .item = item,
                              .first_wait = static_cast<std::uint32_t>(walk_.waits.size()),
                              .num_waits = static_cast<std::uint32_t>(waits.size())});
        walk_.waits.insert(walk_.waits.end(), waits.begin(), waits.end());
        return static_cast<std::uint32_t>(walk_.work.size() - 1);
    }
    std::uint32_t add_of_chunk(StageTask task,
                               std::int32_t chunk,
                               std::span<const std::uint32_t> waits) {
        return add(task, {.chunk = chunk, .micro_batch = -1}, waits);
    }

    void add_passes() {
        const StageOrder order = stage_order(rules_.schedule, shape_, stage_);
        walk_.work.reserve(4 * order.size());
        // The number of remaining passes of each chunk that make gradients.
        std::vector<std::int64_t> left(static_cast<std::size_t>(shape_.chunks), 0);
        for (const WorkItem& item : order) {
            left[static_cast<std::size_t>(item.chunk)] += is_forward(item) ? 0 : 1;
        }
        for (std::size_t i = 0; i < order.size();) {
            const bool together = i + 1 < order.size() && runs_together(order[i], order[i + 1]);
            const bool pair =
                together || (i + 1 < order.size() &&
                             (shares_exchange(rules_, shape_, stage_, i, order[i], order[i + 1]) ||
                              shares_messages(shape_, order[i], order[i + 1])));
            const std::size_t passes = passes_.size();
            add_turn({&order[i], pair ? 2U : 1U});
            if (together) {
                walk_.work[passes_[passes]].paired = true;
            }
            const std::size_t end = i + (pair ? 2 : 1);
            for (; i < end; ++i) {
                const WorkItem& done = order[i];
                if (!is_forward(done) && --left[static_cast<std::size_t>(done.chunk)] == 0 &&
                    rules_.overlap_grad_reduce) {
                    add_of_chunk(StageTask::reduce_gradients, done.chunk, {});
                }
            }
        }
    }

    // Whether the two passes are independent: a backward pass, and a forward pass of a later
    // micro-batch or another chunk.
    bool runs_together(const WorkItem& item, const WorkItem& next) const {
        return rules_.pairs_passes && item.pass == Pass::backward && is_forward(next);
    }

    void add_turn(std::span<const WorkItem> turn) {
        for (const WorkItem& item : turn) {
            add_receive(item);
        }
        // Without overlap the host waits after every exchange until the device is idle
        // (Megatron-LM, p2p_communication.py: torch.cuda.synchronize() behind batch_isend_irecv()).
        // The host's work before the first kernel of the next turn is then exposed.
        if (!exchange_.empty()) {
            add_of_chunk(StageTask::restart, -1, exchange_);
            exchange_.clear();
        }
        for (const WorkItem& item : turn) {
            if (item.pass != Pass::backward_weight || rules_.weight_passes) {
                const std::uint32_t pass = add(StageTask::pass, item, {});
                if (!is_of_vocabulary(item)) {
                    passes_.push_back(pass);
                }
            }
        }
        for (const WorkItem& item : turn) {
            add_send(item);
        }
    }

    // With overlap, a receive is posted when the pass before the previous one has ended, one pass
    // ahead of its use. The sender also runs one pass ahead; it finds the receive posted and does
    // not stall. Without overlap, the receive is posted after the previous pass, in one call with
    // that pass's send, because the device has nothing else to run (Megatron-LM,
    // send_forward_recv_backward()).
    void add_receive(const WorkItem& item) {
        if (!receives(shape_, stage_, item)) {
            return;
        }
        const std::span<const std::uint32_t> all = passes_;
        const std::size_t ahead = rules_.overlap_p2p ? 2 : 1;
        const std::uint32_t message =
            add(StageTask::receive,
                item,
                all.size() < ahead ? std::span<const std::uint32_t>{} : all.last(ahead).first(1));
        if (!rules_.overlap_p2p) {
            exchange_.push_back(message);
        }
    }

    void add_send(const WorkItem& item) {
        if (!sends(shape_, stage_, item)) {
            return;
        }
        if (rules_.overlap_p2p) {
            add(StageTask::send, item, {});
            return;
        }
        const std::uint32_t message = add(StageTask::send, item, last_pass());
        // A message to the other end of the pipeline may wait there for many turns (all
        // micro-batches of a chunk in a breadth-first order). The sender continues meanwhile.
        const bool wraps = shape_.placement == ChunkPlacement::looping &&
                           stage_ == (is_forward(item) ? shape_.stages - 1 : 0);
        if (!wraps) {
            exchange_.push_back(message);
        }
    }

    void add_end() {
        for (std::int32_t c = shape_.chunks; c-- > 0 && !rules_.overlap_grad_reduce;) {
            add_of_chunk(
                StageTask::reduce_gradients, c, last_pass());  // the last chunk's are ready first
        }
        if (shape_.placement == ChunkPlacement::both_ends) {
            // Both stages of a pair begin with the same part of the model.
            const std::int32_t first = 2 * stage_ < shape_.stages ? 0 : 1;
            add_of_chunk(StageTask::reduce_copies, first, {});
            add_of_chunk(StageTask::reduce_copies, 1 - first, {});
        }
        for (std::int32_t c = 0; c < shape_.chunks; ++c) {
            const std::int32_t v = shape_.virtual_stage(stage_, c);
            const bool holds_copy = v == 0 || v == shape_.virtual_stages() - 1;
            const bool apart = shape_.stages > 1 && shape_.placement != ChunkPlacement::v_shape;
            if (rules_.tied_embeddings && apart && holds_copy) {
                add_of_chunk(StageTask::reduce_tied, c, {});
            }
        }
        const std::uint32_t optimizer = add_of_chunk(StageTask::optimizer, -1, {});
        if (rules_.overlap_param_gather_with_optimizer_step) {
            // The first chunk's parameters arrive while the other chunks are stepped, the others'
            // while the next step's first micro-batches run (Megatron-LM, ChainedOptimizer).
            add_of_chunk(StageTask::gather_parameters, 0, {&optimizer, 1});
            const std::uint32_t rest = add_of_chunk(StageTask::optimizer_of_rest, -1, {});
            gather_parameters({&rest, 1}, 1);
        } else if (!rules_.overlap_param_gather) {
            gather_parameters({&optimizer, 1});
        }
    }

    void gather_parameters(std::span<const std::uint32_t> waits, std::int32_t first = 0) {
        for (std::int32_t c = first; c < shape_.chunks; ++c) {
            add_of_chunk(StageTask::gather_parameters, c, waits);
        }
    }

    std::span<const std::uint32_t> last_pass() const { return std::span{passes_}.last(1); }

    const StageRules& rules_;
    const ScheduleShape& shape_;
    std::int32_t stage_;
    StageWalk walk_;
    std::vector<std::uint32_t> passes_;    // of layers, all up to now, in order
    std::vector<std::uint32_t> exchange_;  // messages that the next turn waits for
};

}  // namespace

StageRules rules_of(const ParallelPlan& plan, bool tied_embeddings) {
    return {
        .schedule = plan.schedule,
        .overlap_p2p = plan.overlap_p2p,
        .overlap_grad_reduce = plan.overlap_grad_reduce,
        .overlap_param_gather = plan.overlap_param_gather,
        .overlap_param_gather_with_optimizer_step = plan.overlap_param_gather_with_optimizer_step,
        .tied_embeddings = tied_embeddings,
        .weight_passes = true,
        .pairs_passes = plan.overlap_moe_expert_parallel_comm};
}

bool receives(const ScheduleShape& shape, std::int32_t stage, const WorkItem& item) {
    const std::int32_t end = is_forward(item) ? 0 : shape.virtual_stages() - 1;
    const bool turned = shape.turns_at(stage) && is_forward(item) == !shape.ascends(item.chunk);
    return shape.stages > 1 && moves(item) && !turned &&
           shape.virtual_stage(stage, item.chunk) != end;
}

bool sends(const ScheduleShape& shape, std::int32_t stage, const WorkItem& item) {
    const std::int32_t end = is_forward(item) ? shape.virtual_stages() - 1 : 0;
    const bool turns = shape.turns_at(stage) && is_forward(item) == shape.ascends(item.chunk);
    return shape.stages > 1 && moves(item) && !turns &&
           shape.virtual_stage(stage, item.chunk) != end;
}

StageWalk stage_work(const StageRules& rules, const ScheduleShape& shape, std::int32_t stage) {
    return StageWalker{rules, shape, stage}.walk();
}

}  // namespace orrery
