// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/synthetic_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "engine/base/counter_random.h"
#include "engine/base/splitmix.h"
#include "scenarios/format/read/client_table.h"
#include "scenarios/format/read/read_request_trace.h"
#include "scenarios/studies/serve/image_load.h"
#include "scenarios/studies/serve/request_lengths.h"

namespace orrery {

namespace {

constexpr std::uint32_t kArrivals = 0x41727276;  // separate streams of random numbers
constexpr std::uint32_t kAdapters = 0x41646170;
constexpr std::uint32_t kTurns = 0x5475726e;
constexpr std::uint32_t kPrefixes = 0x50726566;
constexpr std::uint32_t kPredictions = 0x50726564;
constexpr std::uint32_t kTemplates = 0x54656d70;
constexpr double kMostBlocks = 5e8;  // of prompts together; a block's hash has eight bytes

// A time between arrivals with mean 1 and standard deviation `variation`.
double gap(CounterRandom& random, double variation) {
    return variation == 1 ? random.exponential() : random.gamma(1 / (variation * variation));
}

// The text of a conversation so far: who shares which of its blocks. Turns share the blocks of what
// was said, unless one forks off, and all prompts share the blocks of the common beginning.
class Said {
public:
    Said(std::uint64_t conversation, std::int64_t system_tokens)
        : system_tokens_(system_tokens), branches_{{.from = 0, .id = 1 + conversation}} {}
    // From this token on the text is another one than before.
    void fork(std::int64_t token) {
        constexpr std::uint64_t kForks = std::uint64_t{1} << 40;  // more than conversations
        while (branches_.size() > 1 && branches_.back().from >= token) {
            branches_.pop_back();
        }
        branches_.push_back({.from = token, .id = branches_.front().id + ++forks_ * kForks});
    }
    std::vector<std::uint64_t> hashes(std::int64_t prompt_tokens, std::int64_t block_size) const {
        std::vector<std::uint64_t> hashes;
        for (std::int64_t i = 0; block_size > 0 && i < prompt_tokens / block_size; ++i) {
            const std::int64_t end = (i + 1) * block_size;
            CounterRandom hash(end <= system_tokens_ ? 0 : branch_at(end),
                               static_cast<std::uint64_t>(i),
                               kPrefixes);
            hashes.push_back(hash.next());
        }
        return hashes;
    }

private:
    struct Branch {
        std::int64_t from = 0;
        std::uint64_t id = 0;
    };
    // The branch that the token before `end` is of.
    std::uint64_t branch_at(std::int64_t end) const {
        std::size_t at = branches_.size() - 1;
        while (at > 0 && branches_[at].from >= end) {
            --at;
        }
        return branches_[at].id;
    }

