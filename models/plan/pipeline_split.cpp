// SPDX-License-Identifier: Apache-2.0
#include "models/plan/pipeline_split.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/base/check.h"
#include "models/plan/divisors.h"

namespace orrery {
namespace {

// The number of layer places in the even split. Prediction modules come after the last layer, and
// have places if embedding and loss have them.
std::int64_t places(const Transformer& model, const ParallelPlan& plan) {
    return model.num_layers + (plan.embedding_and_loss_as_layers ? 2 + model.mtp_num_layers : 0);
}

std::int64_t virtual_stages(const ParallelPlan& plan) {
    return plan.pipeline_model_parallel_size * plan.virtual_pipeline_model_parallel_size;
}

Errors check_layout(const Transformer& model, const ParallelPlan& plan) {
    Errors errors;
    const std::string where = "plan.pipeline_layout";
    const std::vector<std::int64_t>& layout = plan.pipeline_layout;
    if (plan.embedding_and_loss_as_layers) {
        errors.push_back({where,
                          "a layout and embedding_and_loss_as_layers contradict each other",
                          "leave one of them out"});
    }
    if (std::ssize(layout) != virtual_stages(plan)) {
        errors.push_back({where,
                          fmt::format("there are {} entries for {} stages of {} chunks",
                                      layout.size(),
                                      plan.pipeline_model_parallel_size,
                                      plan.virtual_pipeline_model_parallel_size),
                          fmt::format("{} entries, chunk by chunk", virtual_stages(plan))});
    }
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < layout.size(); ++i) {
        // The first and the last virtual stage may have no layer, because they have the embedding
        // and the loss.
        const bool at_end = i == 0 || i + 1 == layout.size();
        if (layout[i] < (at_end ? 0 : 1) || layout[i] > model.num_layers) {
            errors.push_back({where,
                              fmt::format("entry {} is {} layers", i, layout[i]),
                              fmt::format("{} to {}", at_end ? 0 : 1, model.num_layers)});
            return errors;
        }
        sum += layout[i];
    }
    if (sum != model.num_layers) {
        errors.push_back({where,
                          fmt::format("the entries add up to {} layers", sum),
                          fmt::format("num_layers is {}", model.num_layers)});
    }
    return errors;
}

}  // namespace

Errors check_pipeline_split(const Transformer& model, const ParallelPlan& plan) {
    if (!plan.pipeline_layout.empty()) {
        return check_layout(model, plan);
    }
    const std::int64_t pp = plan.pipeline_model_parallel_size;
    const std::int64_t vpp = plan.virtual_pipeline_model_parallel_size;
    const std::int64_t total = places(model, plan);
    if (total % pp == 0 && total / pp % vpp == 0) {
        return {};
    }
    const bool stages_fit = total % pp == 0;
    const std::string hint =
        fmt::format("{}, or give plan.pipeline_layout",
                    fmt::join(divisors(stages_fit ? total / pp : total), ", "));
    const std::string layers = plan.embedding_and_loss_as_layers
                                   ? fmt::format("{} layers + embedding + loss", model.num_layers)
                                   : fmt::format("{} layers", model.num_layers);
    if (stages_fit) {
        return {{"plan.virtual_pipeline_model_parallel_size",
                 fmt::format("{} chunks on {} stages do not divide {}", vpp, pp, layers),
                 hint}};
    }
    return {{"plan.pipeline_model_parallel_size",
             fmt::format("{} stages do not divide {}", pp, layers),
             hint}};
}

std::vector<std::int64_t> layers_of_stages(const Transformer& model, const ParallelPlan& plan) {
    ORRERY_CHECK(check_pipeline_split(model, plan).empty());
    if (!plan.pipeline_layout.empty()) {
        return plan.pipeline_layout;
    }
    const std::int64_t count = virtual_stages(plan);
    std::vector<std::int64_t> layers(static_cast<std::size_t>(count), places(model, plan) / count);
    if (plan.embedding_and_loss_as_layers) {
        --layers.front();
        layers.back() -= 1 + model.mtp_num_layers;
    }
    ORRERY_CHECK(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}) ==
                 model.num_layers);
    return layers;
}

}  // namespace orrery
