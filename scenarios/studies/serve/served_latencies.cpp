// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_latencies.h"

#include <algorithm>
#include <utility>

#include "engine/base/statistics.h"

namespace orrery {

std::vector<Time> end_to_end_times(const ServingResult& result,
                                   const std::vector<Request>& requests) {
    struct Span {
        Time first = Time::max();
        Time last{};
        bool whole = true;
    };
    std::vector<Span> workflows;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::uint32_t workflow = requests[i].workflow;
        if (workflow == 0) {
            continue;
        }
        if (workflows.size() < workflow) {
            workflows.resize(workflow);
        }
        Span& span = workflows[workflow - 1];
        const RequestRecord& record = result.records[i];
        span.whole = span.whole && record.finished();
        if (record.finished()) {
            span.first = std::min(span.first, record.arrival);
            span.last = std::max(span.last, record.last_token);
        }
    }
    std::vector<Time> times;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::uint32_t workflow = requests[i].workflow;
        const RequestRecord& record = result.records[i];
        if (workflow == 0) {
            times.push_back(record.finished() ? record.end_to_end() : Time::max());
        } else {
            const Span& span = workflows[workflow - 1];
            times.push_back(span.whole ? span.last - span.first : Time::max());
        }
    }
    return times;
}

Result<void> check_workflows(const ServingSpec& spec,
                             const std::vector<Request>& requests,
                             const ServingLoad& load) {
    const bool workflows = !requests.empty() && requests.front().workflow > 0;
    if (workflows && (load.users > 0 || spec.objectives.any_slowdown())) {
        return fail("workload.lengths",
                    "workflows come by request_rate, and have no slowdowns over an idle instance",
                    "serving.objectives: {e2e: 60 s}");
    }
    if (!workflows && spec.engine.queue_order == QueueOrder::deadline) {
        return fail("serving.engine.queue_order",
                    "deadlines are of workflows, and the load has none",
                    "a table of stages as workload.lengths");
    }
    return {};
}

// The calls of later stages follow all first calls, in the order of their workflows.
bool ends_workflow(const std::vector<Request>& requests, std::size_t request) {
    const std::uint32_t workflow = requests[request].workflow;
    if (workflow == 0) {
        return true;
    }
    const bool next_is_same =
        request + 1 < requests.size() && requests[request + 1].workflow == workflow;
    return !next_is_same && (requests[request].stage > 0 || requests.back().stage == 0);
}

LatencySummary latency_summary(std::vector<double> seconds) {
    if (seconds.empty()) {
        return {};
    }
    std::sort(seconds.begin(), seconds.end());
    double sum = 0;
    for (const double value : seconds) {
        sum += value;
    }
    return {.mean = sum / static_cast<double>(seconds.size()),
            .p50 = nearest_rank(seconds, 50),
            .p90 = nearest_rank(seconds, 90),
            .p99 = nearest_rank(seconds, 99)};
}

namespace {

// `end_to_end` is the time of the request, or of its whole workflow.
bool is_good(const RequestRecord& record, Time end_to_end, const ServingObjectives& objectives) {
    const auto meets = [](Time time, Time objective) {
        return objective == Time{} || time <= objective;
    };
    return meets(record.time_to_first_token(), objectives.ttft) &&
           meets(end_to_end, objectives.e2e) && meets(record.slow_gap, objectives.tbt) &&
           (record.output_tokens < 2 || meets(record.time_per_output_token(), objectives.tpot));
}

}  // namespace

void add_latencies(const ServingResult& result,
                   const std::vector<Request>& requests,
                   const ServingObjectives& objectives,
                   ServingAnswer& answer) {
    std::int64_t good = 0;
    std::vector<double> ttft;
    std::vector<double> tpot;
    std::vector<double> slow_gaps;
    std::vector<double> e2e;
    std::vector<double> queued;
    std::int64_t output = 0;
    Time first = Time::max();
    const std::vector<Time> ends = end_to_end_times(result, requests);
    for (std::size_t i = 0; i < result.records.size(); ++i) {
        const RequestRecord& record = result.records[i];
        answer.preemptions += record.preemptions;
        if (!record.finished()) {
            ++answer.refused;
            answer.rejected += record.rejected ? 1 : 0;
            continue;
        }
        ++answer.requests;
        first = std::min(first, record.arrival);
        output += record.output_tokens;
        good += is_good(record, ends[i], objectives) ? 1 : 0;
        ttft.push_back(record.time_to_first_token().seconds());
        if (ends_workflow(requests, i) && ends[i] < Time::max()) {
            e2e.push_back(ends[i].seconds());
        }
        queued.push_back((record.first_scheduled - record.arrival).seconds());
        if (record.output_tokens > 1) {
            tpot.push_back(record.time_per_output_token().seconds());
            slow_gaps.push_back(record.slow_gap.seconds());
        }
    }
    answer.ttft_s = latency_summary(std::move(ttft));
    answer.tpot_s = latency_summary(std::move(tpot));
    answer.slow_gap_s = latency_summary(std::move(slow_gaps));
    answer.e2e_s = latency_summary(std::move(e2e));
    answer.queued_s = latency_summary(std::move(queued));
    if (answer.requests > 0) {
        answer.makespan = result.end - first;
        const double seconds = answer.makespan.seconds();
        answer.output_tokens_per_s = static_cast<double>(output) / seconds;
        answer.requests_per_s = static_cast<double>(answer.requests) / seconds;
        answer.goodput = static_cast<double>(good) / seconds;
        answer.good_share = static_cast<double>(good) / static_cast<double>(result.records.size());
    }
}

}  // namespace orrery
