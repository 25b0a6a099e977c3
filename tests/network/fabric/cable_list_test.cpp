// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/cable_list.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

// Two servers of one NIC, a switch each, two cables between the switches.
std::vector<NamedCable> dumbbell() {
    return {{"node 0 nic 0", "a", 100_Gbps, 1_us, "f:2"},
            {"b", "node 1 nic 0", 200_Gbps, 1_us, "f:3"},
            {"a", "b", 400_Gbps, 2_us, "f:4"},
            {"b", "a", 400_Gbps, 2_us, "f:5"}};
}

std::string errors_of(const std::vector<NamedCable>& cables, std::uint32_t nodes = 2) {
    const auto list = CableList::make(cables, "f", nodes, 1);
    std::string lines;
    for (const Error& error : list ? Errors{} : list.error()) {
        lines += error.to_string() + "\n";
    }
    return lines;
}

TEST(CableList, NicsComeInOrderWhateverTheRowsAndEnds) {
    const auto list = CableList::make(dumbbell(), "f", 2, 1);
    ASSERT_TRUE(list);
    const CableList& cables = **list;
    EXPECT_EQ(cables.switches(), (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(cables.nic_cables().size(), 2U);
    EXPECT_EQ(cables.nic_cables()[1].a, 1U);
    EXPECT_EQ(cables.nic_cables()[1].b, 1U);
    EXPECT_EQ(cables.nic_cables()[1].bandwidth, 200_Gbps);
    EXPECT_EQ(cables.switch_cables().size(), 2U);
    EXPECT_EQ(cables.slowest_nic(), 100_Gbps);
}

TEST(CableList, SaysWhichRowCannotBe) {
    const auto with = [](NamedCable cable) {
        auto cables = dumbbell();
        cable.where = "f:6";
        cables.push_back(std::move(cable));
        return errors_of(cables);
    };
    EXPECT_NE(with({"node 0 nic 0", "b", 1_Gbps}).find("f:6: error: 'node 0 nic 0' has two cables"),
              std::string::npos);
    EXPECT_NE(with({"node 0 nic 0", "node 1 nic 0", 1_Gbps}).find("both NICs"), std::string::npos);
    EXPECT_NE(with({"node 2 nic 0", "a", 1_Gbps}).find("no NIC 'node 2 nic 0'"), std::string::npos);
    EXPECT_NE(with({"a", "node 0 nic 1", 1_Gbps}).find("no NIC 'node 0 nic 1'"), std::string::npos);
    EXPECT_NE(with({"a", "a", 1_Gbps}).find("to itself"), std::string::npos);
    EXPECT_NE(with({"a", "c", Bandwidth{}}).find("must not be zero"), std::string::npos);
    EXPECT_NE(with({"a", "", 1_Gbps}).find("two ends"), std::string::npos);
    EXPECT_EQ(with({"a", "c", 1_Gbps}), "");  // a switch without NICs may hang there
}

TEST(CableList, DisconnectedFabricsAndMissingCablesAreErrors) {
    auto cables = dumbbell();
    cables.resize(2);
    EXPECT_NE(errors_of(cables).find("f: error: no cables lead from 'node 0 nic 0' to 'node 1 nic "
                                     "0'"),
              std::string::npos);
    EXPECT_NE(errors_of(dumbbell(), 3).find("f: error: 'node 2 nic 0' has no cable"),
              std::string::npos);
    std::vector<NamedCable> many = dumbbell();
    for (int i = 0; i < 5'000; ++i) {
        many.push_back({"a", "s" + std::to_string(i), 1_Gbps, 1_us, "f:9"});
    }
    EXPECT_NE(errors_of(many).find("switches are too many"), std::string::npos);
}

}  // namespace
}  // namespace orrery
