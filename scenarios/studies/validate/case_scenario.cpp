// SPDX-License-Identifier: Apache-2.0
// Cluster and model of a published row; case_plan.cpp makes the plan.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "kernels/csv_rows.h"
#include "models/plan/validate_plan.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/published_servers.h"

namespace orrery {
namespace {

bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::int64_t integer_of(const std::vector<std::string>& words, std::string_view key) {
    const std::string value = value_of_word(words, key);
    std::int64_t number = 0;
    for (const char c : value.substr(0, 12)) {
        if (c < '0' || c > '9') {
            return 0;
        }
        number = number * 10 + (c - '0');
    }
    return number;
}

bool starts(const PublishedCase& row, std::string_view stack) {
    return row.stack.starts_with(stack);
}

// Dropout of a row that does not state it. Megatron-LM's arguments, its forks (DeepSpeed's rows
// train their model) and NeMo's GPT-3 recipes default to 0.1. Llama-style recipes and all other
// stacks have none.
double default_dropout(const PublishedCase& row) {
    const bool gpt_of_nemo = starts(row, "nemo") && !row.model.gated_mlp();
    const bool arguments =
        starts(row, "megatron-lm") || starts(row, "megatron-deepspeed") || starts(row, "deepspeed");
    return arguments || gpt_of_nemo ? 0.1 : 0.0;
}

void set_model(const PublishedCase& row,
               const std::vector<std::string>& words,
               Transformer& model) {
    const bool llama_style = model.gated_mlp();
    if (has(words, "squared_relu")) {
        model.activation = Activation::squared_relu;
    } else if (has(words, "geglu")) {
        model.activation = Activation::geglu;
    }
    if (llama_style) {
        model.normalization = Normalization::rmsnorm;
    }
    if (llama_style || has(words, "squared_relu")) {
        model.position_embedding = PositionEmbedding::rope;
        model.add_bias_linear = false;
    }
    model.tied_embeddings =
        has(words, "tied_embeddings") || (!llama_style && !has(words, "untied_embeddings"));
    model.embed_layernorm = has(words, "embed_layernorm");
    model.parallel_block = has(words, "parallel_block");
    model.sliding_window = integer_of(words, "sliding_window");
    model.sliding_window_every = std::max<std::int64_t>(1, integer_of(words, "swa_every"));
    const std::string dropout = value_of_word(words, "dropout");
    model.dropout =
        dropout.empty() ? default_dropout(row) : std::clamp(std::atof(dropout.c_str()), 0.0, 0.999);
}

// Tables have no columns for these facts of a family of models, whose names begin alike.
Result<void> set_family(const PublishedCase& row, const Catalogue& catalogue, Transformer& model) {
    const auto table = catalogue.root() / "published" / "model_families.csv";
    const auto families =
        read_csv(table.string(),
                 {"begins", "qk_layernorm", "add_bias_linear", "activation_func_clamp_value"});
    if (!families) {
        return tl::unexpected(families.error().front());
    }
    const auto family = std::ranges::find_if(
        *families, [&](const CsvRow& one) { return row.model.name.starts_with(one.fields[0]); });
    if (family != families->end()) {
        model.qk_layernorm = family->fields[1] == "true";
        model.add_bias_linear = model.add_bias_linear || family->fields[2] == "true";
        model.activation_func_clamp_value = parse_number(family->fields[3]).value_or(0);
    }
    return {};
}

// Tables have no column for the router. The catalogue's model with the row's name, else with the
// longest prefix of that name, gives the router if it has the same number of experts.
Result<void> set_router(const PublishedCase& row, const Catalogue& catalogue, Transformer& model) {
    std::string_view longest;
    const std::vector<std::string> names = catalogue.names("models");
    for (const std::string& name : names) {
        if (row.model.name.starts_with(name) && name.size() > longest.size()) {
            longest = name;
        }
    }
    if (model.num_experts == 0 || longest.empty()) {
        return {};
    }
    DocumentNode section = scalar_node(std::string{longest});
    Transformer known;
    std::vector<std::string> remarks;
    Errors errors;
    read_model(section, catalogue, {}, known, remarks, errors);
    if (!errors.empty()) {
        return unexpected<Error>(errors.front());
    }
    if (known.num_experts == model.num_experts) {
        model.moe_router_num_groups = known.moe_router_num_groups;
        model.moe_router_group_topk = known.moe_router_group_topk;
        model.moe_router_score_function = known.moe_router_score_function;
        model.moe_router_bias_update_rate = known.moe_router_bias_update_rate;
    }
    return {};
}

DocumentNode word_node(std::string_view text) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::scalar;
    node.text = text;
    return node;
}

// Reads catalogue entries through a cluster section.
Result<void> read_entries(std::string_view node,
                          std::string_view fabric,
                          const Catalogue& catalogue,
                          ClusterSpec& cluster,
                          DeviceSpec& device) {
    DocumentNode section;
    section.kind = DocumentNode::Kind::map;
    section.set(word_node("nodes"), word_node("1"));
    section.set(word_node("node"), word_node(node));
    section.set(word_node("fabric"), word_node(fabric));
    Errors errors;
    read_cluster(section, catalogue, {}, cluster, device, errors);
    if (!errors.empty()) {
        return fail(errors[0].where, errors[0].what, errors[0].hint);
    }
    return {};
}

// The first words of a fabric, which choose its entry of the catalogue.
constexpr std::array<std::string_view, 6> kFirstWords{"ib", "eth", "efa", "opa", "nvl", "unknown"};

std::string_view fabric_entry(const std::vector<std::string>& words) {
    const std::string& link = words.front();
    if (link == "ib") {
        const bool hdr = std::any_of(
            words.begin(), words.end(), [](const std::string& w) { return w.starts_with("hdr"); });
        return hdr ? "dgx-superpod-hdr200" : "ndr400-rail";
    }
    if (link.starts_with("eth")) {
        const bool slow = link.starts_with("eth200") || link.starts_with("eth100");
        const bool three_tiers = has(words, "clos3") || !slow;
        return link.starts_with("eth400") ? "eth400-clos"
               : three_tiers              ? "megascale-clos"
                                          : "eth200-clos";
    }
    if (link.starts_with("efa")) {
        return "efa-400";
    }
    return link.starts_with("opa") ? "opa100-fattree" : "ndr400-rail";
}

Bandwidth scaled(Bandwidth bandwidth, double factor) {
    return Bandwidth::bits_per_second(static_cast<std::int64_t>(
        std::llround(static_cast<double>(bandwidth.bits_per_second()) * factor)));
}

// Network adapters of a server: 4 for "opa-x4" and "eth100-rocex4". 0: not stated.
std::uint32_t adapters_of(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        const std::size_t digit = word.size() - 1;
        if (word.size() > 1 && word[digit - 1] == 'x' && word[digit] > '0' && word[digit] <= '9') {
            return static_cast<std::uint32_t>(word[digit] - '0');
        }
    }
    return 0;
}