    std::int64_t system_tokens_;
    std::vector<Branch> branches_;
    std::uint64_t forks_ = 0;
};

// The `count` earliest arrivals so far. Later ones cannot belong to the load.
class EarliestArrivals {
public:
    explicit EarliestArrivals(std::int64_t count) : count_(static_cast<std::size_t>(count)) {}
    bool may_have(Time arrival) const { return latest_.size() < count_ || arrival < latest_.top(); }
    void add(Time arrival) {
        latest_.push(arrival);
        if (latest_.size() > count_) {
            latest_.pop();
        }
    }

private:
    std::size_t count_;
    std::priority_queue<Time> latest_;
};

// How likely conversations go on. With chances drawn from a beta distribution of parameters a
// (ends) and b, those that had k turns after the first go on with (b + k) / (a + b + k). The later
// turns then are (b / (a - 1)) in the mean, and vary a / (a - 2) times as much as geometric ones.
class GoesOn {
public:
    explicit GoesOn(const WorkloadSpec& workload) : turns_(workload.turns) {
        if (workload.turns_variation > 0) {
            const double times = workload.turns_variation * workload.turns_variation *
                                 workload.turns / (workload.turns - 1);
            ends_ = 2 * times / (times - 1);
            goes_on_ = (workload.turns - 1) * (ends_ - 1);
        }
    }
    bool after(std::int64_t later_turns, double uniform) const {
        if (ends_ == 0) {
            return uniform * turns_ > 1;
        }
        const double on = goes_on_ + static_cast<double>(later_turns);
        return uniform * (ends_ + on) < on;
    }

private:
    double turns_;
    double ends_ = 0;  // 0: all conversations are equally likely to go on
    double goes_on_ = 0;
};

// No conversation is under way when the load begins. A turn of an earlier conversation may follow
// turns of later ones, so conversations are drawn until none can begin early enough.
std::vector<Request> conversations(const WorkloadSpec& workload,
                                   const LengthTable* table,
                                   std::int64_t block_size) {
    CounterRandom arrivals(workload.seed, 0, kArrivals);
    CounterRandom turns(workload.seed, 0, kTurns);
    const GoesOn goes_on(workload);
    RequestLengths lengths(workload, table);
    std::vector<Request> requests;
    EarliestArrivals earliest{workload.num_requests};
    double start = 0;
    const double rate = workload.request_rate / workload.turns;
    const auto arrival_of = [](double now) { return Time::seconds(std::min(now, kLongestLoad_s)); };
    for (std::uint64_t one = 0;; ++one) {
        start += gap(arrivals, workload.arrival_variation) / rate;
        if (!earliest.may_have(arrival_of(start))) {
            break;
        }
        double now = start;
        std::int64_t history = workload.system_tokens;
        Said said(one, workload.system_tokens);
        std::int64_t turn = 0;
        do {
            const bool first = turn == 0;
            if (!first && workload.turn_forks > 0 && turns.uniform() < workload.turn_forks) {
                said.fork(std::llround(static_cast<double>(history) * workload.turn_fork_kept));
            }
            const std::int64_t fresh =
                first || workload.turn_tokens == 0
                    ? lengths.input()
                    : whole_tokens(turns.exponential() * workload.turn_tokens);
            Request request{.arrival = arrival_of(now),
                            .prompt_tokens = history + fresh,
                            .output_tokens = lengths.output()};
            history = request.prompt_tokens + request.output_tokens;
            if (earliest.may_have(request.arrival)) {
                earliest.add(request.arrival);
                request.prefix_hashes = said.hashes(request.prompt_tokens, block_size);
                requests.push_back(std::move(request));
            }
            now += turns.exponential() * workload.turn_gap.seconds();
        } while (goes_on.after(turn++, turns.uniform()));
    }
    std::ranges::stable_sort(requests, {}, &Request::arrival);
    requests.resize(static_cast<std::size_t>(workload.num_requests));
    return requests;
}

// Errors of prompts of conversations or of an earlier run that name too many blocks.
Errors too_many_blocks(const WorkloadSpec& workload, std::int64_t block_size) {
    const bool talks = workload.has_conversations();
    const std::int64_t prompts = talks ? workload.num_requests : workload.repeated_requests;
    if (prompts == 0 || block_size == 0) {
        return {};
    }
    const double later = workload.turn_tokens > 0 ? workload.turn_tokens : workload.input_tokens;
    const double tokens = static_cast<double>(workload.system_tokens) + workload.input_tokens +
                          (workload.turns - 1) / 2 * (later + workload.output_tokens);
    const double blocks = static_cast<double>(prompts) * tokens / static_cast<double>(block_size);
    if (blocks <= kMostBlocks) {
        return {};
    }
    return {{"workload",
             fmt::format("prompts that share tokens have some {:.1e} blocks in all", blocks),
             talks ? "fewer requests, or fewer tokens, turns and system_tokens"
                   : "fewer repeated_requests, or fewer tokens"}};
}

// Every client has its own stream of arrivals.
std::vector<Request> requests_of_clients(const WorkloadSpec& workload,
                                         const std::vector<LoadClient>& clients) {
    double rate = 0;
    for (const LoadClient& client : clients) {
        rate += client.rate;
    }
    const double faster = workload.request_rate > 0 ? workload.request_rate / rate : 1;
    std::vector<CounterRandom> randoms;
    using Next = std::pair<double, std::size_t>;  // arrival, client
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    const auto expect = [&](double now, std::size_t client) {
        const LoadClient& of = clients[client];
        next.emplace(now + gap(randoms[client], of.gap_variation) / (of.rate * faster), client);
    };
    for (std::size_t i = 0; i < clients.size(); ++i) {
        randoms.emplace_back(workload.seed, i, kArrivals);
        expect(0, i);
    }
    std::vector<Request> requests;
    while (std::ssize(requests) < workload.num_requests) {
        const auto [now, client] = next.top();
        next.pop();
        const LengthTable& lengths = clients[client].lengths;
        const auto length = [&](const std::vector<double>& column) {
            return whole_tokens(length_at(lengths, column, randoms[client].uniform()));
        };
        Request request{.arrival = Time::seconds(std::min(now, kLongestLoad_s))};
        request.prompt_tokens = length(lengths.input_tokens);
        request.output_tokens = length(lengths.output_tokens);
        requests.push_back(std::move(request));
        expect(now, client);
    }
    return requests;
}

}  // namespace

void draw_adapters(const WorkloadSpec& workload, std::vector<Request>& requests) {
    if (workload.adapters == 0) {
        return;
    }
    std::vector<double> below(static_cast<std::size_t>(workload.adapters));  // cumulative weights
    const bool alike = workload.adapter_popularity != AdapterPopularity::zipf;
    double sum = 0;
    for (std::size_t i = 0; i < below.size(); ++i) {
        sum += alike ? 1 : std::pow(static_cast<double>(i + 1), -workload.adapter_alpha);
        below[i] = sum;
    }
    CounterRandom random(workload.seed, 0, kAdapters);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto drawn = std::ranges::upper_bound(below, random.uniform() * sum) - below.begin();
        const bool in_turn = workload.adapter_popularity == AdapterPopularity::in_turn;
        requests[i].adapter = static_cast<std::int32_t>(
            in_turn ? static_cast<std::int64_t>(i) % workload.adapters
                    : std::min<std::int64_t>(drawn, workload.adapters - 1));
        // Keys and values depend on the adapter: vLLM's hashes of blocks include it.
        for (std::uint64_t& hash : requests[i].prefix_hashes) {
            hash = splitmix64(hash + 1 + static_cast<std::uint64_t>(requests[i].adapter));
        }
    }
}

