// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/assumed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/read_field.h"

namespace orrery {
namespace {

// Probability that an assumed value is wrong. Sources mostly ran their software's defaults, which
// are the assumed values.
constexpr double kOtherwise = 0.25;

// Another GPU of the same generation, which a source that names only the generation may mean. The
// key is the GPU that the row assumes. NVIDIA sells the A100 and the H100 in China with less NVLink
// as A800 and H800. Only one owner has the H100 with HBM2e and 500 W.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSiblings{
    {{"a100-80g", "a800-80g"},
     {"a800-80g", "a100-80g"},
     {"h100-80g", "h800"},
     {"h800", "h100-80g"},
     {"h100-96g-hbm2e", "h100-80g"}}};

using Plan = ParallelPlan;

class Alternatives {
public:
    explicit Alternatives(const PublishedCase& row) : row_(row) {}

    void add(const std::string& column);
    std::vector<Alternative> take() { return std::move(found_); }

private:
    ParallelPlan& push(const std::string& column, std::string stated, std::string value) {
        found_.push_back({column, std::move(stated), std::move(value), row_});
        return found_.back().row.plan;
    }
    template <class T>
    void set(const PlanField<T>& field, std::type_identity_t<T> value) {
        push(std::string{field.name},
             field_text(field, row_.plan.*field.member),
             field_text(field, value)).*
            field.member = value;
    }
    void flip(const PlanField<bool>& field, bool matters) {
        if (matters) {
            set(field, !(row_.plan.*field.member));
        }
    }
    void scale(const PlanField<std::int64_t>& field) {
        const std::int64_t now = row_.plan.*field.member;
        set(field, 2 * now);
        if (now % 2 == 0) {
            set(field, now / 2);
        }
    }
    // Adds the values before and after the row's, up to `last`.
    template <class Enum>
    void neighbours(const PlanField<Enum>& field, Enum last) {
        const auto now = static_cast<std::size_t>(row_.plan.*field.member);
        for (const std::size_t next : {now - 1, now + 1}) {
            if (next <= static_cast<std::size_t>(last)) {
                set(field, static_cast<Enum>(next));
            }
        }
    }
    bool add_overlap(const std::string& column);
    void add_recomputation();
    void add_gpu(const std::string& column);

    const PublishedCase& row_;
    std::vector<Alternative> found_;
};

bool Alternatives::add_overlap(const std::string& column) {
    const ParallelPlan& p = row_.plan;
    const bool many = row_.num_gpus > p.model_parallel_size();
    const bool shards = p.shards_optimizer();
    const bool tensor = p.tensor_model_parallel_size > 1;
    if (column == plan_field<&Plan::overlap_grad_reduce>.name) {
        flip(plan_field<&Plan::overlap_grad_reduce>, many);
    } else if (column == plan_field<&Plan::overlap_param_gather>.name) {
        flip(plan_field<&Plan::overlap_param_gather>, many && shards);
    } else if (column == plan_field<&Plan::tp_comm_overlap>.name) {
        flip(plan_field<&Plan::tp_comm_overlap>, tensor && p.sequence_parallel);
    } else if (column == plan_field<&Plan::overlap_p2p>.name) {
        flip(plan_field<&Plan::overlap_p2p>, p.pipeline_model_parallel_size > 1);
    } else if (column == plan_field<&Plan::sequence_parallel>.name) {
        flip(plan_field<&Plan::sequence_parallel>, tensor);
    } else {
        return false;
    }
    return true;
}

// An assumed recompute_detail belongs to its granularity: another granularity drops it.
void Alternatives::add_recomputation() {
    const std::size_t first = found_.size();
    neighbours(plan_field<&Plan::recompute_granularity>, Recompute::full);
    if (std::ranges::count(row_.assumed, "recompute_detail") > 0) {
        for (std::size_t i = first; i < found_.size(); ++i) {
            found_[i].row.recompute_detail.clear();
        }
    }
}

void Alternatives::add_gpu(const std::string& column) {
    for (const auto& [assumed, instead] : kSiblings) {
        if (row_.gpu == assumed) {
            push(column, row_.gpu, std::string{instead});
            found_.back().row.gpu = instead;
            found_.back().row.power_cap_w = 0;  // 0: the limit in the catalogue
        }
    }
}

void Alternatives::add(const std::string& column) {
    if (add_overlap(column)) {
        return;
    }
    if (column == "gpu") {
        add_gpu(column);
    } else if (column == plan_field<&Plan::micro_batch_size>.name) {
        scale(plan_field<&Plan::micro_batch_size>);
    } else if (column == plan_field<&Plan::virtual_pipeline_model_parallel_size>.name &&
               row_.plan.virtual_pipeline_model_parallel_size > 1) {
        scale(plan_field<&Plan::virtual_pipeline_model_parallel_size>);
    } else if (column == plan_field<&Plan::data_parallel_sharding_strategy>.name) {
        if (!row_.plan.shards_weights()) {
            neighbours(plan_field<&Plan::data_parallel_sharding_strategy>,
                       ShardingStrategy::optim_grads);
        }
    } else if (column == plan_field<&Plan::recompute_granularity>.name) {
        add_recomputation();
    } else if (column == "flash_attention") {
        push(column,
             row_.flash_attention ? "true" : "false",
             row_.flash_attention ? "false" : "true");
        found_.back().row.flash_attention = !row_.flash_attention;
    } else if (column == "nic_gbps_per_gpu" && row_.num_gpus > row_.gpus_per_node) {
        for (const double factor : {0.5, 2.0}) {
            push(column,
                 fmt::format("{:g}", row_.nic_gbps_per_gpu),
                 fmt::format("{:g}", factor * row_.nic_gbps_per_gpu));
            found_.back().row.nic_gbps_per_gpu *= factor;
        }
    }
}

}  // namespace

std::vector<Alternative> alternatives(const PublishedCase& row) {
    Alternatives all{row};
    for (const std::string& column : row.assumed) {
        all.add(column);
    }
    return all.take();
}

double assumed_spread(const PublishedCase& row, double predicted_s, const PredictRow& predict) {
    std::map<std::string, double> farthest;  // by column
    for (const Alternative& other : alternatives(row)) {
        if (const std::optional<double> seconds = predict(other.row)) {
            double& far = farthest[other.column];
            far = std::max(far, std::abs(std::log(*seconds / predicted_s)));
        }
    }
    double variance = 0;
    for (const auto& [column, far] : farthest) {
        variance += kOtherwise * far * far;
    }
    return std::sqrt(variance);
}

}  // namespace orrery