// Trays of a job in each NVLink domain of `most` trays: the largest divisor of `trays`. NeMo's and
// Megatron-Bridge's launchers request this segment from Slurm (scripts/performance, GB200).
std::int64_t trays_together(std::int64_t trays, std::int64_t most) {
    std::int64_t together = std::min(trays, most);
    while (trays % together != 0) {
        --together;
    }
    return together;
}

// Fabric of the row's words and bandwidth: "ib-ndr400-rail" at 400 Gb/s per GPU. Empty words and
// "nvlink" mean one server without a network. `cluster` has the row's servers.
Result<FabricSpec> fabric_of(const PublishedCase& row,
                             const ClusterSpec& cluster,
                             const Catalogue& catalogue) {
    const std::vector<std::string> words = words_between(row.fabric, '-');
    // The trays of a rack form one NVLink domain.
    const bool rack = cluster.node.trays > 1;
    const std::int64_t per_server = rack ? cluster.gpus_per_server() : row.gpus_per_node;
    const bool alone = row.num_gpus <= (rack ? cluster.num_gpus() : row.gpus_per_node);
    if (!alone && (words.empty() || row.nic_gbps_per_gpu <= 0)) {
        return fail({}, "several servers, but fabric or nic_gbps_per_gpu is empty");
    }
    const auto begins = [&](std::string_view word) { return words.front().starts_with(word); };
    if (!alone && std::ranges::none_of(kFirstWords, begins)) {
        return fail(
            {},
            fmt::format(
                "fabric '{}' begins with none of {}", row.fabric, fmt::join(kFirstWords, ", ")));
    }
    const bool named = !words.empty() && words.front() != "nvlink";
    const std::string_view entry = named ? fabric_entry(words) : "single-switch-400";
    ClusterSpec plain;
    DeviceSpec device;
    const Result<void> read = read_entries("dgx-a100-80g", entry, catalogue, plain, device);
    if (!read) {
        return unexpected<Error>(read.error());
    }
    FabricSpec fabric = plain.fabric;
    if (rack) {
        fabric.nics_per_node = cluster.node.nics_per_tray;
    }
    const auto gpus = static_cast<double>(std::min(row.num_gpus, per_server));
    if (row.nic_gbps_per_gpu > 0) {
        const std::uint32_t adapters = adapters_of(words);
        fabric.nics_per_node = adapters > 0 ? adapters : static_cast<std::uint32_t>(gpus);
        const double nic_bps = row.nic_gbps_per_gpu * 1e9 * gpus / fabric.nics_per_node;
        const double factor = nic_bps / static_cast<double>(fabric.nic_bandwidth.bits_per_second());
        fabric.nic_bandwidth = scaled(fabric.nic_bandwidth, factor);
        fabric.uplink_bandwidth = scaled(fabric.uplink_bandwidth, factor);
        fabric.core_bandwidth = scaled(fabric.core_bandwidth, factor);
    }
    return fabric;
}

