// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/request_router.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engine/base/counter_random.h"
#include "engine/serving/step_estimates.h"

namespace orrery {

namespace {

using Instances = std::span<const BatchScheduler* const>;

constexpr std::uint32_t kRouterPurpose = 0x526f7574;  // key of its random stream

std::int64_t num_requests(const BatchScheduler& instance) {
    return instance.num_waiting() + instance.num_running();
}

// Tokens of a step in flight are not pending (BatchScheduler::pending_tokens()), so that a busy and
// an idle instance may have equal numbers. Requests break the tie.
std::pair<std::int64_t, std::int64_t> tokens_and_requests(std::int64_t tokens,
                                                          const BatchScheduler& instance) {
    return {tokens, num_requests(instance)};
}

// The first instance with the least load.
template <class Load>
std::size_t least(Instances instances, Load load) {
    std::size_t best = 0;
    auto fewest = load(*instances[0]);
    for (std::size_t i = 1; i < instances.size(); ++i) {
        if (auto here = load(*instances[i]); here < fewest) {
            best = i;
            fewest = here;
        }
    }
    return best;
}

// Routers that do not know of each other list the instances in orders of their own, as Dynamo's do,
// whose list is that of a hash map (lib/runtime/src/component/client.rs).
class RoundRobin : public RequestRouter {
public:
    RoundRobin(std::uint64_t seed, std::int64_t routers)
        : seed_(seed), routers_(static_cast<std::size_t>(std::max<std::int64_t>(1, routers))) {}

    std::size_t choose(const Request&, Instances instances) override {
        const std::size_t router = turn_++ % routers_.size();
        One& one = routers_[router];
        if (one.order.size() != instances.size()) {
            one.order = order_of(router, instances.size());
        }
        return one.order[one.next++ % one.order.size()];
    }

private:
    struct One {
        std::vector<std::size_t> order;
        std::size_t next = 0;
    };

    // A single router's is that of the instances.
    std::vector<std::size_t> order_of(std::size_t router, std::size_t instances) const {
        std::vector<std::size_t> order(instances);
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (routers_.size() > 1) {
            CounterRandom random(seed_, kFirstOrder + router, kRouterPurpose);
            for (std::size_t i = instances; i > 1; --i) {
                std::swap(order[i - 1], order[random.next() % i]);
            }
        }
        return order;
    }

    static constexpr std::uint64_t kFirstOrder = 2;  // other routers draw from entities 0 and 1
    std::uint64_t seed_;
    std::vector<One> routers_;
    std::size_t turn_ = 0;
};

class RandomRouter : public RequestRouter {
public:
    explicit RandomRouter(std::uint64_t seed) : random_(seed, 0, kRouterPurpose) {}
    std::size_t choose(const Request&, Instances instances) override {
        return random_.next() % instances.size();
    }

private:
    CounterRandom random_;
};

class LeastRequests : public RequestRouter {
public:
    explicit LeastRequests(std::uint64_t) {}
    std::size_t choose(const Request&, Instances instances) override {
        return least(instances, num_requests);
    }
};

class LeastTokens : public RequestRouter {
public:
    explicit LeastTokens(std::uint64_t) {}
    std::size_t choose(const Request&, Instances instances) override {
        return least(instances, [](const BatchScheduler& one) {
            return tokens_and_requests(one.pending_tokens(), one);
        });
    }
};

class PowerOfTwo : public RequestRouter {
public:
    explicit PowerOfTwo(std::uint64_t seed) : random_(seed, 1, kRouterPurpose) {}
    std::size_t choose(const Request&, Instances instances) override {
        const std::size_t one = random_.next() % instances.size();
        const std::size_t other = random_.next() % instances.size();
        return num_requests(*instances[other]) < num_requests(*instances[one]) ? other : one;
    }

private:
    CounterRandom random_;
};

class PrefixAware : public RequestRouter {
public:
    explicit PrefixAware(std::uint64_t) {}
    std::size_t choose(const Request& request, Instances instances) override {
        return least(instances, [&](const BatchScheduler& one) {
            const std::int64_t cached =
                one.pool().cached_prefix(request.prefix_hashes) * one.limits().block_size;
            return tokens_and_requests(one.pending_tokens() - cached, one);
        });
    }
};

// Routers that predict times. Without estimates they count tokens.
class PredictingRouter : public RequestRouter {
public:
    void use(StepEstimates& estimates) override { estimates_ = &estimates; }

protected:
    StepEstimates* estimates_ = nullptr;
};

// Without estimates, a queued token counts as much as a token of the prompt.
class FirstToken : public PredictingRouter {
public:
    explicit FirstToken(std::uint64_t) {}
    std::size_t choose(const Request& request, Instances instances) override {
        return least(instances, [&](const BatchScheduler& one) {
            const Time first = estimates_ != nullptr
                                   ? estimates_->first_token(request, one)
                                   : Time::picoseconds(one.pending_tokens() +
                                                       request.prompt_tokens -
                                                       one.prefix_tokens(request));
            return std::pair{first, num_requests(one)};
        });
    }
};

// The estimates are for the pool's first instance; an instance's relative_time scales them.
class EarliestEnd : public PredictingRouter {
public:
    explicit EarliestEnd(std::uint64_t) {}
    std::size_t choose(const Request& request, Instances instances) override {
        return least(instances, [&](const BatchScheduler& one) {
            const double there = one.limits().relative_time;
            return std::pair{there * work(request, one), num_requests(one)};
        });
    }

private:
    double work(const Request& request, const BatchScheduler& one) {
        const std::int64_t outputs =
            request.predicted_tokens > 0 ? request.predicted_tokens : request.output_tokens;
        if (estimates_ == nullptr) {
            return static_cast<double>(one.pending_tokens() + request.prompt_tokens + outputs);
        }
        Generating all = one.generating();
        const std::int64_t waiting = std::ssize(one.pending_prompts());
        all.sequences += 1 + waiting;
        all.context += request.prompt_tokens * (1 + waiting);
        return estimates_->first_token(request, one).seconds() +
               static_cast<double>(outputs) * estimates_->generation(all).seconds();
    }
};

struct Row {
    std::string_view name;
    std::unique_ptr<RequestRouter> (*make)(std::uint64_t seed, std::int64_t routers);
};

template <class Kind>
std::unique_ptr<RequestRouter> make_one(std::uint64_t seed, std::int64_t routers) {
    if constexpr (std::is_constructible_v<Kind, std::uint64_t, std::int64_t>) {
        return std::make_unique<Kind>(seed, routers);
    } else {
        return std::make_unique<Kind>(seed);
    }
}

constexpr std::array<Row, 8> kRouters{{
    {"round_robin", make_one<RoundRobin>},
    {"random", make_one<RandomRouter>},
    {"least_requests", make_one<LeastRequests>},
    {"least_tokens", make_one<LeastTokens>},
    {"power_of_two", make_one<PowerOfTwo>},
    {"first_token", make_one<FirstToken>},
    {"prefix_aware", make_one<PrefixAware>},
    {"earliest_end", make_one<EarliestEnd>},
}};

}  // namespace

std::vector<std::string_view> request_router_names() {
    std::vector<std::string_view> names;
    for (const Row& row : kRouters) {
        names.push_back(row.name);
    }
    return names;
}

std::unique_ptr<RequestRouter> make_request_router(std::string_view name,
                                                   std::uint64_t seed,
                                                   std::int64_t routers) {
    for (const Row& row : kRouters) {
        if (row.name == name) {
            return row.make(seed, routers);
        }
    }
    return nullptr;
}

}  // namespace orrery
