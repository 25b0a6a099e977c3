// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_offload.h"

#include <string>
#include <utility>

namespace orrery {
namespace {

class OffloadRules {
public:
    OffloadRules(const Transformer& model, const ParallelPlan& plan) : model_(model), plan_(plan) {}

    Errors check() {
        optimizer();
        delayed();
        weights();
        gradients();
        fp32_weights();
        return std::move(errors_);
    }

private:
    void require(bool good, const char* key, std::string what, std::string hint) {
        if (!good) {
            errors_.push_back({key, std::move(what), std::move(hint)});
        }
    }
    void share(const char* key, double value) {
        require(value >= 0 && value <= 1, key, "is a share", "0 to 1");
    }

    void optimizer() {
        const bool host = plan_.optimizer_cpu_offload;
        require(!host || plan_.optimizer == Optimizer::adam,
                "plan.optimizer_cpu_offload",
                "the host steps with Adam only",
                "false, or adam");
        require(plan_.fused_optimizer || (!host && plan_.optimizer == Optimizer::adam),
                "plan.fused_optimizer",
                host ? "the host steps by one kernel" : "the operators are Adam's",
                host ? "true, or optimizer_cpu_offload: false" : "true, or optimizer: adam");
        require(host || plan_.optimizer_offload_tier == OffloadTier::host,
                "plan.optimizer_offload_tier",
                "the device holds the optimizer's state",
                "host, or plan.optimizer_cpu_offload: true");
        const char* const key = "plan.optimizer_offload_fraction";
        share(key, plan_.optimizer_offload_fraction);
        const bool part = plan_.optimizer_offload_fraction < 1;
        require(host || !part,
                key,
                "the device holds the optimizer's state",
                "1, or plan.optimizer_cpu_offload: true");
        require(!part || (plan_.grad_offload_tier == StateTier::device &&
                          plan_.param_offload_tier == StateTier::device),
                key,
                "the device steps weights whose gradients it has",
                "1, or grad_offload_tier and param_offload_tier device");
        require(!part || !plan_.overlap_param_gather_with_optimizer_step,
                key,
                "two chunks would be stepped by two processors each",
                "1, or overlap_param_gather_with_optimizer_step: false");
    }

    void delayed() {
        const char* const key = "plan.delayed_param_update";
        const bool on = plan_.delayed_param_update;
        require(!on || plan_.optimizer_cpu_offload,
                key,
                "what runs beside the next step is the host's step",
                "false, or plan.optimizer_cpu_offload: true");
        require(!on || (plan_.param_offload_tier == StateTier::device &&
                        plan_.optimizer_offload_tier == OffloadTier::host),
                key,
                "the host would change weights, or read drives, that passes work with",
                "false, or param_offload_tier device and optimizer_offload_tier host");
        require(!on || plan_.optimizer_offload_fraction == 1,
                key,
                "the device's share would not be delayed",
                "false, or optimizer_offload_fraction: 1");
        require(!on || !plan_.overlap_param_gather_with_optimizer_step,
                key,
                "weights come from the host, not from chunks that the device has stepped",
                "false, or overlap_param_gather_with_optimizer_step: false");
    }

    void weights() {
        const bool on = plan_.param_offload_tier != StateTier::device;
        const char* const key = "plan.param_offload_tier";
        require(!on || plan_.shards_weights(),
                key,
                "weights that leave the device are gathered for each use",
                "device, or data_parallel_sharding_strategy optim_grads_params");
        require(!on || plan_.optimizer_cpu_offload,
                key,
                "the host steps the weights that it holds",
                "device, or plan.optimizer_cpu_offload: true");
        share("plan.param_offload_fraction", plan_.param_offload_fraction);
        require(on || plan_.param_offload_fraction == 1,
                "plan.param_offload_fraction",
                "no weights leave the device",
                "1, or plan.param_offload_tier: host");
    }

    void gradients() {
        if (plan_.grad_offload_tier == StateTier::device) {
            return;
        }
        const char* const key = "plan.grad_offload_tier";
        require(plan_.optimizer_cpu_offload,
                key,
                "the host steps the weights whose gradients it holds",
                "device, or plan.optimizer_cpu_offload: true");
        require(plan_.schedule != ScheduleKind::zero_bubble &&
                    plan_.schedule != ScheduleKind::dual_pipe &&
                    plan_.schedule != ScheduleKind::dual_pipe_v,
                key,
                "gradients leave with their backward pass, which this schedule splits",
                "device, or plan.schedule: 1f1b");
        require(!plan_.zero_quantized_gradients,
                key,
                "gradients that travel as int4 are added on the device",
                "device, or zero_quantized_gradients: false");
        require(!plan_.sequence_parallel || plan_.tensor_model_parallel_size == 1,
                key,
                "gradients of norms are summed over tensor-parallel ranks at the end of the step",
                "device, or plan.sequence_parallel: false");
        require(!model_.tied_embeddings || plan_.pipeline_model_parallel_size == 1,
                key,
                "the tied embedding's gradient is summed over two stages at the end of the step",
                "device, or pipeline_model_parallel_size: 1");
    }

    void fp32_weights() {
        const char* const key = "plan.offload_fp32_weights";
        const bool on = plan_.offload_fp32_weights;
        require(!on || plan_.optimizer_cpu_offload,
                key,
                "the weights that travel are those that the host has stepped",
                "false, or plan.optimizer_cpu_offload: true");
        require(!on || (plan_.precision != Dtype::fp32 && plan_.main_params_dtype == Dtype::fp32),
                key,
                "the host has no fp32 copy beside the weights",
                "false, or a precision of 16 bits and main_params_dtype: fp32");
        require(!on || plan_.param_offload_tier == StateTier::device,
                key,
                "weights that leave the device travel in 16 bits",
                "false, or plan.param_offload_tier: device");
    }

    const Transformer& model_;
    const ParallelPlan& plan_;
    Errors errors_;
};

}  // namespace

Errors check_offload(const Transformer& model, const ParallelPlan& plan) {
    return OffloadRules{model, plan}.check();
}

}  // namespace orrery