Result<void> set_cluster(const PublishedCase& row, const Catalogue& catalogue, Scenario& scenario) {
    const Result<PublishedServer> server = server_of_gpu(row.gpu, catalogue.root());
    if (!server) {
        return tl::unexpected(server.error());
    }
    ClusterSpec& cluster = scenario.cluster;
    const Result<void> read =
        read_entries(server->node, "single-switch-400", catalogue, cluster, scenario.device);
    if (!read) {
        return read;
    }
    const Result<FabricSpec> fabric = fabric_of(row, cluster, catalogue);
    const std::int64_t whole =
        cluster.node.trays > 1 ? cluster.gpus_per_server() : row.gpus_per_node;
    if (row.num_gpus < 1 || whole < 1) {
        return fail({},
                    fmt::format("{} GPUs on servers of {}", row.num_gpus, whole),
                    "num_gpus and gpus_per_node are at least 1");
    }
    const std::int64_t per_server = std::min(whole, row.num_gpus);
    if (row.num_gpus % per_server != 0) {
        return fail({},
                    fmt::format("{} GPUs are not whole {} of {}",
                                row.num_gpus,
                                cluster.node.trays > 1 ? "trays" : "servers",
                                per_server));
    }
    const std::int64_t servers = row.num_gpus / per_server;
    const std::int64_t trays = trays_together(servers, cluster.node.trays);
    cluster.node.trays = static_cast<std::uint32_t>(trays);
    cluster.node.gpus_per_node = static_cast<std::uint32_t>(trays * per_server);
    cluster.num_nodes = static_cast<std::uint32_t>(servers / trays);
    // The job's GPUs of a server share all of its memory bandwidth.
    scenario.device.host_memory_bandwidth = Bandwidth::bits_per_second(
        cluster.node.host_memory_bandwidth.bits_per_second() / per_server);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    cluster.fabric = *fabric;
    // Every tray of a rack has its own NICs.
    cluster.fabric.nics_per_node *= cluster.node.trays;
    if (has(words_between(row.fabric, '-'), "clos3") && fabric->name == "megascale-clos") {
        // Jiang et al., sections 6.3 and 5: 0.5 % of the cluster's machines took 10 % longer for
        // the same forward computation.
        cluster.slow_node_share = 0.005;
        cluster.slow_node_slowdown = 0.1;
    }
    return {};
}

}  // namespace

Result<Scenario> scenario_of(const PublishedCase& row, const Catalogue& catalogue) {
    const std::vector<std::string> words = words_between(row.features, ';');
    Scenario scenario;
    scenario.name = row.name;
    scenario.software = row.stack;
    if (const Result<void> set = set_cluster(row, catalogue, scenario); !set) {
        return fail(row.where, set.error().what, set.error().hint);
    }
    scenario.model = row.model;
    scenario.model.mtp_num_layers = row.mtp_num_layers;
    set_model(row, words, scenario.model);
    if (const auto set = set_family(row, catalogue, scenario.model); !set) {
        return unexpected<Error>(set.error());
    }
    if (const auto set = set_router(row, catalogue, scenario.model); !set) {
        return unexpected<Error>(set.error());
    }
    scenario.plan = row.plan;
    if (const auto set = set_case_plan(row, catalogue, scenario.device, scenario.plan); !set) {
        return fail(row.where, set.error().what, set.error().hint);
    }
    if (scenario.plan.model_parallel_size() < 1) {
        return fail(row.where, "a parallel size is less than 1");
    }
    if (scenario.plan.optimizer_cpu_offload &&
        scenario.device.host_memory_bandwidth.bits_per_second() == 0) {
        return fail(row.where, "the catalogue does not know this server's host memory");
    }
    scenario.plan.data_parallel_size =
        std::max<std::int64_t>(1, row.num_gpus / scenario.plan.model_parallel_size());
    Errors errors = check(scenario.model, scenario.plan, row.num_gpus);
    std::ranges::move(check_device(scenario.plan, scenario.device), std::back_inserter(errors));
    if (!errors.empty()) {
        return fail(row.where, errors[0].where + " " + errors[0].what, errors[0].hint);
    }
    return scenario;
}

}  // namespace orrery
