// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/served_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/lowering/lowering.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/generate.h"
#include "runtime/serve/served_experts.h"
#include "runtime/state/held_parameters.h"
#include "runtime/state/initialise.h"
#include "runtime/state/model_description.h"
#include "runtime/state/training_state.h"
#include "runtime/trainable.h"

namespace orrery {
namespace {

ServedModel take_weights(const Transformer& model, Executor& executor) {
    ServedModel served{.model = model, .weights = {}};
    for (const HeldParameter& p : held_parameters(executor)) {
        std::vector<float>& values = served.weights[p.name];
        values.resize(static_cast<std::size_t>(p.weight.size));
        load_row(p.weight, 0, values);
    }
    return served;
}

ResultOrErrors<ServedModel> of_checkpoint(const Transformer& model,
                                          const std::filesystem::path& folder) {
    Result<LoadedModel> loaded = load_model(folder);
    if (!loaded) {
        return unexpected<Errors>(Errors{loaded.error()});
    }
    const std::vector<std::string> others =
        differences(describe_model(loaded->model), describe_model(model));
    if (!others.empty()) {
        return unexpected<Errors>(
            Errors{{folder.string(),
                    fmt::format("the checkpoint is of another model: {}", fmt::join(others, ", ")),
                    "the model section that it was trained with"}});
    }
    return take_weights(model, *loaded->executor);
}

}  // namespace

ResultOrErrors<ServedModel> load_served_model(const Transformer& model,
                                              const std::filesystem::path& weights,
                                              std::uint64_t seed) {
    const ParallelPlan plan =
        ParallelPlan{.micro_batch_size = 1, .global_batch_size = 1, .precision = Dtype::fp32}
            .launched_from_cpp();
    if (std::string why = why_not_served(model); !why.empty()) {
        return unexpected<Errors>(
            Errors{{"model.moe_shared_expert_intermediate_size", std::move(why), "0"}});
    }
    if (Errors errors = check_trainable(model, plan, 1); !errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    if (std::filesystem::is_directory(weights)) {
        return of_checkpoint(model, weights);
    }
    const Program program = lower(model, plan);
    auto executor = CpuExecutor::create(program, RankId{0});
    if (!executor) {
        return unexpected<Errors>(Errors{executor.error()});
    }
    if (weights.empty()) {
        initialise_weights(**executor, {.seed = seed, .num_layers = model.num_layers});
    } else if (const auto read = import_weights(**executor, model, weights); !read) {
        return unexpected<Errors>(read.error());
    }
    return take_weights(model, **executor);
}

}  // namespace orrery
