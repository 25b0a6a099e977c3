// SPDX-License-Identifier: Apache-2.0
#include "models/serving/step_launches.h"

#include "models/serving/serving_step.h"

namespace orrery {

StepLaunches step_launches(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    const BatchShape one{.tokens = 1,
                         .sampled = 1,
                         .generating = 1,
                         .generating_context = 1,
                         .chunks = {},
                         .adapters = plan.adapter_rank > 0 ? 1 : 0};
    StepLaunches launches{.all = 0, .of_pieces = stage_layers(model, plan, stage).all + 1};
    for (const ServingOp& op : serving_ops(model, plan, one, stage)) {
        launches.all += op.count;
        launches.of_pieces += op.of_context || op.name == kCacheWrite ? op.count : 0;
    }
    if (model.multi_latent_attention) {
        const BatchShape prompt{.tokens = 1, .chunks = {{.new_tokens = 1, .context = 0}}};
        for (const ServingOp& op : attention_ops(model, plan, prompt, stage)) {
            launches.of_mixed += op.count;
        }
    }
    return launches;
}

}  // namespace orrery
