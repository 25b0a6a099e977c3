// SPDX-License-Identifier: Apache-2.0
#include "models/plan/rank_mesh.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "engine/base/check.h"

namespace orrery {
namespace {

struct DigitOfAxis {
    const char* name;
    std::int64_t size;
};

class MeshOfPlan {
public:
    // `cuts`, ascending: numbers of consecutive ranks of a stage after which a digit of any axis
    // ends.
    explicit MeshOfPlan(std::vector<std::int64_t> cuts) : cuts_(std::move(cuts)) {}

    // Adds the digits of one axis, the least significant first. Returns the bits of each; a digit
    // of size one is left out and has no bits.
    std::vector<std::uint32_t> axis(const char* name,
                                    const std::vector<DigitOfAxis>& given,
                                    bool of_stage = true) {
        const auto kept = std::ranges::count_if(given, [](const auto& d) { return d.size > 1; });
        MeshAxis axis{.name = name};
        std::vector<std::uint32_t> bits;
        for (const DigitOfAxis& digit : given) {
            const std::string own = kept == 1 ? name : digit.name;
            bits.push_back(digit.size == 1 ? 0
                           : of_stage      ? add_cut(axis, own, digit.size)
                                           : add(axis, own, digit.size));
        }
        if (kept == 0) {
            add(axis, name, 1);
        }
        axes_.push_back(std::move(axis));
        return bits;
    }
    // Names the digits between two numbers of consecutive ranks of a stage.
    std::uint32_t view(const char* name, std::int64_t first, std::int64_t end, bool named) {
        std::uint32_t digits = 0;
        for (const auto& [bit, stride] : of_stage_) {
            digits |= stride >= first && stride < end ? bit : 0;
        }
        if (named && digits != 0) {
            axes_.push_back({.name = name, .digits = digits});
        }
        return digits;
    }
    std::int64_t ranks_of_stage() const { return stride_; }

    Mesh mesh(RankId first_rank) && {
        return Mesh(std::move(digits_), first_rank, std::move(axes_));
    }

private:
    std::uint32_t add(MeshAxis& axis, const std::string& name, std::int64_t size) {
        ORRERY_CHECK(size <= std::numeric_limits<std::uint32_t>::max());
        const std::uint32_t bit = 1u << digits_.size();
        axis.digits |= bit;
        digits_.push_back({.name = name, .size = static_cast<std::uint32_t>(size)});
        return bit;
    }
    std::uint32_t add_cut(MeshAxis& axis, const std::string& name, std::int64_t size) {
        std::vector<std::int64_t> ends;
        std::ranges::copy_if(cuts_, std::back_inserter(ends), [&](std::int64_t cut) {
            return cut > stride_ && cut < stride_ * size;
        });
        ends.push_back(stride_ * size);
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            ORRERY_CHECK(ends[i] % stride_ == 0 && "expert_misfit");
            const std::string own = ends.size() == 1 ? name : name + std::to_string(i);
            const std::uint32_t bit = add(axis, own, ends[i] / stride_);
            of_stage_.emplace_back(bit, stride_);
            bits |= bit;
            stride_ = ends[i];
        }
        return bits;
    }

    std::vector<std::int64_t> cuts_;
    std::int64_t stride_ = 1;  // number of a stage's ranks that the present digits span
    std::vector<std::pair<std::uint32_t, std::int64_t>> of_stage_;  // bits and strides
    std::vector<MeshDigit> digits_;
    std::vector<MeshAxis> axes_;
};

// The numbers of consecutive ranks at which the axes of the experts end.
std::vector<std::int64_t> expert_cuts(const ParallelPlan& plan) {
    const std::int64_t tensor = plan.expert_tensor_size();
    std::vector<std::int64_t> cuts{tensor, tensor * plan.expert_model_parallel_size};
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    return cuts;
}

}  // namespace

std::int64_t ranks_of_key_value_head(const Transformer& model, const ParallelPlan& plan) {
    return std::max<std::int64_t>(plan.tensor_model_parallel_size / model.key_heads(), 1);
}

RankMisfit expert_misfit(const ParallelPlan& plan, std::int64_t ranks_of_head) {
    const std::int64_t model = plan.tensor_model_parallel_size * plan.context_parallel_size;
    const std::int64_t stage = model * plan.data_parallel_size;
    const std::int64_t secondary = std::max<std::int64_t>(plan.zero_hpz_partition_size, 1);
    const std::int64_t shard = std::max<std::int64_t>(plan.hsdp_shard_size, 1);
    for (const std::int64_t cut : expert_cuts(plan)) {
        for (const std::int64_t end : {ranks_of_head,
                                       plan.tensor_model_parallel_size,
                                       model,
                                       model * secondary,
                                       model * shard,
                                       stage}) {
            if (cut > stage || (cut % end != 0 && end % cut != 0)) {
                return {.experts = cut, .others = end};
            }
        }
    }
    return {};
}

RankMesh digits_of_plan(const ParallelPlan& plan, std::int64_t ranks_of_head, RankId first_rank) {
    ORRERY_CHECK(plan.stage_tensor_model_parallel_sizes.empty());
    const std::int64_t tensor = plan.tensor_model_parallel_size;
    const std::int64_t data = plan.data_parallel_size;
    const std::int64_t shard = plan.hsdp_shard_size > 0 ? plan.hsdp_shard_size : data;
    const std::int64_t secondary = std::max<std::int64_t>(plan.zero_hpz_partition_size, 1);
    ORRERY_CHECK(tensor > 0 && tensor % ranks_of_head == 0);
    ORRERY_CHECK(data > 0 && data % shard == 0 && "hsdp_shard_size");
    ORRERY_CHECK(shard % secondary == 0 && "zero_hpz_partition_size");
    RankMesh result;
    MeshOfPlan make{expert_cuts(plan)};
    const auto stages = [&] {
        make.axis("pp", {{"pp", plan.pipeline_model_parallel_size}}, false);
    };
    result.head_digits =
        make.axis("tp", {{"tpq", ranks_of_head}, {"tpk", tensor / ranks_of_head}})[0];
    make.axis("cp", {{"cp", plan.context_parallel_size}});
    if (plan.rank_order == RankOrder::tp_cp_pp_dp) {
        stages();
    }
    const std::vector<std::uint32_t> dp =
        make.axis("dp", {{"dpz", secondary}, {"dps", shard / secondary}, {"dpr", data / shard}});
    result.secondary_digits = dp[0];
    result.shard_digits = dp[0] | dp[1];
    if (plan.rank_order == RankOrder::tp_cp_dp_pp) {
        stages();
    }
    const std::int64_t expert_tensor = plan.expert_tensor_size();
    const std::int64_t experts = expert_tensor * plan.expert_model_parallel_size;
    // If experts use the ranks like the rest of the model, the axes need no second names.
    const bool apart = plan.expert_model_parallel_size > 1 || expert_tensor != tensor;
    result.expert_tensor_digits = make.view("etp", 1, expert_tensor, apart);
    result.expert_digits = make.view("ep", expert_tensor, experts, apart);
    result.expert_data_digits = make.view("edp", experts, make.ranks_of_stage(), apart);
    result.mesh = std::move(make).mesh(first_rank);
    return result;
}

}  // namespace orrery
