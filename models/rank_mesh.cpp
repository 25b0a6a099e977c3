// SPDX-License-Identifier: Apache-2.0
#include "models/rank_mesh.h"

#include <algorithm>
#include <limits>

#include "engine/check.h"

namespace orrery {
namespace {

struct DigitOfAxis {
    const char* name;
    std::int64_t size;
};

class MeshOfPlan {
public:
    // Digits of one axis, the least significant first. Returns the bit of each; one of size one is
    // left out and has none.
    std::vector<std::uint32_t> axis(const char* name, const std::vector<DigitOfAxis>& given) {
        const auto kept = std::ranges::count_if(given, [](const auto& d) { return d.size > 1; });
        MeshAxis axis{.name = name};
        std::vector<std::uint32_t> bits;
        for (const DigitOfAxis& digit : given) {
            bits.push_back(digit.size > 1 ? add(axis, kept == 1 ? name : digit.name, digit.size)
                                          : 0);
        }
        if (kept == 0) {
            add(axis, name, 1);
        }
        axes_.push_back(std::move(axis));
        return bits;
    }

    Mesh mesh(RankId first_rank) && {
        return Mesh(std::move(digits_), first_rank, std::move(axes_));
    }

private:
    std::uint32_t add(MeshAxis& axis, const char* name, std::int64_t size) {
        ORRERY_CHECK(size <= std::numeric_limits<std::uint32_t>::max());
        const std::uint32_t bit = 1u << digits_.size();
        axis.digits |= bit;
        digits_.push_back({.name = name, .size = static_cast<std::uint32_t>(size)});
        return bit;
    }

    std::vector<MeshDigit> digits_;
    std::vector<MeshAxis> axes_;
};

}  // namespace

std::int64_t ranks_of_key_value_head(const Transformer& model, const ParallelPlan& plan) {
    return std::max<std::int64_t>(plan.tensor_model_parallel_size / model.num_query_groups, 1);
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
    MeshOfPlan make;
    const auto stages = [&] { make.axis("pp", {{"pp", plan.pipeline_model_parallel_size}}); };
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
    result.mesh = std::move(make).mesh(first_rank);
    return result;
}

}  // namespace orrery
