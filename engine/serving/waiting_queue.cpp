// SPDX-License-Identifier: Apache-2.0
// When waiting requests may begin, and in which order.
#include <algorithm>

#include "engine/serving/batch_scheduler.h"

namespace orrery {

bool BatchScheduler::waits_for_ranks() {
    const std::size_t ready = waiting_.size() - fresh_;
    const bool for_all =
        ready >= limits_.balanced_ranks && waited_steps_ >= limits_.prompt_batching_steps;
    const bool alone = limits_.balanced_ranks == 1 || running_.empty();
    const bool begins =
        ready == 0 || alone || for_all || waited_steps_ >= limits_.prompt_wait_steps;
    waited_steps_ = begins ? 0 : waited_steps_ + 1;
    return !begins;
}

bool BatchScheduler::waits_for_others() const {
    if (rules_.mixes_phases || running_.empty()) {
        return false;
    }
    const double free = static_cast<double>(pool_.num_free());
    return waiting_.size() - fresh_ < limits_.prompts_together ||
           free < limits_.prompt_free_share * static_cast<double>(limits_.num_blocks);
}

void BatchScheduler::order_waiting() {
    if (limits_.order == QueueOrder::arrival) {
        return;
    }
    const auto predicted = [&](RequestId id) {
        const Request& request = requests_[static_cast<std::size_t>(id)];
        if (limits_.order == QueueOrder::deadline) {
            return std::int64_t{request.workflow};  // they are numbered as they come
        }
        return request.predicted_tokens > 0 ? request.predicted_tokens : request.output_tokens;
    };
    std::stable_sort(waiting_.begin(),
                     waiting_.end() - static_cast<std::ptrdiff_t>(fresh_),
                     [&](RequestId a, RequestId b) { return predicted(a) < predicted(b); });
}

}  // namespace orrery
