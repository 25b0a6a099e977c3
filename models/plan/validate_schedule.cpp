// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_schedule.h"

#include <fmt/format.h>

#include "models/plan/validate_plan.h"

namespace orrery {
namespace {

// A part of an output is kept where the whole would be, and is what a stage sends.
void check_outputs(const ParallelPlan& plan, Errors& errors) {
    if (plan.partition_pipeline_outputs && plan.deallocate_pipeline_outputs) {
        errors.push_back({"plan.partition_pipeline_outputs",
                          "a stage that frees its output keeps no part of it",
                          "false, or plan.deallocate_pipeline_outputs: false"});
    }
    if (plan.partition_pipeline_outputs && !plan.scatter_gather_tensors_in_pipeline) {
        errors.push_back({"plan.partition_pipeline_outputs",
                          "a stage that sends its whole output keeps no part of it",
                          "false, or plan.scatter_gather_tensors_in_pipeline: true"});
    }
}

// DeepSeek's conditions (DualPipe's repository): micro-batches enter from both ends in pairs.
void check_dual_pipe(const Transformer& model,
                     const ParallelPlan& plan,
                     std::int64_t num_gpus,
                     Errors& errors) {
    const bool both_ends = plan.schedule == ScheduleKind::dual_pipe;
    if (!both_ends && plan.schedule != ScheduleKind::dual_pipe_v) {
        return;
    }
    const std::string name = both_ends ? "DualPipe" : "DualPipeV";
    const std::int64_t ranks = plan.pipeline_model_parallel_size;
    const std::int64_t dp = derived_data_parallel_size(plan, num_gpus);
    const std::int64_t micro_batches =
        dp > 0 ? plan.global_batch_size / (plan.micro_batch_size * dp) : 0;
    const std::int64_t chunks = plan.virtual_pipeline_model_parallel_size;
    if (!both_ends && chunks != 2) {
        errors.push_back({"plan.virtual_pipeline_model_parallel_size",
                          fmt::format("DualPipeV takes two chunks a stage, not {}", chunks),
                          "2"});
    }
    if (both_ends && ranks % 2 != 0) {
        errors.push_back({"plan.pipeline_model_parallel_size",
                          fmt::format("DualPipe's {} stages have no two halves", ranks),
                          fmt::format("an even number, such as {}", ranks + 1)});
    }
    if (dp > 0 && micro_batches < 2 * ranks) {
        errors.push_back({"plan.global_batch_size",
                          fmt::format("{} of {} stages needs {} micro-batches, and there are {}",
                                      name,
                                      ranks,
                                      2 * ranks,
                                      micro_batches),
                          fmt::format("{} or more", 2 * ranks * plan.micro_batch_size * dp)});
    } else if (both_ends && micro_batches % 2 != 0) {
        errors.push_back({"plan.global_batch_size",
                          fmt::format("DualPipe halves {} micro-batches", micro_batches),
                          "an even number of micro-batches"});
    }
    if (plan.shards_weights()) {
        errors.push_back(
            {"plan.data_parallel_sharding_strategy",
             "weights gathered for one pass of a pair would be of the other's layers, too",
             "optim"});
    }
    if (!plan.overlap_p2p && ranks > 1) {
        errors.push_back({"plan.overlap_p2p", name + "'s messages run beside its passes", "true"});
    }
    if (!plan.stage_tensor_model_parallel_sizes.empty()) {
        errors.push_back({"plan.stage_tensor_model_parallel_sizes",
                          name + " keeps parts of both ends of the model on a rank",
                          "plan.tensor_model_parallel_size, the same for all stages"});
    }
    if (both_ends && model.tied_embeddings) {
        errors.push_back({"model.untie_embeddings_and_output_weights",
                          "DualPipe's first and last rank hold two copies each of a tied embedding",
                          "true, or plan.schedule dualpipev"});
    }
}

void check_vocabulary_parallel(const Transformer& model, const ParallelPlan& plan, Errors& errors) {
    if (!plan.vocabulary_parallel) {
        return;
    }
    const auto reject = [&](const char* key, std::string what, std::string hint) {
        errors.push_back({key, std::move(what), std::move(hint)});
    };
    const std::int64_t stages = plan.pipeline_model_parallel_size;
    if (stages < 2 || plan.schedule != ScheduleKind::one_f_one_b) {
        reject("plan.vocabulary_parallel",
               "the stages of 1F1B share the output layer",
               "false, or several stages and plan.schedule 1f1b");
    }
    if (!plan.overlap_p2p) {
        reject("plan.overlap_p2p",
               "stages that share the loss cannot wait for the end of each exchange",
               "true, or plan.vocabulary_parallel: false");
    }
    if (model.tied_embeddings || model.mtp_num_layers > 0) {
        reject("plan.vocabulary_parallel",
               "a part of the output layer is no copy of the first stage's embedding, and has no "
               "modules behind it",
               "false, or model.untie_embeddings_and_output_weights: true");
    }
    if (model.vocab_size % (stages * plan.tensor_model_parallel_size) != 0) {
        reject("model.vocab_size",
               fmt::format("{} tokens are not equal parts of {} stages", model.vocab_size, stages),
               fmt::format("a multiple of {}", stages * plan.tensor_model_parallel_size));
    }
    const bool apart = plan.shards_weights() || !plan.stage_tensor_model_parallel_sizes.empty() ||
                       plan.loss_tile_tokens > 0;
    if (apart) {
        reject("plan.vocabulary_parallel",
               "the shared loss takes whole weights of equal stages, and no tiles",
               "false");
    }
}

// Schedules that fill and drain more than once in a step are those of one direction.
void check_flushes(const ParallelPlan& plan, std::int64_t num_gpus, Errors& errors) {
    if (plan.pipeline_flushes == 1) {
        return;
    }
    const auto reject = [&](std::string what, std::string hint) {
        errors.push_back({"plan.pipeline_flushes", std::move(what), std::move(hint)});
    };
    const std::int64_t dp = derived_data_parallel_size(plan, num_gpus);
    const std::int64_t micro_batches =
        dp > 0 ? plan.global_batch_size / (plan.micro_batch_size * dp) : 0;
    const bool both_ways =
        plan.schedule == ScheduleKind::dual_pipe || plan.schedule == ScheduleKind::dual_pipe_v;
    if (plan.pipeline_model_parallel_size == 1) {
        reject("one stage has no pipeline that drains", "1");
    } else if (both_ways || plan.vocabulary_parallel || plan.overlap_moe_expert_parallel_comm) {
        reject("passes that run in pairs, or share the loss, go on until the end of the step",
               "1, or another schedule without overlap_moe_expert_parallel_comm");
    } else if (plan.pipeline_flushes < 1 || micro_batches % plan.pipeline_flushes != 0) {
        reject(
            fmt::format("{} do not divide {} micro-batches", plan.pipeline_flushes, micro_batches),
            "a divisor of the number of micro-batches");
    }
}

}  // namespace

Errors check_schedule(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus) {
    Errors errors;
    check_dual_pipe(model, plan, num_gpus, errors);
    check_vocabulary_parallel(model, plan, errors);
    check_outputs(plan, errors);
    check_flushes(plan, num_gpus, errors);
    const bool shards_all = plan.shards_weights();
    if (model.mtp_num_layers > 0 && shards_all) {
        errors.push_back({"model.mtp_num_layers",
                          "modules behind the last layer are not gathered by unit",
                          "0, or plan.data_parallel_sharding_strategy optim"});
    }
    if (model.mtp_num_layers > 0 && model.tied_embeddings) {
        errors.push_back({"model.mtp_num_layers",
                          "modules with the embedding of another stage have a copy of their own",
                          "0, or model.untie_embeddings_and_output_weights: true"});
    }
    if (plan.zero_quantized_gradients && !shards_all) {
        errors.push_back({"plan.zero_quantized_gradients",
                          "gradients are exchanged as int4 where each pass reduces them",
                          "false, or data_parallel_sharding_strategy optim_grads_params"});
    }
    return errors;
}

}  // namespace orrery
