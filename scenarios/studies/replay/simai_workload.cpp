// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/simai_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

namespace orrery {
namespace {

struct Phase {
    std::int64_t compute_ns = 0;
    std::optional<CollectiveKind> collective{};
    std::string domain;  // "", "EP" or "DP_EP": the end of its kind
    std::int64_t bytes = 0;
};

struct Layer {
    std::string name;
    std::array<Phase, 3> phases;  // forward, input gradients, weight gradients
    std::string where;
};

struct Header {
    std::int64_t tensor = 1;
    std::int64_t expert = 1;
    std::int64_t pipeline = 1;
    std::int64_t accumulation = 1;
    std::int64_t gpus = 1;
};

constexpr std::int64_t kRanksMax = 65'536;
constexpr std::int64_t kOpsMax = 100'000'000;  // over all ranks: about 10 GB

class Parser {
public:
    Parser(const std::string& text, std::string source)
        : lines_(text), source_(std::move(source)) {}

    ResultOrErrors<ForeignStep> step() {
        read_header();
        read_layers();
        if (errors_.empty() && header_.gpus % (header_.tensor * header_.pipeline) != 0) {
            complain("all_gpus is no multiple of model_parallel_NPU_group x pp");
        }
        if (errors_.empty() && has_experts() &&
            header_.gpus % (header_.tensor * header_.expert) != 0) {
            complain("all_gpus is no multiple of model_parallel_NPU_group x ep");
        }
        const auto layers = static_cast<std::int64_t>(layers_.size());
        if (errors_.empty() && header_.gpus * header_.accumulation > kOpsMax / (6 * layers + 1)) {
            complain(fmt::format("is a step of more than {} operations", kOpsMax),
                     "fewer GPUs or a smaller ga");
        }
        if (errors_.empty() && header_.pipeline > 1) {
            complain("pp is more than 1: what stages exchange is not in the file",
                     "a workload of one stage");
        }
        if (!errors_.empty()) {
            return unexpected<Errors>(std::move(errors_));
        }
        return build();
    }

private:
    void complain(std::string what, std::string hint = {}) {
        const std::string where = line_ == 0 ? source_ : fmt::format("{}:{}", source_, line_);
        errors_.push_back({where, std::move(what), std::move(hint)});
    }

    bool has_experts() const {
        return std::ranges::any_of(layers_, [](const Layer& layer) {
            return std::ranges::any_of(layer.phases,
                                       [](const Phase& phase) { return !phase.domain.empty(); });
        });
    }

    bool next_line(std::vector<std::string>& words) {
        std::string line;
        while (std::getline(lines_, line)) {
            ++line_;
            std::istringstream in{line};
            words.clear();
            for (std::string word; in >> word;) {
                words.push_back(word);
            }
            if (!words.empty()) {
                return true;
            }
        }
        return false;
    }

    std::int64_t number(const std::string& text, const char* field) {
        std::int64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        constexpr std::int64_t kMost = 1'000'000'000'000'000;
        if (error != std::errc{} || stop != end || value < 0 || value > kMost) {
            complain(fmt::format("{}: '{}' is not a whole number", field, text));
            return 0;
        }
        return value;
    }

    void read_header() {
        std::vector<std::string> words;
        if (!next_line(words) || words.front() != "HYBRID_TRANSFORMER_FWD_IN_BCKWD") {
            complain("does not begin with HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                     "a workload of SimAI's AICB");
            return;
        }
        for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
            const std::string& key = words[i];
            const std::array<std::pair<const char*, std::int64_t*>, 5> keys{
                {{"model_parallel_NPU_group:", &header_.tensor},
                 {"ep:", &header_.expert},
                 {"pp:", &header_.pipeline},
                 {"ga:", &header_.accumulation},
                 {"all_gpus:", &header_.gpus}}};
            for (const auto& [name, value] : keys) {
                if (key == name) {
                    *value = number(words[i + 1], name);
                    if (*value < 1 || *value > kRanksMax) {
                        complain(fmt::format("{} must lie between 1 and {}", name, kRanksMax));
                        *value = 1;
                    }
                }
            }
        }
    }

    Phase phase(const std::vector<std::string>& words, std::size_t at, const char* name) {
        Phase phase;
        phase.compute_ns = number(words[at], fmt::format("{} compute", name).c_str());
        phase.bytes = number(words[at + 2], fmt::format("{} bytes", name).c_str());
        std::string kind = words[at + 1];
        for (const char* domain : {"_DP_EP", "_EP"}) {
            if (kind.ends_with(domain)) {
                phase.domain = domain + 1;
                kind.resize(kind.size() - std::string_view{domain}.size());
            }
        }
        constexpr std::array<std::pair<std::string_view, CollectiveKind>, 4> kKinds{
            {{"ALLREDUCE", CollectiveKind::all_reduce},
             {"ALLGATHER", CollectiveKind::all_gather},
             {"REDUCESCATTER", CollectiveKind::reduce_scatter},
             {"ALLTOALL", CollectiveKind::all_to_all}}};
        for (const auto& [word, collective] : kKinds) {
            if (kind == word) {
                phase.collective = collective;
            }
        }
        if (!phase.collective && kind != "NONE") {
            complain(fmt::format("{} communication: '{}' is not a collective", name, kind),
                     "ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or NONE");
        }
        return phase;
    }

