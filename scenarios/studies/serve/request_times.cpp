// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/request_times.h"

namespace orrery {

RequestTimes times_of(const RequestRecord& record) {
    const Time waited = record.cache_wait + record.cache_move + record.preempted;
    return {.queued = record.first_scheduled - record.arrival,
            .prompt = record.first_token - record.first_scheduled,
            .cache_wait = record.cache_wait,
            .cache_move = record.cache_move,
            .preempted = record.preempted,
            .generation = record.last_token - record.first_token - waited};
}

}  // namespace orrery
