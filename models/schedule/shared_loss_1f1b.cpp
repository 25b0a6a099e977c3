// SPDX-License-Identifier: Apache-2.0
// 1F1B whose stages share the vocabulary (Vocab-1 of Yeung et al., arXiv 2411.05288, and
// megatron/core/pipeline_parallel/vocab_parallel_schedule.py of its code). After the last stage's
// forward pass of a micro-batch, each stage computes its part of the output layer (loss_forward).
// When all stages have done so, each computes its gradients (loss_backward). When these have been
// added, the last stage's backward pass begins.
//
// Every stage computes the loss once a period: the gradients of one micro-batch together with the
// forward part of the next. Then it looks rows of the embedding up for a later micro-batch, and
// adds the rows' gradients of an earlier one. One backward and one forward pass complete the
// period. The two barriers of a micro-batch take two periods, in which other micro-batches go on:
// p - s + 2 are in flight on stage s, two more than with 1F1B. What a period exchanges is posted
// before its backward pass, because the stages come to the loss up to two forward passes after each
// other.
#include <utility>

#include "engine/base/check.h"
#include "models/schedule/schedule.h"

namespace orrery {
namespace {

constexpr std::int32_t kBarriers = 2;

// Where a stage computes the loss inside its period, and how many losses come before its first
// backward pass, beside those of the barriers.
struct LossPlace {
    bool before_forward = true;  // backward, loss, forward; false: backward, forward, loss
    std::int32_t ahead = 0;
};

// A backward pass takes two forward passes' time. One stage before the last, all passes begin one
// forward pass earlier, and so on, until the backward pass would begin before the period does. The
// forward pass of such a stage comes first, and the stage before it has a forward pass's time more.
LossPlace loss_place(std::int32_t stages, std::int32_t stage) {
    LossPlace place;
    std::int32_t earlier = 0;  // in forward passes
    for (std::int32_t s = stages - 1; s > stage; --s) {
        if (!place.before_forward) {
            place.before_forward = true;
            --earlier;
            continue;
        }
        ++place.ahead;
        place.before_forward = earlier < 2;
        earlier += place.before_forward ? 1 : 0;
    }
    return place;
}

// The order of one stage. All stages exchange what the vocabulary needs in the same order.
class SharedOrder {
public:
    SharedOrder(const ScheduleShape& shape, std::int32_t stage)
        : micro_batches_(shape.micro_batches),
          stages_(shape.stages),
          first_stage_ahead_(loss_place(shape.stages, 0).ahead),
          place_(loss_place(shape.stages, stage)),
          warm_up_(shape.stages - stage) {}

    StageOrder order() {
        while (embedded_ + warm_up_ <= stages_) {
            embed();
        }
        for (std::int32_t m = 0; m < warm_up_; ++m) {
            embed();
            add(Pass::forward, m);
        }
        for (std::int32_t barrier = 0; barrier < kBarriers; ++barrier) {
            post();
            work();
            add(Pass::forward, warm_up_ + barrier);
        }
        for (std::int32_t i = 0; i < place_.ahead; ++i) {
            post();
            work();
        }
        for (std::int32_t m = 0; m < micro_batches_; ++m) {
            post();
            add(Pass::backward, m);
            if (place_.before_forward) {
                work();
            }
            add(Pass::forward, m + warm_up_ + kBarriers);
            if (!place_.before_forward) {
                work();
            }
        }
        while (embedding_of_turn() < micro_batches_) {
            post();
            work();
        }
        return std::move(order_);
    }

private:
    void add(Pass pass, std::int32_t micro_batch) {
        if (micro_batch >= 0 && micro_batch < micro_batches_) {
            order_.push_back({.pass = pass, .micro_batch = micro_batch});
        }
    }
    void embed() { add(Pass::embedding_forward, embedded_++); }
    // The micro-batch whose embedding gets its gradients in this turn: the first stage's backward
    // pass was in the turn before.
    std::int32_t embedding_of_turn() const { return turn_ - first_stage_ahead_ - kBarriers - 1; }
    void post() {
        add(Pass::loss_input, turn_);
        add(Pass::embedding_gradient, embedding_of_turn());
    }
    void work() {
        add(Pass::loss_backward, turn_ - 1);
        add(Pass::loss_forward, turn_);
        if (turn_ == 0 || turn_ > first_stage_ahead_) {
            embed();
        }
        add(Pass::embedding_backward, embedding_of_turn());
        ++turn_;
    }

    std::int32_t micro_batches_;
    std::int32_t stages_;
    std::int32_t first_stage_ahead_;
    LossPlace place_;
    std::int32_t warm_up_;
    std::int32_t turn_ = 0;
    std::int32_t embedded_ = 0;
    StageOrder order_;
};

}  // namespace

StageOrder shared_loss_1f1b(const ScheduleShape& shape, std::int32_t stage) {
    ORRERY_CHECK(shape.chunks == 1 && shape.placement == ChunkPlacement::looping);
    return SharedOrder{shape, stage}.order();
}

}  // namespace orrery
