// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_control.h"

#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

using namespace literals;

TEST(ReadControl, EveryControlHasItsNumbers) {
    PacketSettings settings;
    EXPECT_EQ(
        packet_errors("{congestion: dcqcn, dcqcn: {preset: paper, gain: 0.01, byte_counter: 1 MB, "
                      "clamp_target: false, increase_period: 30 us}}",
                      &settings),
        "");
    const DcqcnParameters& d = settings.parameters.dcqcn;
    EXPECT_EQ(d.cnp_interval, 50_us);  // the publication's
    EXPECT_EQ(d.gain, 0.01);
    EXPECT_EQ(d.byte_counter, 1'000'000);
    EXPECT_FALSE(d.clamp_target);
    EXPECT_EQ(d.increase_period, 30_us);
    for (const char* text : {"{congestion: dctcp, dctcp: {gain: 0.1, increase: 1 Gbps}}",
                             "{congestion: swift, swift: {base_target: 20 us, decrease: 0.5}}",
                             "{congestion: hpcc, hpcc: {eta: 0.99, increase_per_line: 0.001}}",
                             "{congestion: nscc, nscc: {target_share: 1, quick_adapt: false}}",
                             "{congestion: megascale, megascale: {gain: 0.1, window_start: 12}}"}) {
        EXPECT_EQ(packet_errors(text), "") << text;
    }
    for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
             {"{congestion: hpcc, dcqcn: {gain: 0.1}}",
              "not the congestion control that was chosen"},
             {"{congestion: dcqcn, dcqcn: {alpha_period: 0 us}}", "must not be zero"},
             {"{congestion: dcqcn, dcqcn: {gian: 1}}", "unknown key 'gian'"},
             {"{congestion: dcqcn, dcqcn: fast}", "must be a map"},
             {"{congestion: hpcc, hpcc: {eta: 2}}", "out of range"}}) {
        EXPECT_NE(packet_errors(text).find(error), std::string::npos)
            << text << packet_errors(text);
    }
}

}  // namespace
}  // namespace orrery
