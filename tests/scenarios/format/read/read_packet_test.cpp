// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

using namespace literals;

TEST(ReadPacket, WhatIsNotGivenIsThePublishedSetUp) {
    PacketSettings settings;
    EXPECT_EQ(packet_errors("{congestion: dcqcn}", &settings), "");
    EXPECT_EQ(settings.parameters.congestion, packet::CongestionKind::dcqcn);
    EXPECT_EQ(settings.parameters.pfc.kind, packet::PfcKind::dynamic);
    EXPECT_FALSE(settings.spray_given);
    EXPECT_EQ(settings.where, "s.yaml:1:9");
}

TEST(ReadPacket, NumbersAreTaken) {
    PacketSettings settings;
    EXPECT_EQ(packet_errors("{congestion: none, spray: single, packet_size: 1064 B, queue: 1 MB, "
                            "ecn: {kmin: 5 KB, kmax: 200 KB, pmax: 0.01}, time_max: 5 ms, "
                            "pfc: {kind: fixed, xoff_packets: 20, xon_packets: 10}}",
                            &settings),
              "");
    const packet::PacketParameters& p = settings.parameters;
    EXPECT_TRUE(settings.spray_given);
    EXPECT_EQ(p.packet_bytes, 1064U);
    EXPECT_EQ(p.queue, Bytes(1'000'000));
    EXPECT_EQ(p.ecn.kmax, Bytes(200'000));
    EXPECT_EQ(p.ecn.pmax, 0.01);
    EXPECT_EQ(p.pfc.xoff_packets, 20U);
    EXPECT_EQ(p.time_max, 5_ms);
}

TEST(ReadPacket, ReceiversPaceTheirSenders) {
    PacketSettings settings;
    EXPECT_EQ(packet_errors("{congestion: credits, credit_rate: 0.5}", &settings), "");
    EXPECT_EQ(settings.parameters.credit_rate, 0.5);
    EXPECT_NE(packet_errors("{congestion: credits, credit_rate: 1.5}").find("0.01 to 1"),
              std::string::npos);
}

TEST(ReadPacket, ImpossibleThresholdsAreErrors) {
    for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
             {"{ecn: {kmin: 5 KB, kmax: 1 KB}}", "kmin lies above kmax"},
             {"{ecn: {kmin: 5 KB}}", "needs both thresholds"},
             {"{ecn: {kmin: -5 KB, kmax: 1 KB}}", "is not a size"},
             {"{ecn: 3}", "must be a map"},
             {"{pfc: {xoff_packets: 5, xon_packets: 6}}", "resume above the length"},
             {"{packet_size: 70000 B}", "1 B to 65535 B"},
             {"{congestion: tcp}", "congestion can't be 'tcp'"},
             {"dcqcn", "must be a map, not"}}) {
        EXPECT_NE(packet_errors(text).find(error), std::string::npos)
            << text << packet_errors(text);
        EXPECT_NE(packet_errors(text).find("s.yaml:1:"), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace orrery
