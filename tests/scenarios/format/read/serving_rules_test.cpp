// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/served_text.h"

namespace orrery {
namespace {

std::string engine(const std::string& keys) {
    return "{engine: {base: vllm-v1, " + keys + "}}";
}

void expect_error(const std::string& serving, const std::string& workload, const char* what) {
    const std::string error = first_error(serving, workload);
    EXPECT_NE(error.find(what), std::string::npos) << serving << workload << ": " << error;
}

TEST(ServingRules, TimesOfAnEngineHaveALimit) {
    EXPECT_EQ(first_error(engine("host_per_step: 1000000 s"), "{}"),
              "s.yaml:4:35: error: serving.engine.host_per_step is 100 s at most (hint: 1 ms)");
    for (const char* const key : {"host_per_sequence",
                                  "host_per_launch",
                                  "host_per_head_copy",
                                  "host_per_request",
                                  "host_per_response",
                                  "host_per_prompt_token",
                                  "kernel_compile_time",
                                  "attention_latency",
                                  "attention_block"}) {
        EXPECT_EQ(first_error(engine(std::string{key} + ": 100 s"), "{}"), "");
        expect_error(engine(std::string{key} + ": 101 s"), "{}", key);
    }
}

TEST(ServingRules, FactsOfAnotherSchedulerAreErrors) {
    EXPECT_EQ(first_error(engine("prompts_together: 4"), "{}"),
              "s.yaml:4:35: error: serving.engine.prompts_together is of schedulers whose prompts "
              "have steps of their own, and scheduler is vllm_v1 (hint: scheduler: vllm_v0, or "
              "sglang)");
    for (const char* const key :
         {"prompts_together: 4", "prompt_free_share: 0.5", "num_scheduler_steps: 8"}) {
        expect_error(engine(key), "{}", "steps of their own");
        expect_error(engine(std::string{"scheduler: static, "} + key), "{}", "scheduler is static");
        EXPECT_EQ(first_error(engine(std::string{"scheduler: sglang, "} + key), "{}"), "");
    }
    EXPECT_EQ(first_error(engine("prompts_together: 1, num_scheduler_steps: 1"), "{}"), "");
    expect_error(engine("host_per_launch: 0 us, captures_generation: true"),
                 "{}",
                 "of which steps host_per_launch is");
    EXPECT_EQ(first_error(engine("captures_generation: true, host_per_launch: 9 us"), "{}"), "");
    expect_error(engine("captures_generation: false, max_captured_sequences: 512"),
                 "{}",
                 "serving.engine.max_captured_sequences limits what captures_generation captures");
    expect_error(engine("captures_generation: false, max_seq_len_to_capture: 8192"),
                 "{}",
                 "serving.engine.max_seq_len_to_capture limits what captures_generation captures");
    expect_error(engine("captures_generation: false, captured_batch_multiple: 8"),
                 "{}",
                 "captured_batch_multiple is of the steps that captures_generation captures");
    EXPECT_EQ(first_error(engine("captured_batch_multiple: 16"), "{}"), "");
    expect_error(engine("host_per_request: 0 us, host_per_prompt_token: 0 us, front_ends: 2"),
                 "{}",
                 "front_ends says how many");
    EXPECT_EQ(first_error(engine("host_per_request: 1 ms, front_ends: 2"), "{}"), "");
    expect_error(engine("stream_interval: 4"), "{}", "how many tokens share host_per_response");
    EXPECT_EQ(first_error(engine("stream_interval: 4, host_per_response: 9 us"), "{}"), "");
    EXPECT_EQ(first_error(engine("host_per_request: 0 us, host_per_prompt_token: 3 us, "
                                 "front_ends: 2"),
                          "{}"),
              "");
}

TEST(ServingRules, KeysOfAPoolThatNothingAsksForAreErrors) {
    expect_error("{pools: {context_parallel_comm: ring}}", "{}", "ranks that share a context");
    expect_error("{pools: {num_routers: 2, instances: 2}}", "{}", "only round_robin has a turn");
    expect_error(
        "{pools: {num_routers: 2, router: round_robin}}", "{}", "the pool has one instance");
    EXPECT_EQ(first_error("{pools: {num_routers: 2, router: round_robin, instances: 2}}", "{}"),
              "");
    expect_error("{pools: {block_scaled: true}}", "{}", "block_scaled is of products in fp8");
    EXPECT_EQ(first_error("{pools: {block_scaled: true, precision: fp8}}", "{}"), "");
    expect_error("{pools: {attention_in_16_bits: true}}", "{}", "is of weights of fewer bits");
    EXPECT_EQ(first_error("{pools: {attention_in_16_bits: true, precision: fp8}}", "{}"), "");
    expect_error("{pools: {attention_in_16_bits: true, weight_bits: 4, chain: ring}}",
                 "{}",
                 "not of a chain");
    expect_error(
        "{engine: {base: vllm-v1, scheduler: orca}, pools: {long_prefill_token_threshold: "
        "64}}",
        "{}",
        "of schedulers that cut prompts, and orca does not");
    EXPECT_EQ(first_error("{pools: {long_prefill_token_threshold: 64}}", "{}"), "");
    const std::string steps = "prompt_batching_steps: 3";
    const std::string waits = "{engine: {base: vllm-v1, prompt_wait_steps: 9}, pools: {";
    expect_error(waits + steps + "}}", "{}", "prompts wait for each other");
    expect_error("{pools: {data_parallel_size: 2, " + steps + "}}", "{}", "prompts wait for each");
    EXPECT_EQ(first_error(waits + "data_parallel_size: 2, " + steps + "}}", "{}"), "");
}

TEST(ServingRules, PoliciesNeedWhatTheyLookAt) {
    EXPECT_EQ(first_error("{admission: objectives}", "{}"),
              "s.yaml:4:22: error: serving.admission asks for objectives, and there are none "
              "(hint: serving.objectives: {ttft: 2 s, tpot: 200 ms})");
    EXPECT_EQ(first_error("{admission: objectives, objectives: {tbt: 1 s}}", "{}"), "");
    expect_error("{autoscaler: {policy: objectives}, objectives: {tbt: 1 s}}",
                 "{}",
                 "serving.autoscaler asks for objectives");
    expect_error("{autoscaler: {policy: rate, min_instances: 3}, pools: {instances: 2}}",
                 "{}",
                 "more than any pool has");
    expect_error("{idle_watts: 80}", "{}", "serving.idle_watts has no effect");
    expect_error("{speculation: {acceptance: 0.5}}", "{}", "tokens that a draft proposes");
    EXPECT_EQ(first_error("{speculation: {draft_tokens: 0, acceptance: 0.5}}", "{}"), "");
}

TEST(ServingRules, ARecoveryWithoutFaultsIsAnError) {
    EXPECT_EQ(first_error("{recovery: {lost_cache: copy}}", "{}"),
              "s.yaml:4:22: error: serving.recovery.lost_cache is of faults, and there are none "
              "(hint: faults: [{t: 2 min, at: \"node:0\", kind: node_crash}])");
    expect_error("{recovery: {start_up: 9 s}}", "{}", "serving.recovery.start_up is of faults");
    const std::string scales = "{autoscaler: {policy: rate}, pools: {instances: 2}, recovery: ";
    EXPECT_EQ(first_error(scales + "{start_up: 9 s, weight_loading: 1 GB/s}}", "{}"), "");
    expect_error(scales + "{lost_cache: copy}}", "{}", "serving.recovery.lost_cache is of faults");
}

TEST(ServingRules, KeysOfALoadThatNoInstanceReadsAreErrors) {
    EXPECT_EQ(first_error("{}", "{prediction_error: 0.5}"),
              "s.yaml:5:30: error: workload.prediction_error is of lengths that order the queue "
              "or choose an instance (hint: serving.engine.queue_order: predicted_length)");
    for (const char* const order : {"predicted_length", "arrival"}) {
        EXPECT_EQ(
            first_error(engine(std::string{"queue_order: "} + order), "{prediction_error: 0.5}"),
            "");
    }
    expect_error(engine("queue_order: deadline"), "{prediction_error: 0.5}", "order the queue");
    EXPECT_EQ(first_error("{pools: {router: earliest_end}}", "{prediction_error: 0.5}"), "");
    expect_error("{pools: {adapter_rank: 16}}", "{}", "requests are for none");
}

TEST(ServingRules, AChainIsOneInstanceWithoutPoliciesOfEqualRanks) {
    EXPECT_EQ(first_error("{pools: {chain: ring}}", "{}"), "");
    expect_error("{pools: {chain: ring, instances: 2}}", "{}", "serving.pools.chain");
    expect_error("{pools: {chain: ring, tensor_model_parallel_size: 2}}", "{}", "pools.chain");
    expect_error("{pools: {chain: even, expert_ranks: 2}}", "{}", "serving.pools.chain");
    expect_error("{pools: {chain: even}, price_per_gpu_hour: 2}", "{}", "with equal ranks");
    expect_error("{pools: {chain: even}, power: {policy: none}}", "{}", "with equal ranks");
    EXPECT_EQ(first_error("{pools: {chain: none, instances: 2}}", "{}"), "");
    EXPECT_EQ(first_error("{pools: {chain: ring, weight_scale_bits: 0.8}}", "{}"), "");
    expect_error("{pools: {weight_scale_bits: 0.8}}", "{}", "is of a chain");
    EXPECT_EQ(first_error("{pools: {chain: full_ring, n_gpu_layers: 30}}", "{}"), "");
    expect_error("{pools: {n_gpu_layers: 30}}", "{}", "is of a chain");
    expect_error("{pools: {resting_memory: 1 GB}}", "{}", "is of a chain");
    expect_error("{pools: {chain: ring, weight_scale_bits: 9}}", "{}", "weight_scale_bits");
}

TEST(ServingRules, LayersOfAPromptLeaveForAnotherPoolWithoutFaults) {
    const std::string pools = ", pools: [{role: prefill}, {role: decode}]}";
    EXPECT_EQ(first_error("{layer_wise_tokens: 1" + pools, "{}"), "");
    EXPECT_EQ(first_error("{layer_wise_tokens: 0}", "{}"), "");
    expect_error("{layer_wise_tokens: 512}", "{}", "prompts that leave for another pool");
    expect_error("{layer_wise_tokens: -1" + pools, "{}", "layer_wise_tokens");
    const std::string fault = "{}\nfaults: [{t: 1 s, at: \"node:0\", kind: node_crash}]";
    EXPECT_EQ(first_error("{layer_wise_tokens: 0" + pools, fault), "");
    expect_error("{layer_wise_tokens: 1" + pools, fault, "does not go with faults");
}

TEST(ServingRules, AColdStartIsOfKernelsThatAreCompiled) {
    const std::string scaled = ", pools: {precision: fp8, weight_bits: 8, block_scaled: true}}";
    EXPECT_TRUE(read_served_text("{engine: tensorrt-llm-1, cold_start: true" + scaled, "{}")
                    ->serving.cold_start);
    EXPECT_EQ(first_error("{cold_start: false}", "{}"), "");
    expect_error("{engine: vllm-v1, cold_start: true" + scaled, "{}", "kernel_compile_time is 0");
    expect_error("{engine: tensorrt-llm-1, cold_start: true}", "{}", "scales of blocks");
}

TEST(ServingRules, UnequalLoadsAreOfPools) {
    EXPECT_EQ(read_served_text("{pools: {expert_skew: 1.2}}", "{}")
                  ->serving.pools.front()
                  .plan.expert_skew,
              1.2);
    expect_error("{pools: {expert_skew: -1}}", "{}", "serving.pools.expert_skew");
    expect_error("{pools: {expert_skew: 5}}", "{}", "serving.pools.expert_skew");
}

TEST(ServingRules, RanksOfExpertsAreOfOneStage) {
    EXPECT_EQ(first_error("{pools: {expert_ranks: 2}}", "{}"), "");
    expect_error("{pools: {expert_ranks: 2, pipeline_model_parallel_size: 2}}", "{}", "stages");
    expect_error("{pools: {expert_ranks: 2, expert_model_parallel_size: 2, data_parallel_size: 2}}",
                 "{}",
                 "serving.pools.expert_ranks");
    expect_error(
        "{pools: {expert_ranks: 2}, cache: {tiers: [{kind: dram}]}}", "{}", "expert_ranks");
}

TEST(ServingRules, PromptsOfAnEarlierRunAreInPrefixCaches) {
    EXPECT_EQ(read_served_text("{}", "{repeated_requests: 9}")->workload.repeated_requests, 9);
    expect_error("{pools: {enable_prefix_caching: false}}",
                 "{repeated_requests: 9}",
                 "enable_prefix_caching is false");
}

}  // namespace
}  // namespace orrery
