// SPDX-License-Identifier: Apache-2.0
// Facts about serving software: the keys of an engine, and the catalogue's engines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_serving.h"

namespace orrery {
namespace {

constexpr Choice<QueueOrder> kOrders[] = {
    {"arrival", QueueOrder::arrival},
    {"predicted_length", QueueOrder::predicted_length},
    {"deadline", QueueOrder::deadline},
};

constexpr Key kEngineRows[] = {
    key<&ServingEngine::name>("name", "What reports call the engine.").by("the entry's name"),
    key<&ServingEngine::scheduler>("scheduler", "Policy that fills a step."),
    key<&ServingEngine::host_per_step>("host_per_step", "Host time of a step."),
    key<&ServingEngine::host_per_sequence>("host_per_sequence",
                                           "Host time of each sequence in a step."),
    key<&ServingEngine::host_per_launch>(
        "host_per_launch", "Host time of each kernel of a step that no graph captures."),
    key<&ServingEngine::host_per_head_copy>(
        "host_per_head_copy",
        "Wait for each copy of shared key-value heads for prompts' query heads; 0: no copies."),
    key<&ServingEngine::kernel_compile_time>(
        "kernel_compile_time", "Time to compile a block-scaled FP8 kernel at first use; 0: none."),
    key<&ServingEngine::captures_generation>("captures_generation",
                                             "host_per_launch is of steps with prompts alone."),
    key<&ServingEngine::captured_batch_multiple>(
        "captured_batch_multiple", "A captured step is filled up to a multiple of these.")
        .range(1, 4096)
        .of("sequences"),
    key<&ServingEngine::max_captured_sequences>(
        "max_captured_sequences",
        "With captures_generation: steps with more sequences are launched, too; 0: none.")
        .range(0, 1'000'000)
        .of("sequences"),
    key<&ServingEngine::max_seq_len_to_capture>(
        "max_seq_len_to_capture",
        "With captures_generation: steps with a longer context are launched, too; 0: none.")
        .range(0, 1'000'000'000)
        .of("tokens"),
    key<&ServingEngine::piecewise_capture_tokens>(
        "piecewise_capture_tokens",
        "Graphs hold other steps up to this number of tokens, but for attention; 0: none.")
        .range(0, 1'000'000)
        .of("tokens"),
    key<&ServingEngine::host_per_request>("host_per_request",
                                          "Time of a request in the server's front end."),
    key<&ServingEngine::host_per_prompt_token>(
        "host_per_prompt_token", "Time of a prompt's token in the server's front end."),
    key<&ServingEngine::front_ends>("front_ends",
                                    "Requests that an instance's front end handles at a time.")
        .range(1, 1'000'000)
        .of("requests"),
    key<&ServingEngine::host_per_response>("host_per_response",
                                           "Time of a response to a client, on one thread."),
    key<&ServingEngine::stream_interval>("stream_interval",
                                         "Tokens of a response, but for an answer's first one.")
        .range(1, 1'000'000)
        .of("tokens"),
    key<&ServingEngine::asynchronous>("asynchronous",
                                      "The host prepares a step while the device works."),
    key<&ServingEngine::num_scheduler_steps>("num_scheduler_steps",
                                             "Steps that generate between two looks at the queue.")
        .range(1, 1000)
        .of("steps"),
    key<&ServingEngine::prompts_together>(
        "prompts_together", "Prompts with steps of their own begin when this many wait.")
        .range(1, 10'000)
        .of("prompts"),
    key<&ServingEngine::prompt_free_share>(
        "prompt_free_share",
        "Prompts with steps of their own begin when this share of the cache is free.")
        .range(0.0, 1.0),
    choice<kOrders, &ServingEngine::queue_order>("queue_order",
                                                 "Which waiting request begins first."),
    key<&ServingEngine::direct_all_reduce>(
        "direct_all_reduce", "Small sums by the engine's own kernel instead of NCCL."),
    key<&ServingEngine::nvls>("nvls", "NCCL sums in the switches of servers that can."),
    key<&ServingEngine::flags_in_data>(
        "flags_in_data", "The kernel of direct_all_reduce waits for data, not at barriers."),
    key<&ServingEngine::fused_casts>("fused_casts", "Other kernels write FP8 operands on the way."),
    key<&ServingEngine::fused_cache_write>(
        "fused_cache_write", "Other kernels write keys and values into the cache on the way."),
    key<&ServingEngine::masks_experts>(
        "masks_experts", "Kernels around experts run over the rows of other ranks' experts, too."),
    key<&ServingEngine::joins_attention>(
        "joins_attention", "One attention kernel serves a step's prompts and generation."),
    key<&ServingEngine::mixes_adapters>("mixes_adapters",
                                        "Requests for different adapters share a step."),
    key<&ServingEngine::attention_latency>(
        "attention_latency", "Time of an attention kernel beyond that of an empty one."),
    key<&ServingEngine::attention_block>(
        "attention_block", "SM time of a sequence's key-value head beside reading its cache."),
    key<&ServingEngine::attention_tile_rows>(
        "attention_tile_rows",
        "Rows of a tile of prompts' attention that waits for the L2 cache; 0: it does not wait.")
        .range(0, 1024)
        .of("rows"),
    key<&ServingEngine::shared_query_heads>(
        "shared_query_heads",
        "Size of the only group of query heads that reads its cache once; 0: all do.")
        .range(0, 1024)
        .of("heads"),
    key<&ServingEngine::expert_peak>(
        "expert_peak", "Share of the peak that kernels of experts reach; 0: as other products.")
        .range(0.0, 1.0),
    key<&ServingEngine::scaled_expert_peak>("scaled_expert_peak",
                                            "The same of FP8 weights with scales of blocks.")
        .range(0.0, 1.0),
    key<&ServingEngine::unpacked_expert_peak>(
        "unpacked_expert_peak", "The same of weights that are unpacked for wider products.")
        .range(0.0, 1.0),
    key<&ServingEngine::reserved_memory>(
        "reserved_memory", "Memory of each GPU beside weights, cache and activations."),
    key<&ServingEngine::memory_share>("memory_share",
                                      "Share of a GPU's memory that the engine uses.")
        .range(0.01, 1.0),
    key<&ServingEngine::share_of_rest>(
        "share_of_rest", "memory_share is of the memory that weights and the engine leave."),
    key<&ServingEngine::max_num_seqs>("max_num_seqs", "Sequences of a step at most.")
        .range(1, 1'000'000)
        .of("sequences"),
    key<&ServingEngine::seqs_of_each_stage>(
        "seqs_of_each_stage", "max_num_seqs is of each pipeline stage, not of all together."),
    key<&ServingEngine::max_num_batched_tokens>("max_num_batched_tokens",
                                                "Tokens of a step at most.")
        .range(1, kMostTokens)
        .of("tokens"),
    key<&ServingEngine::tokens_of_all_ranks>(
        "tokens_of_all_ranks", "max_num_batched_tokens is of all data-parallel ranks together."),
    key<&ServingEngine::streams_from_decode>(
        "streams_from_decode", "The decode pool sends the first token, not the prefill pool."),
    key<&ServingEngine::prompt_wait_steps>(
        "prompt_wait_steps",
        "Steps for which prompts wait for one for each data-parallel rank, or looks at the queue "
        "for which fewer than prompts_together wait.")
        .range(0, 10'000)
        .of("steps"),
};

}  // namespace

const KeyTable<ServingEngine> kEngineKeys = key_table<ServingEngine>("engine", kEngineRows);

void read_engine_map(const DocumentNode& map, ServingEngine& engine, Errors& errors) {
    MapReader reader{map, "serving.engine", errors};
    read_keys(reader, kEngineKeys, engine);
    if (find_batching_rules(engine.scheduler) == nullptr) {
        std::vector<std::string_view> names;
        for (const BatchingRules& rules : batching_rules()) {
            names.push_back(rules.name);
        }
        reader.complain("scheduler",
                        fmt::format("serving.engine.scheduler can't be '{}'", engine.scheduler),
                        fmt::format("{}", fmt::join(names, ", ")));
    }
    check_engine(reader, engine);
    reader.finish();
}

Result<ServingEngine> read_engine(std::string_view name, const std::filesystem::path& catalogue) {
    Errors errors;
    ServingEngine engine;
    const DocumentNode map =
        Catalogue{catalogue}.resolve(scalar_node(std::string{name}), "engines", "engine", errors);
    if (map.is_map()) {
        read_engine_map(map, engine, errors);
    }
    if (!errors.empty()) {
        return unexpected<Error>(errors.front());
    }
    return engine;
}

}  // namespace orrery