namespace {

// Hashes of a call's blocks. Prompts with one template share its blocks; the others belong to the
// call.
std::vector<std::uint64_t> hashes_of_call(const WorkflowStage& stage,
                                          std::uint64_t call,
                                          std::int64_t prompt_tokens,
                                          std::int64_t block_size) {
    std::vector<std::uint64_t> hashes;
    for (std::int64_t i = 0; i < prompt_tokens / block_size; ++i) {
        const bool shared = (i + 1) * block_size <= stage.template_tokens;
        const auto place = static_cast<std::uint64_t>(i);
        CounterRandom hash =
            shared ? CounterRandom(
                         static_cast<std::uint64_t>(stage.template_tokens), place, kTemplates)
                   : CounterRandom(1 + call, place, kPrefixes);
        hashes.push_back(hash.next());
    }
    return hashes;
}

// Errors of a load whose prompts would name too many blocks.
Errors too_many_template_blocks(const WorkloadSpec& workload,
                                const std::vector<WorkflowStage>& stages,
                                std::int64_t block_size) {
    double blocks = 0;
    for (const WorkflowStage& stage : stages) {
        blocks += static_cast<double>(workload.num_requests * stage.calls) * stage.input_tokens /
                  static_cast<double>(std::max<std::int64_t>(block_size, 1));
    }
    if (blocks <= kMostBlocks) {
        return {};
    }
    return {{"workload.lengths",
             fmt::format("prompts with templates have some {:.1e} blocks in all", blocks),
             "fewer workflows, or a table without template_tokens"}};
}

// `num_requests` workflows. The calls of first stages precede all calls of later stages.
ResultOrErrors<std::vector<Request>> workflow_requests(const WorkloadSpec& workload,
                                                       const std::vector<WorkflowStage>& stages,
                                                       std::int64_t block_size) {
    constexpr std::int64_t kMostCalls = 10'000'000;
    std::int64_t calls = 0;  // per workflow
    for (const WorkflowStage& stage : stages) {
        calls += stage.calls;
    }
    if (workload.users > 0 || workload.has_conversations() || workload.adapters > 0 ||
        workload.repeated_requests > 0) {
        return unexpected<Errors>(Errors{{"workload.lengths",
                                          "workflows come by request_rate, without users, turns, "
                                          "system_tokens, adapters and repeated_requests",
                                          "request_rate: 0.5"}});
    }
    if (workload.num_requests > kMostCalls / calls) {
        return unexpected<Errors>(
            Errors{{"workload.num_requests",
                    fmt::format("{} workflows of {} calls are more than {} calls",
                                workload.num_requests,
                                calls,
                                kMostCalls),
                    fmt::format("at most {}", kMostCalls / calls)}});
    }
    const bool shares =
        block_size > 0 && std::ranges::any_of(stages, [](const WorkflowStage& stage) {
            return stage.template_tokens > 0;
        });
    if (Errors errors = too_many_template_blocks(workload, stages, block_size);
        shares && !errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    CounterRandom arrivals(workload.seed, 0, kArrivals);
    std::vector<Request> requests;
    std::vector<Request> later;
    double now = 0;
    const auto add = [&](std::int64_t workflow, const WorkflowStage& stage) {
        Request call{.arrival = Time::seconds(std::min(now, kLongestLoad_s)),
                     .prompt_tokens = whole_tokens(stage.input_tokens),
                     .output_tokens = whole_tokens(stage.output_tokens),
                     .workflow = static_cast<std::uint32_t>(workflow + 1),
                     .stage = stage.stage};
        if (shares) {
            call.prefix_hashes = hashes_of_call(
                stage, requests.size() + later.size(), call.prompt_tokens, block_size);
        }
        (stage.stage == 0 ? requests : later).push_back(std::move(call));
    };
    for (std::int64_t one = 0; one < workload.num_requests; ++one) {
        if (workload.request_rate > 0) {
            now += gap(arrivals, workload.arrival_variation) / workload.request_rate;
        }
        for (const WorkflowStage& stage : stages) {
            for (std::int64_t call = 0; call < stage.calls; ++call) {
                add(one, stage);
            }
        }
    }
    requests.insert(requests.end(), later.begin(), later.end());
    return requests;
}

ResultOrErrors<std::vector<Request>> load_of(const WorkloadSpec& workload,
                                             std::int64_t block_size) {
    if (!workload.trace.empty()) {
        auto traced = read_request_trace(
            workload.trace, {.of_trace = workload.trace_block_tokens, .of_cache = block_size});
        if (traced) {
            draw_adapters(workload, *traced);
        }
        return traced;
    }
    if (!workload.clients.empty()) {
        const auto clients = read_client_table(workload.clients, workload.client_group);
        if (!clients) {
            return unexpected<Errors>(clients.error());
        }
        auto requests = requests_of_clients(workload, *clients);
        draw_adapters(workload, requests);
        return requests;
    }
    if (Errors errors = too_many_blocks(workload, block_size); !errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    if (workload.lengths.empty()) {
        return synthetic_requests(workload, nullptr, block_size);
    }
    if (is_stage_table(workload.lengths)) {
        const auto stages = read_stage_table(workload.lengths);
        if (!stages) {
            return unexpected<Errors>(stages.error());
        }
        return workflow_requests(workload, *stages, block_size);
    }
    const auto table = read_length_table(workload.lengths);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    return synthetic_requests(workload, &*table, block_size);
}

// Moves arrivals to the last multiple of the step.
void come_in_steps(Time step, std::vector<Request>& requests) {
    if (step <= Time{}) {
        return;
    }
    for (Request& request : requests) {
        const std::int64_t steps = request.arrival.picoseconds() / step.picoseconds();
        request.arrival = step * steps;
    }
}

// Sets the output length that a predictor gives: the true length times a lognormal factor.
void predict_lengths(const WorkloadSpec& workload, std::vector<Request>& requests) {
    CounterRandom random(workload.seed, 0, kPredictions);
    for (Request& request : requests) {
        const double factor = std::exp(workload.prediction_error * random.normal());
        request.predicted_tokens =
            whole_tokens(static_cast<double>(request.output_tokens) * factor);
    }
}

}  // namespace

ResultOrErrors<std::vector<Request>> requests_of(const WorkloadSpec& workload,
                                                 std::int64_t block_size) {
    auto requests = load_of(workload, block_size);
    if (requests) {
        come_in_steps(workload.arrival_step, *requests);
        draw_images(workload, *requests);
        predict_lengths(workload, *requests);
    }
    return requests;
}

ResultOrErrors<std::vector<Request>> requests_of(const Scenario& scenario) {
    return requests_of(scenario.workload, scenario.serving.pools.front().limits.block_size);
}

std::vector<Request> synthetic_requests(const WorkloadSpec& workload,
                                        const LengthTable* table,
                                        std::int64_t block_size) {
    std::vector<Request> requests;
    if (workload.has_conversations()) {
        requests = conversations(workload, table, block_size);
        draw_adapters(workload, requests);
        return requests;
    }
    CounterRandom arrivals(workload.seed, 0, kArrivals);
    RequestLengths lengths(workload, table);
    double now = 0;
    for (std::int64_t i = 0; i < workload.num_requests; ++i) {
        if (workload.users == 0 && workload.request_rate > 0) {
            now += gap(arrivals, workload.arrival_variation) / workload.request_rate;
        }
        Request request{.arrival = Time::seconds(std::min(now, kLongestLoad_s))};
        request.prompt_tokens = lengths.input();
        request.output_tokens = lengths.output();
        if (i < workload.repeated_requests) {
            request.prefix_hashes =
                Said(static_cast<std::uint64_t>(i), 0).hashes(request.prompt_tokens, block_size);
            request.repeated = true;
        }
        requests.push_back(std::move(request));
    }
    draw_adapters(workload, requests);
    return requests;
}

}  // namespace orrery
