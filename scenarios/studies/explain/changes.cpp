// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/changes.h"

#include <fmt/format.h>

#include "models/plan/plan_fields.h"
#include "models/plan/validate_plan.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/specs/plan_key.h"

namespace orrery {
namespace {

using Plan = ParallelPlan;

class Changes {
public:
    explicit Changes(const Scenario& scenario)
        : scenario_(scenario),
          plan_(scenario.plan),
          cluster_(scenario.cluster),
          device_(scenario.device) {}

    std::vector<Change> all() {
        sizes();
        pairs();
        choices();
        experts();
        switches();
        without_offload();
        hardware();
        size<&Plan::global_batch_size>(ChangeKind::batch);
        return std::move(changes_);
    }

private:
    void add(ChangeKind kind, std::string words, std::vector<std::string> overrides) {
        changes_.push_back({kind, std::move(words), std::move(overrides)});
    }

    // With another number of stages the layers are split evenly again.
    void split_evenly(std::vector<std::string>& overrides) const {
        if (!plan_.pipeline_layout.empty()) {
            overrides.push_back(assigned<&Plan::pipeline_layout>({}));
        }
    }

    // "plan.micro_batch_size=2"
    template <auto kMember, class T = typename MemberValue<decltype(kMember)>::Type>
    static std::string assigned(const T& value) {
        return plan_key<kMember>() + "=" + field_text(plan_field<kMember>, value);
    }
    // "micro_batch_size 1 -> 2"
    template <auto kMember, class T = typename MemberValue<decltype(kMember)>::Type>
    std::string words(const T& value) const {
        const auto& field = plan_field<kMember>;
        return fmt::format(
            "{} {} -> {}", field.name, field_text(field, plan_.*kMember), field_text(field, value));
    }

    template <auto kMember>
    void size(ChangeKind kind = ChangeKind::plan) {
        const std::int64_t value = plan_.*kMember;
        for (const std::int64_t other : {value * 2, value % 2 == 0 ? value / 2 : 0}) {
            if (other == 0) {
                continue;
            }
            std::vector<std::string> overrides{assigned<kMember>(other)};
            if (kMember == &Plan::pipeline_model_parallel_size ||
                kMember == &Plan::virtual_pipeline_model_parallel_size) {
                split_evenly(overrides);
            }
            add(kind, words<kMember>(other), std::move(overrides));
        }
    }

    void sizes() {
        size<&Plan::tensor_model_parallel_size>();
        size<&Plan::pipeline_model_parallel_size>();
        size<&Plan::context_parallel_size>();
        size<&Plan::micro_batch_size>();
        if (plan_.pipeline_model_parallel_size > 1) {
            size<&Plan::virtual_pipeline_model_parallel_size>();
        }
    }

    // Doubles one size and halves another: the number of data-parallel ranks stays.
    template <auto kUp, auto kDown>
    void pair() {
        const std::int64_t up = plan_.*kUp * 2;
        const std::int64_t down = plan_.*kDown / 2;
        if (plan_.*kDown % 2 != 0) {
            return;
        }
        std::vector<std::string> overrides{assigned<kUp>(up), assigned<kDown>(down)};
        split_evenly(overrides);
        add(ChangeKind::plan, words<kUp>(up) + ", " + words<kDown>(down), std::move(overrides));
    }

    void pairs() {
        pair<&Plan::tensor_model_parallel_size, &Plan::pipeline_model_parallel_size>();
        pair<&Plan::pipeline_model_parallel_size, &Plan::tensor_model_parallel_size>();
        pair<&Plan::virtual_pipeline_model_parallel_size, &Plan::pipeline_model_parallel_size>();
        pair<&Plan::pipeline_model_parallel_size, &Plan::virtual_pipeline_model_parallel_size>();
    }

    template <auto kMember>
    void choice() {
        const auto now = plan_.*kMember;
        const auto& values = plan_field<kMember>.values;
        for (const auto& [word, value] : values) {
            if (value != now) {
                add(ChangeKind::plan,
                    fmt::format(
                        "{} {} -> {}", plan_field<kMember>.name, word_of(now, values), word),
                    {fmt::format("{}={}", plan_key<kMember>(), word)});
            }
        }
    }

    void choices() {
        choice<&Plan::recompute_granularity>();
        choice<&Plan::data_parallel_sharding_strategy>();
        if (plan_.pipeline_model_parallel_size > 1) {
            choice<&Plan::schedule>();
            choice<&Plan::rank_order>();
        }
    }

    void experts() {
        if (scenario_.model.num_experts == 0) {
            return;
        }
        size<&Plan::expert_model_parallel_size>();
        choice<&Plan::moe_token_dispatcher_type>();
        turn_on<&Plan::overlap_moe_expert_parallel_comm>();
    }

    template <auto kMember>
    void turn_on() {
        if (!(plan_.*kMember)) {
            add(ChangeKind::plan,
                std::string{plan_field<kMember>.name} + " on",
                {assigned<kMember>(true)});
        }
    }

    template <auto kMember>
    void turn_off() {
        if (plan_.*kMember) {
            add(ChangeKind::plan,
                std::string{plan_field<kMember>.name} + " off",
                {assigned<kMember>(false)});
        }
    }

