// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/calibrated_network.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

class OnePartNetwork final : public NetworkModel {
public:
    TransferPlan plan(const TransferCall&, std::span<const RankId>) const override {
        return {.phases = {{.latency = Time::seconds(1e-6),
                            .parts = {{.footprint = {}, .bytes = Bytes{1000}, .rate_max = {}}}}}};
    }
    std::span<const LinkInfo> links() const override { return {}; }
    std::span<const std::string> link_class_names() const override { return {}; }
    bool has_contention() const override { return true; }
};

TEST(CalibratedNetwork, ScalesStartUpAndBytes) {
    const OnePartNetwork network;
    const CalibratedNetwork slower{network, 1.5};
    const TransferPlan plan = slower.plan({}, {});
    ASSERT_EQ(plan.phases.size(), 1U);
    EXPECT_EQ(plan.phases[0].latency, Time::seconds(1.5e-6));
    EXPECT_EQ(plan.phases[0].parts[0].bytes, Bytes{1500});
    EXPECT_TRUE(slower.has_contention());
}

}  // namespace
}  // namespace orrery
