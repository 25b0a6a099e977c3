// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace read_network_test {

using namespace literals;

struct NetworkRead {
    NetworkFidelity fidelity = NetworkFidelity::fluid;
    NetworkSettings settings;
    std::string errors;
};

NetworkRead network_read(const std::string& text) {
    NetworkRead out;
    Errors errors;
    const DocumentNode root = section_of("network: " + text);
    read_network(*root.find("network"), out.fidelity, out.settings, errors);
    out.errors = lines_of(errors);
    return out;
}

TEST(ReadNetwork, AWordIsTheFidelity) {
    EXPECT_EQ(network_read("simgrid").fidelity, NetworkFidelity::simgrid);
    EXPECT_EQ(network_read("analytic").errors, "");
    const NetworkRead changed = network_read("{base: analytic, packet: {congestion: hpcc}}");
    EXPECT_EQ(changed.errors, "");
    EXPECT_EQ(changed.fidelity, NetworkFidelity::analytic);
    EXPECT_EQ(changed.settings.packet.parameters.congestion, packet::CongestionKind::hpcc);
    EXPECT_EQ(network_read("fluit").errors,
              "s.yaml:1:10: error: network can't be 'fluit' (hint: one of analytic, fluid, packet, "
              "simgrid)\n");
    for (const auto fidelity : {NetworkFidelity::analytic,
                                NetworkFidelity::fluid,
                                NetworkFidelity::packet,
                                NetworkFidelity::simgrid}) {
        EXPECT_EQ(parse_fidelity(name(fidelity)), fidelity);
    }
    EXPECT_FALSE(parse_fidelity("fluit"));
}

TEST(ReadNetwork, AMapHasTheFidelityAndWhatHappensToLinks) {
    const NetworkRead r = network_read(
        "{fidelity: fluid, convergence: 5 ms, timeout: 1 s, batch: 2 us, seed: 9, events: ["
        "{link: leaf 0 -> spine 1, at: 3 ms, state: down, for: 4 ms}, "
        "{link: x, at: 1 s, bandwidth: 100 Gbps, one_way: true}]}");
    EXPECT_EQ(r.errors, "");
    EXPECT_EQ(r.settings.convergence, 5_ms);
    EXPECT_EQ(r.settings.timeout, 1'000_ms);
    EXPECT_EQ(r.settings.batch, 2_us);
    EXPECT_EQ(r.settings.seed, 9U);
    ASSERT_EQ(r.settings.events.size(), 3U);
    EXPECT_EQ(r.settings.events[0].link, "leaf 0 -> spine 1");
    EXPECT_EQ(r.settings.events[0].bandwidth, Bandwidth{});
    EXPECT_FALSE(r.settings.events[0].restores);
    EXPECT_EQ(r.settings.events[1].at, 7_ms);
    EXPECT_TRUE(r.settings.events[1].restores);
    EXPECT_TRUE(r.settings.events[2].one_way);
    EXPECT_EQ(r.settings.events[2].bandwidth, 100_Gbps);
}

TEST(ReadNetwork, AWindowOfAStepIsForPackets) {
    const NetworkRead r = network_read(
        "{fidelity: packet, window: {of: gradients, micro_batch: 3, from: 1 ms, for: 2 ms, "
        "packets_max: 1000}}");
    EXPECT_EQ(r.errors, "");
    EXPECT_EQ(r.settings.window.of, StepTraffic::gradients);
    EXPECT_EQ(r.settings.window.micro_batch, 3);
    EXPECT_EQ(r.settings.window.from, 1_ms);
    EXPECT_EQ(r.settings.window.lasts, 2_ms);
    EXPECT_EQ(r.settings.window.packets_max, 1000);
    for (const auto& [window, text] : std::vector<std::pair<std::string, std::string>>{
             {"{fidelity: fluid, window: {of: tensor}}", "is for fidelity packet, not fluid"},
             {"{fidelity: packet, window: 3 ms}", "network.window must be a map"},
             {"{fidelity: packet, window: {of: everything}}", "of can't be 'everything'"},
             {"{fidelity: packet, window: {for: 0 ms}}", "must not be zero"},
             {"{fidelity: packet, window: {micro_batch: -1}}", "micro_batch"},
             {"{fidelity: packet, window: {to: 3 ms}}", "unknown key 'to'"}}) {
        EXPECT_NE(network_read(window).errors.find(text), std::string::npos)
            << network_read(window).errors;
    }
}

TEST(ReadNetwork, AnEventSaysWhereWhenAndWhat) {
    for (const auto& [event, text] : std::vector<std::pair<std::string, std::string>>{
             {"{at: 1 ms, state: down}", "lacks the key 'link'"},
             {"{link: a, state: down}", "lacks the key 'at'"},
             {"{link: a, at: 1 ms}", "does not say what happens to the link"},
             {"{link: a, at: 1 ms, state: off}", "state can't be 'off'"},
             {"{link: a, at: 1 ms, state: down, bandwidth: 1 Gbps}",
              "both a state and a bandwidth"},
             {"{link: a, at: 1 ms, state: up, for: 1 ms}", "how long a fault lasts"},
             {"{link: a, at: 5, state: up}", "has no unit"},
             {"{link: a, at: 1 ms, bandwidth: -1 Gbps}", "is not a bandwidth"},
             {"x", "network.events[0] must be a map"}}) {
        const std::string errors = network_read("{events: [" + event + "]}").errors;
        EXPECT_NE(errors.find(text), std::string::npos) << event << ": " << errors;
    }
    EXPECT_NE(network_read("{events: 5}").errors.find("must be a list"), std::string::npos);
    EXPECT_NE(network_read("{timeout: 0 s}").errors.find("must not be zero"), std::string::npos);
}

}  // namespace read_network_test
}  // namespace orrery
