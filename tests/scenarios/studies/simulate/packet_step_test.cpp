// SPDX-License-Identifier: Apache-2.0
// Steps on packets: with little to share they take what fair shares say, windows bound what moves
// as packets, and what is too much or not there is an error.
#include "scenarios/studies/simulate/packet_step.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Four servers of one GPU that differ in nothing but the network's words.
Scenario scenario_of(const std::string& network, const std::string& plan, std::uint32_t nodes = 4) {
    const std::string text =
        "cluster:\n  nodes: " + std::to_string(nodes) +
        "\n  node: dgx-h100\n  fabric: eth400-clos\n"
        "model: {num_layers: 8, hidden_size: 1024, num_attention_heads: 16, seq_length: 1024, "
        "vocab_size: 32000}\nplan: {" +
        plan + "}\nnetwork: " + network + "\n";
    auto scenario = read_scenario_text(text, "packets.yaml", ".", {});
    EXPECT_TRUE(scenario.has_value())
        << (scenario ? std::string{} : scenario.error().front().to_string());
    return *scenario;
}

const std::string kPipeline =
    "tensor_model_parallel_size: 8, pipeline_model_parallel_size: 2, micro_batch_size: 1, "
    "global_batch_size: 8, precision: bf16";
const std::string kData =
    "tensor_model_parallel_size: 1, micro_batch_size: 1, global_batch_size: 64, precision: bf16";

Answer answer_of(const Scenario& scenario) {
    const auto answer = simulate_scenario(scenario);
    EXPECT_TRUE(answer) << (answer ? std::string{} : answer.error().to_string());
    return answer ? *answer : Answer{};
}

TEST(PacketStep, AWholeStepTakesAboutWhatFairSharesSay) {
    for (const std::string& plan : {kPipeline, kData}) {
        const Answer fluid = answer_of(scenario_of("fluid", plan));
        const Answer packets = answer_of(scenario_of("packet", plan));
        ASSERT_TRUE(packets.packets);
        EXPECT_TRUE(packets.packets->whole);
        EXPECT_GT(packets.packets->packets, 1000);
        EXPECT_EQ(packets.packets->failed, 0);
        // Unfolded, and with the headers of packets in place of the fabric's efficiency.
        EXPECT_NEAR(packets.packets->fair_iteration / fluid.iteration, 1, 0.01);
        EXPECT_GT(packets.iteration / fluid.iteration, 0.98);
        EXPECT_LT(packets.iteration / fluid.iteration, 1.25);
        EXPECT_EQ(packets.critical_path.total(), packets.iteration);
    }
}

TEST(PacketStep, AWindowTakesItsPartOfThePackets) {
    const Answer whole = answer_of(scenario_of("packet", kPipeline));
    const Answer sends = answer_of(
        scenario_of("{fidelity: packet, window: {of: pipeline, micro_batch: 1}}", kPipeline));
    const Answer gradients =
        answer_of(scenario_of("{fidelity: packet, window: {of: gradients}}", kPipeline));
    ASSERT_TRUE(whole.packets && sends.packets && gradients.packets);
    EXPECT_LT(sends.packets->packets, whole.packets->packets / 2);
    EXPECT_GT(sends.packets->packets, 0);
    EXPECT_GT(gradients.packets->packets, sends.packets->packets);
    EXPECT_LE(gradients.packets->packets, whole.packets->packets);
    EXPECT_GT(gradients.packets->begin, sends.packets->begin);
    EXPECT_FALSE(sends.packets->whole);
    const Answer first = answer_of(
        scenario_of("{fidelity: packet, window: {of: gradients, for: 20 us}}", kPipeline));
    EXPECT_LT(first.packets->packets, gradients.packets->packets);
    EXPECT_EQ(first.packets->lasts, Time::seconds(20e-6));
}

TEST(PacketStep, TellsWhatIsTooMuchOrNotThere) {
    const auto error_of = [](const Scenario& scenario) {
        const auto answer = simulate_scenario(scenario);
        EXPECT_FALSE(answer);
        return answer ? std::string{} : answer.error().to_string();
    };
    const auto many = error_of(scenario_of("{fidelity: packet, window: {packets_max: 10}}", kData));
    EXPECT_NE(many.find("million packets"), std::string::npos) << many;
    EXPECT_NE(many.find("network.window.packets_max="), std::string::npos) << many;
    const auto none = error_of(scenario_of("{fidelity: packet, window: {of: context}}", kPipeline));
    EXPECT_NE(none.find("no context traffic"), std::string::npos) << none;
    const auto late =
        error_of(scenario_of("{fidelity: packet, window: {from: 100 s, for: 1 ms}}", kPipeline));
    EXPECT_NE(late.find("begins after"), std::string::npos) << late;
}

TEST(PacketStep, IsTheSameEveryTime) {
    const Scenario scenario = scenario_of("{fidelity: packet, packet: {congestion: dcqcn}}", kData);
    EXPECT_EQ(answer_of(scenario).iteration, answer_of(scenario).iteration);
}

}  // namespace
}  // namespace orrery