    void read_layers() {
        std::vector<std::string> words;
        if (!errors_.empty() || !next_line(words)) {
            return;
        }
        const std::int64_t count = number(words.front(), "number of lines");
        while (next_line(words)) {
            constexpr std::size_t kColumns = 12;
            if (words.size() != kColumns) {
                complain(fmt::format("has {} columns instead of {}", words.size(), kColumns));
                continue;
            }
            layers_.push_back({.name = words[0],
                               .phases = {phase(words, 2, "forward"),
                                          phase(words, 5, "input gradient"),
                                          phase(words, 8, "weight gradient")},
                               .where = fmt::format("{}:{}", source_, line_)});
        }
        if (errors_.empty() && count != static_cast<std::int64_t>(layers_.size())) {
            complain(fmt::format("announces {} lines and has {}", count, layers_.size()));
        }
    }

    // Ranks that differ by less than `size` positions of `stride`.
    std::string group(ForeignStep& step,
                      std::int64_t rank,
                      const char* name,
                      std::int64_t size,
                      std::int64_t stride) {
        if (size == header_.gpus) {
            return "";
        }
        const std::int64_t first = rank - rank / stride % size * stride;
        const std::string label = fmt::format("{} of rank {}", name, first);
        std::vector<RankId>& members = step.groups[label];
        if (members.empty()) {
            for (std::int64_t i = 0; i < size; ++i) {
                members.push_back(to_id<RankId>(static_cast<std::size_t>(first + i * stride)));
            }
        }
        return label;
    }

    std::string group_of(ForeignStep& step, std::int64_t rank, const Phase& phase, bool weights) {
        const std::int64_t data = header_.gpus / header_.tensor;
        if (phase.domain == "EP") {
            return group(step, rank, "ep", header_.expert, header_.tensor);
        }
        if (phase.domain == "DP_EP") {
            const std::int64_t stride = header_.tensor * header_.expert;
            return group(step, rank, "dp of experts", header_.gpus / stride, stride);
        }
        return weights ? group(step, rank, "dp", data, header_.tensor)
                       : group(step, rank, "tp", header_.tensor, 1);
    }

    void add(std::vector<ForeignOp>& ops,
             ForeignStep& step,
             std::int64_t rank,
             const Layer& layer,
             const Phase& phase,
             bool weights) {
        const auto after = [&] {
            return ops.empty() ? std::vector<std::uint64_t>{} : std::vector{last_compute_};
        };
        if (phase.compute_ns > 0) {
            ops.push_back({.kind = ForeignOp::Kind::compute,
                           .id = ops.size() + 1,
                           .name = layer.name,
                           .duration = Time::picoseconds(phase.compute_ns * 1000),
                           .after = after(),
                           .where = layer.where});
            last_compute_ = ops.back().id;
        }
        if (!phase.collective || phase.bytes == 0) {
            return;
        }
        const std::string name = group_of(step, rank, phase, weights);
        if (!name.empty() && step.groups.at(name).size() < 2) {
            return;  // a group of one rank exchanges nothing
        }
        ops.push_back({.kind = ForeignOp::Kind::collective,
                       .id = ops.size() + 1,
                       .name = layer.name,
                       .collective = *phase.collective,
                       .bytes = Bytes{phase.bytes},
                       .group = name,
                       .after = after(),
                       .where = layer.where});
        // Later ops need the result, except that of gradients, which the step does not use.
        if (!weights) {
            last_compute_ = ops.back().id;
        }
    }

    ResultOrErrors<ForeignStep> build() {
        ForeignStep step;
        const auto per_rank =
            static_cast<std::size_t>(header_.gpus * header_.accumulation) * layers_.size() * 6;
        constexpr std::size_t kOpsMax = 50'000'000;
        if (layers_.empty() || per_rank > kOpsMax) {
            complain(layers_.empty() ? "has no layers" : "is too large to be replayed");
            return unexpected<Errors>(std::move(errors_));
        }
        for (std::int64_t rank = 0; rank < header_.gpus; ++rank) {
            std::vector<ForeignOp>& ops = step.ranks.emplace_back();
            last_compute_ = 0;
            for (std::int64_t pass = 0; pass < header_.accumulation; ++pass) {
                const bool last = pass + 1 == header_.accumulation;
                for (const Layer& layer : layers_) {
                    add(ops, step, rank, layer, layer.phases[0], false);
                }
                for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
                    add(ops, step, rank, *layer, layer->phases[1], false);
                    Phase weights = layer->phases[2];
                    // Gradients are exchanged once, after their sum is complete.
                    if (!last) {
                        weights.collective.reset();
                    }
                    add(ops, step, rank, *layer, weights, true);
                }
            }
        }
        return step;
    }

    std::istringstream lines_;
    std::string source_;
    std::size_t line_ = 0;
    Header header_;
    std::vector<Layer> layers_;
    std::uint64_t last_compute_ = 0;
    Errors errors_;
};

}  // namespace

ResultOrErrors<ForeignStep> parse_simai(const std::string& text, const std::string& source) {
    return Parser{text, source}.step();
}

}  // namespace orrery
