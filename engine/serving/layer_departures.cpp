// SPDX-License-Identifier: Apache-2.0
// Keys and values that leave for the generating instance layer by layer while their prompt is
// computed (Patel et al., Splitwise, ISCA 2024; Qin et al., Mooncake, FAST 2025).
//
// The generating instance is chosen, and reserves blocks, at the first step of the prompt. A step
// computes L layers in equal times. All layers but the last leave when the first one is computed,
// and the last one leaves at the end of the step. Layers with computation c and transfer t each
// thus arrive at L c + t if t <= c, else at c + L t (layer_wise.h).
#include <algorithm>

#include "engine/base/check.h"
#include "engine/serving/served_run.h"

namespace orrery {

bool ServedRun::leaves_by_layers(const Request& request) const {
    return layer_wise_ > 0 && request.prompt_tokens >= layer_wise_ &&
           first_part(request) == ServedPart::prompt;
}

// Schedules the departures of a step whose end is known.
void ServedRun::expect_layers(std::size_t number, const ServedInstance::Begun& begun) {
    const std::int64_t layers = instances_[number].layers();
    const Time first = begun.begin + Time::picoseconds((begun.end - begun.begin).picoseconds() /
                                                       layers);
    for (const SequenceStep& step : begun.batch->steps) {
        if (!leaves_by_layers(request_of(step.request))) {
            continue;
        }
        Journey& journey = journey_of(step.request);
        if (journey.state == Journey::State::none) {
            journey = {.state = Journey::State::waiting,
                       .from = number,
                       .life = instances_[number].failures()};
            send(1, step.request, ServedPart::after_prompt);
        }
        departures_.emplace(next_departure_,
                            Departure{.request = step.request,
                                      .ready = (step.context + step.new_tokens) * layers -
                                               step.new_tokens});
        events_.schedule(std::max(first, now_), kLayers, next_departure_++);
    }
}

void ServedRun::depart(std::uint32_t departure) {
    const auto found = departures_.find(departure);
    ORRERY_CHECK(found != departures_.end());
    const Departure due = found->second;
    departures_.erase(found);
    leave(due.request, due.ready);
}

void ServedRun::complete_layers(std::size_t number, const Batch& batch) {
    for (const SequenceStep& step : batch.steps) {
        if (leaves_by_layers(request_of(step.request))) {
            leave(step.request,
                  (step.context + step.new_tokens) * instances_[number].layers());
        }
    }
}

// A preempted prompt is computed again, but the layers that have left are kept.
void ServedRun::leave(RequestId id, std::int64_t ready) {
    Journey& journey = journey_of(id);
    journey.ready = std::max(journey.ready, ready);
    if (journey.state == Journey::State::moving) {
        send_ready(id);
    }
}

void ServedRun::send_ready(RequestId id) {
    Journey& journey = journey_of(id);
    if (journey.under_way || journey.ready == journey.sent) {
        return;
    }
    transport_->start(now_,
                      id,
                      journey.from - pools_[0].first,
                      journey.to - pools_[1].first,
                      {.begin = journey.sent,
                       .end = journey.ready,
                       .layers = instances_[journey.from].layers()});
    journey.sent = journey.ready;
    journey.under_way = true;
    expect_transfer();
}

void ServedRun::end_part(RequestId id) {
    Journey& journey = journey_of(id);
    journey.under_way = false;
    if (journey.sent == request_of(id).prompt_tokens * instances_[journey.from].layers()) {
        end_move(id);
    } else {
        send_ready(id);
    }
}

}  // namespace orrery