    void switches() {
        const bool several = plan_.data_parallel_size > 1;
        if (plan_.tensor_model_parallel_size > 1) {
            turn_on<&Plan::sequence_parallel>();
            // Sequence parallelism exchanges along a ring, whereas NVSwitches can reduce an
            // all-reduce.
            turn_off<&Plan::sequence_parallel>();
            turn_on<&Plan::tp_comm_overlap>();
        }
        if (several && !(plan_.overlap_grad_reduce && plan_.overlap_param_gather)) {
            add(ChangeKind::plan,
                fmt::format("{} and {} on",
                            plan_field<&Plan::overlap_grad_reduce>.name,
                            plan_field<&Plan::overlap_param_gather>.name),
                {assigned<&Plan::overlap_grad_reduce>(true),
                 assigned<&Plan::overlap_param_gather>(true)});
        }
        if (plan_.pipeline_model_parallel_size > 1) {
            turn_on<&Plan::overlap_p2p>();
            turn_on<&Plan::embedding_and_loss_as_layers>();
        }
        turn_on<&Plan::fused_norm>();
        turn_on<&Plan::fused_activation>();
        turn_on<&Plan::fused_cross_entropy>();
        turn_on<&Plan::cuda_graphs>();
        ParallelPlan flash = plan_;
        flash.attention_kernel = AttentionKernel::flash_2;
        if ((plan_.attention_kernel == AttentionKernel::unfused ||
             plan_.attention_kernel == AttentionKernel::flash_1) &&
            check_device(flash, device_).empty()) {
            const auto& field = plan_field<&Plan::attention_kernel>;
            add(ChangeKind::plan,
                fmt::format("{} {}", field.name, field_text(field, flash.attention_kernel)),
                {assigned<&Plan::attention_kernel>(flash.attention_kernel)});
        }
    }

    template <auto... kMembers>
    std::vector<std::string> defaults() const {
        std::vector<std::string> overrides;
        const auto add_default = [&]<auto kMember>() {
            if (plan_.*kMember != Plan{}.*kMember) {
                overrides.push_back(assigned<kMember>(Plan{}.*kMember));
            }
        };
        (add_default.template operator()<kMembers>(), ...);
        return overrides;
    }

    void without_offload() {
        std::vector<std::string> overrides = defaults<&Plan::optimizer_cpu_offload,
                                                      &Plan::optimizer_offload_tier,
                                                      &Plan::optimizer_offload_fraction,
                                                      &Plan::delayed_param_update,
                                                      &Plan::param_offload_tier,
                                                      &Plan::param_offload_fraction,
                                                      &Plan::grad_offload_tier,
                                                      &Plan::offload_fp32_weights,
                                                      &Plan::activation_offload_fraction,
                                                      &Plan::cpu_offloading_num_layers,
                                                      &Plan::activation_offload_blocking>();
        if (!overrides.empty()) {
            add(ChangeKind::plan, "no offload", std::move(overrides));
        }
    }

    void twice(const std::string& key, Bandwidth now, const std::string& words) {
        if (now.bits_per_second() > 0) {
            add(ChangeKind::hardware,
                fmt::format("{} {} -> {}", words, to_text(now), to_text(now * 2)),
                {fmt::format("{}={}", key, to_text(now * 2))});
        }
    }

    void hardware() {
        if (cluster_.has_ethernet()) {
            twice("cluster.ethernet.nic_bandwidth",
                  cluster_.ethernet.nic_bandwidth,
                  "Ethernet bandwidth of a node");
        }
        for (std::uint32_t i = 0; i < cluster_.kinds.size(); ++i) {
            of_kind(i, fmt::format("cluster.kinds[{}].", i));
        }
        if (cluster_.num_nodes > 1 && cluster_.fabric.name != "none") {
            if (cluster_.kinds.empty()) {
                twice(
                    "cluster.fabric.nic_bandwidth", cluster_.fabric.nic_bandwidth, "NIC bandwidth");
            }
            if (cluster_.fabric.oversubscription > 1) {
                add(ChangeKind::hardware,
                    fmt::format("oversubscription {} -> 1", cluster_.fabric.oversubscription),
                    {"cluster.fabric.oversubscription=1"});
            }
        }
        if (!cluster_.kinds.empty()) {
            return;
        }
        if (cluster_.node.gpus_per_node > 1) {
            twice("cluster.node.nvlink_bandwidth",
                  cluster_.node.nvlink_bandwidth,
                  "NVLink bandwidth of a GPU");
        }
        twice("cluster.node.device.memory_bandwidth",
              device_.memory_bandwidth,
              "memory bandwidth of a GPU");
    }

    // `key` is a key of the kind of nodes, with the dot.
    void of_kind(std::uint32_t number, const std::string& key) {
        const NodeKind kind = cluster_.kind(number);
        if (kind.nic_class != NicClass::ethernet && cluster_.num_nodes > 1) {
            twice(key + "nic_bandwidth",
                  kind.nic_bandwidth,
                  fmt::format("NIC bandwidth of kind {}", number));
        }
        if (kind.node.gpus_per_node > 1) {
            twice(key + "node.nvlink_bandwidth",
                  kind.node.nvlink_bandwidth,
                  fmt::format("NVLink bandwidth of a GPU of kind {}", number));
        }
        twice(key + "node.device.memory_bandwidth",
              scenario_.device_of_kind(number).memory_bandwidth,
              fmt::format("memory bandwidth of a GPU of kind {}", number));
    }

    const Scenario& scenario_;
    const ParallelPlan& plan_;
    const ClusterSpec& cluster_;
    const DeviceSpec& device_;
    std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> possible_changes(const Scenario& scenario) {
    return Changes{scenario}.all();
}

}  // namespace orrery
