// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/image_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "engine/base/counter_random.h"
#include "models/serving/serving_kernels.h"
#include "scenarios/studies/serve/serving_prices.h"

namespace orrery {

namespace {

constexpr std::uint32_t kImages = 0x496d6167;  // a stream of random numbers of its own

}  // namespace

void draw_images(const WorkloadSpec& workload, std::vector<Request>& requests) {
    if (workload.images == 0) {
        return;
    }
    CounterRandom random(workload.seed, 0, kImages);
    for (Request& request : requests) {
        if (random.uniform() < workload.image_share) {
            request.images = static_cast<std::int32_t>(workload.images);
            request.prompt_tokens += workload.images * workload.image_prompt_tokens;
        }
    }
}

Result<void> check_images(const Scenario& scenario,
                          const ServingSpec& spec,
                          const std::vector<Request>& requests,
                          const ServingLoad& load) {
    const bool images =
        std::ranges::any_of(requests, [](const Request& request) { return request.images > 0; });
    if (!spec.encoder.present() && images) {
        return fail("workload.images",
                    "images are read by an encoder, and there is none",
                    "serving.encoder: {model: {...}}");
    }
    if (!spec.encoder.present()) {
        return {};
    }
    const bool apart = spec.encoder.instances > 0;
    for (const auto& [given, what] :
         {std::pair{images && spec.objectives.any_slowdown(),
                    "objectives that compare with an idle instance"},
          std::pair{images && requests.front().workflow > 0, "workflows"},
          std::pair{spec.has_chain(), "a chain of layers"},
          std::pair{apart && load.users > 0, "a closed load"},
          std::pair{apart && spec.power.policy != "none", "a limit of power"},
          std::pair{apart && !scenario.faults.processes.empty(), "faults"}}) {
        if (given) {
            return fail(
                "serving.encoder",
                fmt::format("{} and an encoder{} do not go together",
                            what,
                            apart ? " with instances of its own" : ""),
                apart ? "instances: 0, or an open load without it" : "leave one of them out");
        }
    }
    const std::int64_t ranks = spec.pools.front().plan.tensor_model_parallel_size;
    if (!apart && spec.encoder.tensor_model_parallel_size > ranks) {
        return fail("serving.encoder.tensor_model_parallel_size",
                    fmt::format("{} ranks share an image, and an instance has {}",
                                spec.encoder.tensor_model_parallel_size,
                                ranks),
                    "at most those of the pool");
    }
    return {};
}

Result<EncodedLoad> encode_images(const Scenario& scenario,
                                  const ServingSpec& spec,
                                  const std::vector<Request>& requests) {
    const EncoderSpec& encoder = spec.encoder;
    const std::int64_t first_rank = spec.num_gpus() - encoder.num_gpus();
    auto prices =
        ServingPrices::make(scenario, encoder.model, encoder.plan(), spec.engine, first_rank);
    if (!prices) {
        return tl::unexpected(prices.error());
    }
    std::map<std::int32_t, std::pair<Time, Time>> known;  // computation, message; by images
    const auto times_of = [&](std::int32_t images) {
        const auto [at, fresh] = known.try_emplace(images);
        if (fresh) {
            const Bytes made{images * encoder.patches * encoder.model.hidden_size *
                             size_bytes(kServedStream)};
            at->second = {(*prices)->encoding_time(images, encoder.patches),
                          (*prices)->message_time(made, first_rank, 0)};
        }
        return at->second;
    };
    EncodedLoad encoded{.requests = requests, .places = std::vector<std::size_t>(requests.size())};
    std::iota(encoded.places.begin(), encoded.places.end(), std::size_t{0});
    std::priority_queue<Time, std::vector<Time>, std::greater<>> free_at;
    for (std::int64_t i = 0; i < encoder.instances; ++i) {
        free_at.push(Time{});
    }
    double wait_s = 0;
    std::int64_t with_images = 0;
    for (Request& request : encoded.requests) {
        if (request.images == 0) {
            continue;
        }
        const auto [work, message] = times_of(request.images);
        const Time done = std::max(free_at.top(), request.arrival) + work;
        free_at.pop();
        free_at.push(done);
        encoded.use.images += request.images;
        ++with_images;
        encoded.busy_s += work.seconds();
        request.encoding = done + message - request.arrival;
        wait_s += request.encoding.seconds();
        request.arrival += request.encoding;
        request.images = 0;
        encoded.last_end = std::max(encoded.last_end, done);
    }
    std::ranges::stable_sort(
        encoded.places, {}, [&](std::size_t place) { return encoded.requests[place].arrival; });
    std::vector<Request> sorted;
    sorted.reserve(requests.size());
    for (const std::size_t place : encoded.places) {
        sorted.push_back(std::move(encoded.requests[place]));
    }
    encoded.requests = std::move(sorted);
    encoded.use.instances = encoder.instances;
    encoded.use.wait_s = with_images > 0 ? wait_s / static_cast<double>(with_images) : 0;
    encoded.busy_s /= static_cast<double>(encoder.instances);
    return encoded;
}

Result<std::optional<EncodedLoad>> encode_apart(const Scenario& scenario,
                                                const ServingSpec& spec,
                                                const std::vector<Request>& requests,
                                                const ServingLoad& load) {
    if (const auto good = check_images(scenario, spec, requests, load); !good) {
        return tl::unexpected(good.error());
    }
    if (spec.encoder.instances == 0) {
        return std::optional<EncodedLoad>{};
    }
    auto encoded = encode_images(scenario, spec, requests);
    if (!encoded) {
        return tl::unexpected(encoded.error());
    }
    return std::optional<EncodedLoad>{std::move(*encoded)};
}

void put_in_place(const EncodedLoad& encoded, std::vector<RequestRecord>& records) {
    std::vector<RequestRecord> placed(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
        placed[encoded.places[i]] = std::move(records[i]);
    }
    records = std::move(placed);
}

}  // namespace orrery
