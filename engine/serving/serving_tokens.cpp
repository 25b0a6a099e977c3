// SPDX-License-Identifier: Apache-2.0
// The tokens of steps: when clients have them, what requests record of them, and the ends of
// requests.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/prefetch.h"
#include "engine/serving/served_run.h"

namespace orrery {

namespace {

// Records of a step's sequences are scattered in memory: prefetch this many ahead.
constexpr std::size_t kRecordsAhead = 8;

}  // namespace

// Records the tokens of a request from one step, which its client has at `seen`.
void ServedRun::record_tokens(RequestId request, std::int64_t tokens, Time seen) {
    const std::size_t id = number_of(request);
    RequestRecord& record = result_.records[id];
    for (std::int64_t token = 0; token < tokens; ++token) {
        if (record.output_tokens++ == 0) {
            record.first_token = seen;
            hold_to(bounds_.first_token, record.time_to_first_token(), longer_.first_token);
        } else {
            const Time gap = seen - last_token_[id];
            record.longest_gap = std::max(record.longest_gap, gap);
            if (slow_gaps_) {
                gaps_[id].push_back(gap);
            }
            if (token_gaps_) {
                result_.token_gaps.push_back(gap);
            }
        }
        last_token_[id] = seen;
    }
}

// Tokens that wait for a later response count from when they are computed.
Time ServedRun::respond(std::size_t number, const Sampled& sampled) {
    const std::int64_t before = record_of(sampled.request).output_tokens;
    return responses_.through(number, now_, before, sampled.tokens, sampled.finished)
        .value_or(std::max(now_, last_token_[number_of(sampled.request)]));
}

// The 99th percentile by nearest rank leaves a hundredth of the values above it, rounded down.
void ServedRun::hold_to(Time bound, Time time, std::size_t& longer) {
    if (bound > Time{} && time > bound && ++longer > requests_.size() / 100) {
        result_.gave_up = true;
    }
}

void ServedRun::report_progress() {
    const std::size_t step = std::max<std::size_t>(1, requests_.size() / 1000);
    if (++ended_requests_ % step == 0 && progress_) {
        progress_(static_cast<double>(ended_requests_) / static_cast<double>(requests_.size()));
    }
}

// Ends the current wait and returns its length; zero without a wait.
Time ServedRun::end_wait(RequestId id) {
    Time& began = wait_began_[number_of(id)];
    const Time took = began == Time::max() ? Time{} : now_ - began;
    began = Time::max();
    return took;
}

void ServedRun::complete(std::size_t number) {
    sampled_.clear();
    if (parts_.observer != nullptr) {
        ServedStep step = instances_[number].oldest_step();
        step.instance = number - pools_[step.pool].first;
        parts_.observer->completed(step);
    }
    if (layer_wise_ > 0 && instances_[number].pool() == 0) {
        complete_layers(number, instances_[number].oldest_batch());
    }
    instances_[number].complete(sampled_);
    for (std::size_t i = 0; i < sampled_.size(); ++i) {
        if (i + kRecordsAhead < sampled_.size()) {
            prefetch_line(&record_of(sampled_[i + kRecordsAhead].request).output_tokens);
        }
        const Sampled& sampled = sampled_[i];
        RequestRecord& record = record_of(sampled.request);
        const Time seen = respond(number, sampled);
        record_tokens(sampled.request, sampled.tokens, seen);
        if (!sampled.finished) {
            continue;
        }
        if (record.output_tokens < request_of(sampled.request).output_tokens) {
            hand_over(sampled.request, number);
            continue;
        }
        if (seen > now_) {
            events_.schedule(seen, kAnswered, static_cast<std::uint32_t>(sampled.request));
        } else {
            end_request(sampled.request);
        }
    }
}

namespace {

// The mean of the longest tenth.
Time slow_gap_of(std::vector<Time>& gaps) {
    if (gaps.empty()) {
        return {};
    }
    const std::size_t count = std::max<std::size_t>(1, gaps.size() / 10);
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(count);
    std::ranges::nth_element(gaps, middle - 1, std::ranges::greater{});
    Time sum;
    std::for_each(gaps.begin(), middle, [&](Time gap) { sum += gap; });
    return Time::picoseconds(sum.picoseconds() / static_cast<std::int64_t>(count));
}

}  // namespace

void ServedRun::end_request(RequestId id) {
    RequestRecord& record = record_of(id);
    record.last_token = now_;
    result_.end = now_;
    --in_system_;
    report_progress();
    hold_to(bounds_.output_token, record.time_per_output_token(), longer_.output_token);
    hold_to(bounds_.end_to_end, record.end_to_end(), longer_.end_to_end);
    if (slow_gaps_) {
        record.slow_gap = slow_gap_of(gaps_[number_of(id)]);
        gaps_[number_of(id)] = {};
    }
    const auto within = [](Time time, Time most) { return most == Time{} || time <= most; };
    const bool good = within(record.time_to_first_token(), parts_.scaling.first_token) &&
                      within(record.time_per_output_token(), parts_.scaling.output_token);
    for (Pool& pool : pools_) {
        ++pool.ended;
        pool.good += good ? 1 : 0;
    }
    if (closed_ && next_ < arriving_) {
        expect_user(now_);
    }
    end_call(request_of(id).workflow);
}

}  // namespace orrery
