// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/changes.h"

#include <fmt/format.h>

#include "models/validate_plan.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/specs/plan_words.h"

namespace orrery {
namespace {

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
        switches();
        hardware();
        size(ChangeKind::batch, "global_batch_size", plan_.global_batch_size);
        return std::move(changes_);
    }

private:
    void add(ChangeKind kind, std::string words, std::vector<std::string> overrides) {
        changes_.push_back({kind, std::move(words), std::move(overrides)});
    }

    // Another number of stages needs another split of the layers.
    std::string even_split() const {
        return plan_.pipeline_layout.empty() ? "" : "plan.pipeline_layout=[]";
    }

    void size(ChangeKind kind, const std::string& key, std::int64_t value) {
        for (const std::int64_t other : {value * 2, value % 2 == 0 ? value / 2 : 0}) {
            if (other == 0) {
                continue;
            }
            std::vector<std::string> overrides{fmt::format("plan.{}={}", key, other)};
            if (key.find("pipeline") != key.npos && !even_split().empty()) {
                overrides.push_back(even_split());
            }
            add(kind, fmt::format("{} {} -> {}", key, value, other), std::move(overrides));
        }
    }

    void sizes() {
        size(ChangeKind::plan, "tensor_model_parallel_size", plan_.tensor_model_parallel_size);
        size(ChangeKind::plan, "pipeline_model_parallel_size", plan_.pipeline_model_parallel_size);
        size(ChangeKind::plan, "context_parallel_size", plan_.context_parallel_size);
        size(ChangeKind::plan, "micro_batch_size", plan_.micro_batch_size);
        if (plan_.pipeline_model_parallel_size > 1) {
            size(ChangeKind::plan,
                 "virtual_pipeline_model_parallel_size",
                 plan_.virtual_pipeline_model_parallel_size);
        }
    }

    // Two sizes against each other: the number of data-parallel ranks stays.
    void pair(const std::string& up, std::int64_t a, const std::string& down, std::int64_t b) {
        if (b % 2 != 0) {
            return;
        }
        std::vector<std::string> overrides{fmt::format("plan.{}={}", up, a * 2),
                                           fmt::format("plan.{}={}", down, b / 2)};
        if (!even_split().empty()) {
            overrides.push_back(even_split());
        }
        add(ChangeKind::plan,
            fmt::format("{} {} -> {}, {} {} -> {}", up, a, a * 2, down, b, b / 2),
            std::move(overrides));
    }

    void pairs() {
        const std::int64_t tensor = plan_.tensor_model_parallel_size;
        const std::int64_t pipeline = plan_.pipeline_model_parallel_size;
        const std::int64_t chunks = plan_.virtual_pipeline_model_parallel_size;
        pair("tensor_model_parallel_size", tensor, "pipeline_model_parallel_size", pipeline);
        pair("pipeline_model_parallel_size", pipeline, "tensor_model_parallel_size", tensor);
        pair("virtual_pipeline_model_parallel_size",
             chunks,
             "pipeline_model_parallel_size",
             pipeline);
        pair("pipeline_model_parallel_size",
             pipeline,
             "virtual_pipeline_model_parallel_size",
             chunks);
    }

    template <class T, std::size_t N>
    void choice(const std::string& key, T now, const Choice<T> (&choices)[N]) {
        for (const Choice<T>& other : choices) {
            if (other.value != now) {
                add(ChangeKind::plan,
                    fmt::format("{} {} -> {}", key, word_of(now, choices), other.word),
                    {fmt::format("plan.{}={}", key, other.word)});
            }
        }
    }

    void choices() {
        choice("recompute_granularity", plan_.recompute_granularity, kRecomputes);
        choice("data_parallel_sharding_strategy",
               plan_.data_parallel_sharding_strategy,
               kShardingStrategies);
        if (plan_.pipeline_model_parallel_size > 1) {
            choice("schedule", plan_.schedule, kSchedules);
            choice("rank_order", plan_.rank_order, kRankOrders);
        }
    }

    void turn_on(const std::string& key, bool now) {
        if (!now) {
            add(ChangeKind::plan, key + " on", {"plan." + key + "=true"});
        }
    }

    void switches() {
        const bool several = plan_.data_parallel_size > 1;
        if (plan_.tensor_model_parallel_size > 1) {
            turn_on("sequence_parallel", plan_.sequence_parallel);
            turn_on("tp_comm_overlap", plan_.tp_comm_overlap);
        }
        if (several && !(plan_.overlap_grad_reduce && plan_.overlap_param_gather)) {
            add(ChangeKind::plan,
                "overlap_grad_reduce and overlap_param_gather on",
                {"plan.overlap_grad_reduce=true", "plan.overlap_param_gather=true"});
        }
        if (plan_.pipeline_model_parallel_size > 1) {
            turn_on("overlap_p2p", plan_.overlap_p2p);
            turn_on("embedding_and_loss_as_layers", plan_.embedding_and_loss_as_layers);
        }
        turn_on("fused_norm", plan_.fused_norm);
        turn_on("fused_activation", plan_.fused_activation);
        turn_on("fused_cross_entropy", plan_.fused_cross_entropy);
        turn_on("cuda_graphs", plan_.cuda_graphs);
        ParallelPlan flash = plan_;
        flash.attention_kernel = AttentionKernel::flash_2;
        if ((plan_.attention_kernel == AttentionKernel::unfused ||
             plan_.attention_kernel == AttentionKernel::flash_1) &&
            check_device(flash, device_).empty()) {
            add(ChangeKind::plan, "attention_kernel flash_2", {"plan.attention_kernel=flash_2"});
        }
    }

    void twice(const std::string& key, Bandwidth now, const std::string& words) {
        if (now.bits_per_second() > 0) {
            add(ChangeKind::hardware,
                fmt::format("{} {} -> {}", words, to_text(now), to_text(now * 2)),
                {fmt::format("{}={} bps", key, (now * 2).bits_per_second())});
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

    // `key`: of the kind of nodes, with the dot.
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
